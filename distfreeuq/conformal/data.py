"""What every conformal procedure starts from: the scores of the calibration rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    BoolArray,
    Classes,
    FloatArray,
    IntArray,
    RandomState,
    RowsLike,
)
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.random_streams import check_rng
from distfreeuq._base.row_uniforms import (
    RowKey,
    fit_uniforms,
    hashed_uniforms,
    is_seed,
    row_key_of,
)
from distfreeuq._base.tallied import Tallied, find_part
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.quantiles import (
    LabelArray,
    in_order,
    in_order_with_labels,
)
from distfreeuq._numerics.row_blocks import Block, RowBlocks, read_blocks
from distfreeuq.conformal.nonconformity import as_score, true_label_scores
from distfreeuq.conformal.scores.nested_score import NestedScore, ScoreLike
from distfreeuq.conformal.tallied_scores import ScoreTally, same_score
from distfreeuq.exceptions import SmallCalibrationWarning
from distfreeuq.guarantees import Guarantee
from distfreeuq.references import (
    HASHED_UNIFORMS,
    IDS_OF_ROWS,
    SEED_ELSEWHERE,
)

Kept = Literal["scores", "labels", "order"]
"""What a fit needs of ascending scores: them alone, or labels too, or rows as well."""
_MANY = 1 << 17
"""Scores from which on it pays to sort no more beside them than is needed."""
_NONE = np.empty(0, dtype=np.int64)
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class CalibrationScores:
    """The true labels' scores, ascending, with what the user chose.

    Attributes
    ----------
    scores : ndarray (n,)
        Ascending.
    counts : ndarray (K,)
        Calibration rows by class.
    labels : ndarray (n,), or (0,) where the fit has no use for them
        Column numbers of the scores' labels, in the same order.
    order : ndarray (n,), or (0,) likewise
        The user's row of each score.
    """

    scores: FloatArray
    counts: IntArray
    labels: IntArray
    order: IntArray
    classes: Classes
    score: NestedScore
    randomized: bool
    never_empty: bool
    row_key: RowKey | None

    @property
    def n(self) -> int:
        """Number of calibration rows."""
        return int(self.scores.size)

    @property
    def tied(self) -> bool:
        """Whether two calibration scores are equal, so that they are not continuous."""
        return bool((self.scores[1:] == self.scores[:-1]).any())

    def some(self, which: BoolArray) -> CalibrationScores:
        """Return the scores of some of the rows, in the same order."""
        labels = self.labels[which]
        return replace(
            self,
            scores=self.scores[which],
            counts=np.bincount(labels, minlength=len(self.classes)),
            labels=labels,
            order=self.order[which],
        )

    def read_confidence(self, args: Arguments, confidence: Any) -> float | None:
        """Return a confidence that was given; a score made of the labels has none."""
        if confidence is None:
            return None
        if self.score.knows_labels:
            must = (
                "None with class proportions that are counted from these labels, which "
                "leave no law of coverage given the calibration rows"
            )
            args.invalid("confidence", must, f"{confidence}")
        return args.probability(confidence, "confidence")

    def needing_seed(self, guarantee: Guarantee) -> Guarantee:
        """Return a guarantee that lists what score and hashed uniforms need besides."""
        own, cited = self.score.needs(), self.score.cited()
        guarantee = replace(
            guarantee,
            reference="; ".join([guarantee.reference, *cited]),
            assumptions=(*guarantee.assumptions, *own),
        )
        if self.row_key is None:
            return guarantee
        more = (SEED_ELSEWHERE, *((IDS_OF_ROWS,) if self.row_key.by_id else ()))
        return replace(
            guarantee,
            reference=f"{guarantee.reference}; {HASHED_UNIFORMS}",
            assumptions=(*guarantee.assumptions, *more),
        )

    def fields(self) -> dict[str, Any]:
        """Return the fields that every ConformalResult takes from here."""
        return {
            "score": self.score,
            "randomized": self.randomized,
            "never_empty": self.never_empty,
            "row_key": self.row_key,
            "n": self.n,
            "scores": read_only(self.scores),
            "class_counts": read_only(self.counts),
            "classes": self.classes,
        }


def calibration_scores(
    args: Arguments,
    probs: RowsLike,
    labels: ArrayLike | None,
    *,
    score: ScoreLike,
    randomized: bool,
    never_empty: bool,
    classes: Any,
    rng: RandomState,
    ids: Any,
    kept: Kept = "order",
) -> CalibrationScores:
    """Check the user's arguments and score the calibration rows."""
    rows = {"probs": probs, "labels": labels, "ids": ids}
    blocks = read_blocks(args, rows)
    if blocks is not None:
        return _scores_of_blocks(
            args, blocks, score, randomized, never_empty, classes, rng, kept
        )
    arrays: Any = probs, labels
    unchecked, names = args.unchecked_probs(arrays[0], classes=classes)
    n = unchecked.matrix.shape[0]
    codes = args.labels(arrays[1], names, n)
    chosen = as_score(score, args).made_of(codes, names)
    randomized = args.flag(randomized, "randomized") and chosen.uses_uniforms
    never_empty = args.flag(never_empty, "never_empty")
    uniforms, row_key = fit_uniforms(args, unchecked.matrix, rng, ids, randomized)
    scored = [true_label_scores(chosen, unchecked, codes, uniforms), codes]
    del uniforms, codes
    return CalibrationScores(
        *_arranged(scored, len(names), chosen, kept),
        classes=names,
        score=chosen,
        randomized=randomized,
        never_empty=never_empty,
        row_key=row_key,
    )


