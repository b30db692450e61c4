"""Tally rows: from arrays, or block by block from what does not fit into memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatMatrix,
    IntArray,
    RandomState,
    RowsLike,
)
from distfreeuq._base.arrays import describe, shape_of
from distfreeuq._base.random_streams import check_rng
from distfreeuq._base.row_uniforms import RowKey, fit_uniforms, is_seed
from distfreeuq._numerics.row_blocks import Block, RowBlocks, read_blocks
from distfreeuq._numerics.row_sums import check_and_predict
from distfreeuq.conformal.data import key_of_blocks, score_block
from distfreeuq.conformal.nonconformity import as_score, true_label_scores
from distfreeuq.conformal.scores.nested_score import NestedScore, ScoreLike
from distfreeuq.conformal.tallied_scores import ScoreTally, tally_scores
from distfreeuq.label_shift.tallied_counts import CountTally
from distfreeuq.metrics.bins import CLOSED, check_bins
from distfreeuq.metrics.data import ALL, read_matrix
from distfreeuq.metrics.tallied_sums import SumTally, no_sums, sums_of_rows
from distfreeuq.tallies.guarantees import COUNTS_ONLY
from distfreeuq.tallies.results import Tally, add_up

_ROWS_AT_ONCE = 1 << 18
"""Rows of an array that are read together, so that a memory map stays on disk."""


def tally(
    probs: RowsLike,
    labels: ArrayLike | None = None,
    *,
    score: ScoreLike | None = "aps",
    randomized: bool = True,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
    per_unit: int | None = None,
    n_bins: int | None = None,
    closed: str = "right",
    progress: bool = False,
) -> Tally:
    """Add up what fits need of rows, and no more: exactly, and in any order.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1; or blocks
        A classifier's probabilities on rows that it was not fitted on. A memory map is
        read piece by piece, and so is a Dask array or DataFrame, on the scheduler of
        your choice. Blocks are an iterator, or a function without arguments that
        returns one: each block is such an array or, with labels, a tuple (probs,
        labels) or (probs, labels, ids), or a dict by these names.
    labels : array_like (n,), optional
        Integers 0..K-1, or names listed in `classes`. Without them the predictions are
        counted: what `bbse` and `rlls` need of the target.
    score : str, score object, callable or None, default "aps"
        As in `split_conformal`; None leaves the scores out, and counts alone are kept.
    randomized : bool, default True
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        As in `split_conformal`. With a seed (an integer or a SeedSequence) a row's
        uniform is a hash of the row, so that no chunks, order or number of machines
        change a number. Tallies of different seeds do not add.
    ids : array_like (n,), optional
        An integer or a text per row, which is hashed in place of the row. Needs a seed.
    per_unit : int, optional
        Round scores up to a grid of so many points per unit (1000, say), and keep
        counts of these alone: no row's own score, and no memory that grows with the
        rows. A score rounded up is a score too: coverage is at least 1 - alpha as ever.
        Sets are larger, by a rank that is off by no more than ``largest_share`` of the
        rows, which the summary prints.
    n_bins, closed
        Sums of rows with labels in so many bins of equal width too, for
        `metrics.ece` and the others of one classifier: exact sums of numbers rounded
        to multiples of 2^-50. By default none.
    progress : bool, default False
        Show a bar that counts the blocks.

    Returns
    -------
    Tally
        Of 8 bytes a row, and counts; without scores, of counts alone. ``a + b`` adds.

    Notes
    -----
    `split_conformal`, `label_conditional_conformal` and `label_shift_conformal` take a
    tally in place of rows, and so do `bbse` and `rlls` for predictions that are not
    soft. Their thresholds, ranks and counts are those of a fit to all rows, bit for
    bit: scores are merged in order, and counts are integers. That a site sends its
    tally and no row is written down in `Tally`, with what it reveals.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.dirichlet([2, 1, 1], size=600)
    >>> labels = np.array([rng.choice(3, p=row) for row in probs])
    >>> sites = [dfu.tally(probs[i::3], labels[i::3], rng=1) for i in range(3)]
    >>> fit = dfu.split_conformal(sum(sites))
    >>> whole = dfu.split_conformal(probs, labels, rng=1)
    >>> bool((fit.thresholds == whole.thresholds).all())
    True
    >>> def blocks():
    ...     for start in range(0, 600, 100):
    ...         yield probs[start : start + 100], labels[start : start + 100]
    >>> dfu.tally(blocks, rng=1)
    <Tally n=600 K=3 counts, aps scores>
    """
    args = Arguments("tally")
    randomized = args.flag(randomized, "randomized")
    progress = args.flag(progress, "progress")
    chosen = None if score is None else as_score(score, args)
    if per_unit is not None:
        per_unit = args.count(per_unit, "per_unit", low=1, high=1 << 30)
    bins = None
    if n_bins is not None:
        count, how = check_bins(args, n_bins, "equal-width", closed)
        bins = count, how == "left"
    else:
        args.choice(closed, "closed", CLOSED)
    rows = {"probs": probs, "labels": labels, "ids": ids}
    blocks = read_blocks(args, rows, progress=progress)
    if blocks is not None:
        return _tally_blocks(
            args, blocks, chosen, randomized, classes, rng, per_unit, bins
        )
    return _tally_array(
        args, probs, labels, chosen, randomized, classes, rng, ids, per_unit, bins
    )


def _tally_blocks(
    args: Arguments,
    blocks: RowBlocks,
    score: NestedScore | None,
    randomized: bool,
    classes: Any,
    rng: RandomState,
    per_unit: int | None,
    bins: tuple[int, bool] | None,
) -> Tally:
    """Return the tally of all blocks."""
    names = blocks.classes(classes)
    score = _additive_score(args, score, names)
    if not blocks.has("labels"):
        score = None
    randomized = randomized and score is not None and score.uses_uniforms
    key = key_of_blocks(args, blocks, rng)
    if not randomized:
        key = None
    elif blocks.has("ids"):
        _need_seed(args, rng)
    make = partial(_tally_block, names, score, randomized, key, rng, per_unit, bins)
    return blocks.total(make, add_up)


def _tally_block(
    names: Classes,
    score: NestedScore | None,
    randomized: bool,
    key: RowKey | None,
    rng: RandomState,
    per_unit: int | None,
    bins: tuple[int, bool] | None,
    block: Block,
) -> Tally:
    """Return the tally of one block."""
    rows, labels, scores = block.probs(names), None, None
    predicted = check_and_predict(rows)
    if block["labels"] is not None:
        labels = block.labels(names)
    if score is not None:
        found, own = score_block(score, names, randomized, key, rng, block)
        scores = tally_scores(score, randomized, key, found, own, len(names), per_unit)
    counts = CountTally.of_rows(predicted, labels, len(names))
    sums = _sum_rows(block.args, rows.matrix, labels, len(names), bins)
    return Tally(names, counts, scores, sums, COUNTS_ONLY)


def _tally_array(
    args: Arguments,
    probs: Any,
    labels: Any,
    score: NestedScore | None,
    randomized: bool,
    classes: Any,
    rng: RandomState,
    ids: Any,
    per_unit: int | None,
    bins: tuple[int, bool] | None,
) -> Tally:
    """Return the tally of one array, whose rows are read some at a time."""
    unchecked, names = args.unchecked_probs(probs, classes=classes)
    matrix = unchecked.checked()
    n, n_classes = matrix.shape
    codes = None if labels is None else args.labels(labels, names, n)
    score = _additive_score(args, score, names)
    if ids is not None:
        ids = args.array(ids, "ids", "integers or texts")
        if ids.shape != (n,):
            args.invalid("ids", f"of length {n}", shape_of(ids))
        if randomized:
            _need_seed(args, rng)
    check_rng(rng, args.caller)
    found = []
    for start in range(0, max(n, 1), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        rows = UncheckedProbs(matrix[some], np.inf, args, "probs")
        own = None if codes is None else codes[some]
        scores = None
        if score is not None and own is not None:
            some_ids = None if ids is None else ids[some]
            scores = _score_rows(
                args, rows, own, score, randomized, rng, some_ids, per_unit
            )
        counts = CountTally.of_rows(check_and_predict(rows), own, n_classes)
        sums = _sum_rows(args, rows.matrix, own, n_classes, bins)
        found.append(Tally(names, counts, scores, sums, COUNTS_ONLY))
    return found[0] if len(found) == 1 else add_up(found)


def _sum_rows(
    args: Arguments,
    matrix: FloatMatrix,
    labels: IntArray | None,
    n_classes: int,
    bins: tuple[int, bool] | None,
) -> SumTally | None:
    """Return the sums of checked rows by bin, if they were asked for."""
    if bins is None or labels is None:
        return None
    if labels.size == 0:
        return no_sums(n_classes, *bins)
    rows = read_matrix(
        args, matrix, labels, sample_weight=None, classes=None, needs=ALL
    )
    return sums_of_rows(rows, *bins)


def _need_seed(args: Arguments, rng: RandomState) -> None:
    if not is_seed(rng):
        args.invalid("rng", "a seed where ids are given", describe(rng))


def _additive_score(
    args: Arguments, score: NestedScore | None, classes: Classes
) -> NestedScore | None:
    """Return the score; refuse one that is made of all labels, which are not here."""
    if score is None:
        return None
    score = score.made_of(np.empty(0, dtype=np.int64), classes)
    if score.knows_labels:
        must = "one with class proportions of its own: those of the rows do not add up"
        args.invalid("score", must, f"{score.name!r} that counts the labels")
    return score


def _score_rows(
    args: Arguments,
    rows: UncheckedProbs,
    labels: IntArray,
    score: NestedScore,
    randomized: bool,
    rng: RandomState,
    ids: Any,
    per_unit: int | None,
) -> ScoreTally:
    """Return the scores of the rows' labels, by class."""
    randomized = randomized and score.uses_uniforms
    uniforms, row_key = fit_uniforms(args, rows.matrix, rng, ids, randomized)
    scores = true_label_scores(score, rows, labels, uniforms)
    n_classes = rows.matrix.shape[1]
    return tally_scores(score, randomized, row_key, scores, labels, n_classes, per_unit)