def _arranged(
    scored: list[Any],
    n_classes: int,
    score: NestedScore,
    kept: Kept,
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return ascending scores, rows by class, and labels and order if they are kept.

    `scored` are new arrays, of scores and of labels. They are taken out of the list, so
    that none but this function holds them: where many are sorted, they may then go.
    """
    labels: LabelArray = scored.pop()
    scores: FloatArray = scored.pop()
    counts = _count(labels, n_classes)
    if kept == "order" or scores.size < _MANY:
        ascending, order = in_order(scores)
        return ascending, counts, labels[order].astype(np.int64, copy=False), order
    if kept == "scores" and score.compiled:  # of which no score is -0
        scores.sort()
        return scores, counts, _NONE, _NONE
    labels = labels.astype(np.min_scalar_type(n_classes), copy=False)
    scores, labels = in_order_with_labels(scores, labels)
    return scores, counts, labels.astype(np.int64), _NONE


def _count(labels: LabelArray, n_classes: int) -> IntArray:
    """Return the rows of each class; labels are made int64 some at a time."""
    counts = np.zeros(n_classes, dtype=np.int64)
    for start in range(0, labels.size, _AT_ONCE):
        counts += np.bincount(labels[start : start + _AT_ONCE], minlength=n_classes)
    return counts


def _scores_of_blocks(
    args: Arguments,
    blocks: RowBlocks,
    score: ScoreLike,
    randomized: bool,
    never_empty: bool,
    classes: Any,
    rng: RandomState,
    kept: Kept,
) -> CalibrationScores:
    """Return the scores of rows that come in blocks, in the order of the rows."""
    names = blocks.classes(classes)
    given = as_score(score, args)
    chosen = given.made_of(np.empty(0, dtype=np.int64), names)
    if chosen.knows_labels:
        chosen = given.made_of(_labels_of_blocks(blocks, names), names)
    randomized = args.flag(randomized, "randomized") and chosen.uses_uniforms
    never_empty = args.flag(never_empty, "never_empty")
    key = key_of_blocks(args, blocks, rng) if randomized else None
    make = partial(_score_block, chosen, names, randomized, key, rng)
    return CalibrationScores(
        *_arranged(list(blocks.joined(make)), len(names), chosen, kept),
        classes=names,
        score=chosen,
        randomized=randomized,
        never_empty=never_empty,
        row_key=key,
    )


def key_of_blocks(
    args: Arguments, blocks: RowBlocks, rng: RandomState
) -> RowKey | None:
    """Return the one key of all blocks; None where uniforms are drawn."""
    check_rng(rng, args.caller)
    by_id = blocks.has("ids")
    if blocks.is_dask and isinstance(rng, np.random.Generator):
        must = "a seed or None with Dask, whose blocks are read in no order of ours"
        args.invalid("rng", must, describe(rng))
    if not by_id and not is_seed(rng):
        return None
    return RowKey(row_key_of(rng, args.caller), by_id)


def _labels_of_blocks(blocks: RowBlocks, classes: Classes) -> IntArray:
    (labels,) = blocks.joined(partial(_small_labels, classes))
    return labels.astype(np.int64)


def _small_labels(classes: Classes, block: Block) -> tuple[LabelArray]:
    """Return a block's labels in as few bytes as hold them."""
    return (block.labels(classes).astype(np.min_scalar_type(len(classes))),)


def score_block(
    score: NestedScore,
    classes: Classes,
    randomized: bool,
    key: RowKey | None,
    rng: RandomState,
    block: Block,
) -> tuple[FloatArray, IntArray]:
    """Return the scores of a block's labels (n,), and the labels as column numbers."""
    rows, labels = block.probs(classes), block.labels(classes)
    if key is None:
        uniforms, _ = fit_uniforms(block.args, rows.matrix, rng, None, randomized)
    else:
        uniforms = hashed_uniforms(block.args, rows.matrix, key, block["ids"])
    return true_label_scores(score, rows, labels, uniforms), labels


def _score_block(*arguments: Any) -> tuple[FloatArray, LabelArray]:
    """Return the same, labels in as few bytes as hold them."""
    scores, labels = score_block(*arguments)
    return scores, labels.astype(np.min_scalar_type(len(arguments[1])))


def rows_or_tally(
    args: Arguments,
    probs: RowsLike | Tallied,
    labels: ArrayLike | None,
    *,
    score: ScoreLike,
    randomized: bool,
    never_empty: bool,
    classes: Any,
    rng: RandomState,
    ids: Any,
    groups: Any,
    kept: Kept,
) -> CalibrationScores:
    """Return the scores of calibration rows, or those that a tally has of them."""
    kept = kept if groups is None else "order"
    of_rows = {"labels": labels, "ids": ids, "groups": groups, "classes": classes}
    found = find_part(args, probs, ScoreTally, **of_rows)
    if found is None:
        return calibration_scores(
            args,
            probs,  # type: ignore[arg-type]
            labels,
            score=score,
            randomized=randomized,
            never_empty=never_empty,
            classes=classes,
            rng=rng,
            ids=ids,
            kept=kept,
        )
    tallied, names = found
    _check_same(args, tallied, score=score, randomized=randomized, rng=rng)
    return _of_tally(tallied, names, args.flag(never_empty, "never_empty"), kept)


def _of_tally(
    tallied: ScoreTally, classes: Classes, never_empty: bool, kept: Kept
) -> CalibrationScores:
    """Return the scores of a tally, those of all classes in one order."""
    return CalibrationScores(
        *_arranged(list(tallied.of_rows()), len(classes), tallied.score, kept),
        classes=classes,
        score=tallied.score,
        randomized=tallied.randomized,
        never_empty=never_empty,
        row_key=tallied.row_key,
    )


def _check_same(
    args: Arguments, tallied: ScoreTally, *, score: Any, randomized: Any, rng: Any
) -> None:
    """Refuse a score, randomisation or seed that is not the tally's.

    What is left at its default is the tally's.
    """
    chosen = as_score(score, args)
    if score != "aps" and not same_score(chosen, tallied.score):
        must = f"{tallied.score.name!r} with its parameters, as in the Tally"
        args.invalid("score", must, describe(score))
    if not args.flag(randomized, "randomized") and tallied.randomized:
        args.invalid("randomized", "True, as in the Tally", "False")
    check_rng(rng, args.caller)
    if tallied.randomized and is_seed(rng):
        key = tallied.row_key
        if key is None or row_key_of(rng, args.caller) != key.key:
            args.invalid("rng", "None or the seed of the Tally", describe(rng))


def warn_small(message: str) -> None:
    """Warn that thresholds are infinite, from the line of the user's call.

    The call is that of a public function, which calls a fit, which calls the function
    that words the message.
    """
    warn_user(message, SmallCalibrationWarning)
