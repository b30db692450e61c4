"""What metrics need of rows: sums by predicted class and bin, on a fixed grid.

Every number of a row is rounded to a multiple of 2^-50, and such multiples add as
integers: exactly, and in any order. Rows have no weights here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, flag, integers, require
from distfreeuq._base.tallied import TallyPart, find_part
from distfreeuq._numerics.row_blocks import Block, read_blocks
from distfreeuq.metrics.bins import Bins, choose_bins
from distfreeuq.metrics.data import ALL, EVENTS, Rows, log_losses, read_matrix

_HALF = 25
_STEP = 2.0 ** (-2 * _HALF)
_ROWS_AT_ONCE = 1 << 17
"""Rows whose halves a double adds exactly, if none exceeds 2^10."""


@register("sum-tally")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SumTally(TallyPart):
    """Sums of rows with labels, in bins of equal width.

    Attributes
    ----------
    n_classes, n_bins : int
    left : bool
        Whether bins are closed on the left.
    counts, hits : ndarray (K, M)
        Rows by predicted class and bin of the confidence, and how many are right.
    halves : ndarray (K, M, 2, 2)
        Sums of the confidences, and of the squares of confidence less hit: multiples
        of 2^-25, and what is left in multiples of 2^-50.
    scores : ndarray (2, 2)
        The same of the Brier scores and of the finite losses.
    n_infinite : int
        Rows whose label has probability 0.
    """

    contents: ClassVar[str] = "sums by bin"
    how_made: ClassVar[str] = "with labels and n_bins"

    n_classes: int
    n_bins: int
    left: bool
    counts: IntArray
    hits: IntArray
    halves: IntArray
    scores: IntArray
    n_infinite: int

    _state: ClassVar[State] = {
        "n_classes": count("K"),
        "n_bins": count("M"),
        "left": flag(),
        "counts": integers("K", "M"),
        "hits": integers("K", "M"),
        "halves": integers("K", "M", 2, 2),
        "scores": integers(2, 2),
        "n_infinite": count(),
    }

    def _validate_state(self) -> None:
        require((self.hits <= self.counts).all(), "no more hits than rows")

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def unlike(self, other: SumTally) -> tuple[str, str] | None:
        """Return how the bins of two tallies differ, so that they do not add."""
        mine, others = (
            f"{one.n_bins} bins closed on the {'left' if one.left else 'right'}"
            for one in (self, other)
        )
        return None if mine == others else (mine, others)

    @classmethod
    def total(cls, parts: Sequence[SumTally]) -> SumTally:
        """Return the sums of all rows."""
        return replace(
            parts[0],
            counts=read_only(np.sum([one.counts for one in parts], axis=0)),
            hits=read_only(np.sum([one.hits for one in parts], axis=0)),
            halves=read_only(_carried(np.sum([one.halves for one in parts], axis=0))),
            scores=read_only(_carried(np.sum([one.scores for one in parts], axis=0))),
            n_infinite=sum(one.n_infinite for one in parts),
        )

    def by_class(self) -> FloatMatrix:
        """Return the sums as those of rows in memory, shape (K, M, 5)."""
        counts = self.counts.astype(np.float64)
        confidence, squares = np.moveaxis(_value(self.halves), -1, 0)
        return np.stack([counts, confidence, self.hits, counts, squares], axis=-1)

    def means(self) -> FloatArray:
        """Return the mean Brier score, and the mean loss."""
        brier, loss = _value(self.scores) / self.n
        return np.array([brier, np.inf if self.n_infinite else loss])


def sums_of_rows(rows: Rows, n_bins: int, left: bool) -> SumTally:
    """Return the sums of rows, of which all was read."""
    assert rows.predicted is not None
    assert rows.brier is not None and rows.of_label is not None
    n_classes = len(rows.classes)
    how = "left" if left else "equal-width"
    bins = choose_bins(rows.confidence, rows.weights, n_bins, how)
    cells = rows.predicted * n_bins + bins.assign(rows.confidence)
    n_cells, shape = n_classes * n_bins, (n_classes, n_bins)
    confidence = rows.confidence.astype(np.float64)
    losses = log_losses(rows.of_label)
    infinite = np.isinf(losses)
    one_cell = np.zeros(rows.n, dtype=np.int64)
    halves = [
        _sum_halves(values, cells, n_cells)
        for values in (confidence, (confidence - rows.hits) ** 2)
    ]
    scores = [
        _sum_halves(values, one_cell, 1)[0]
        for values in (rows.brier, np.where(infinite, 0.0, losses))
    ]
    hits = cells[rows.hits.astype(np.bool_)]
    return SumTally(
        n_classes=n_classes,
        n_bins=n_bins,
        left=left,
        counts=read_only(np.bincount(cells, minlength=n_cells).reshape(shape)),
        hits=read_only(np.bincount(hits, minlength=n_cells).reshape(shape)),
        halves=read_only(np.stack(halves, axis=1).reshape(*shape, 2, 2)),
        scores=read_only(np.stack(scores)),
        n_infinite=int(infinite.sum()),
    )


def no_sums(n_classes: int, n_bins: int, left: bool) -> SumTally:
    """Return the sums of no rows."""
    counts = read_only(np.zeros((n_classes, n_bins), dtype=np.int64))
    halves = read_only(np.zeros((n_classes, n_bins, 2, 2), dtype=np.int64))
    scores = read_only(np.zeros((2, 2), dtype=np.int64))
    return SumTally(n_classes, n_bins, left, counts, counts, halves, scores, 0)


def find_sums(
    args: Arguments,
    probs: Any,
    labels: Any,
    classes: Any,
    *,
    n_bins: int | None = None,
    how: Bins = "equal-width",
    event: str = "predicted",
    **of_rows: Any,
) -> SumTally | None:
    """Return the sums of a tally's rows, or of rows in blocks; else None.

    None for rows in memory, and for rows in blocks of which more is asked: weights,
    bins of equal mass or given ones, or another event. Numbers of each are then needed.

    Parameters
    ----------
    n_bins : int, optional
        None: the sums are needed and not the bins.
    how : str or Intervals
        As in `choose_bins`.
    of_rows
        Arguments that a tally does not have.
    """
    event = args.choice(event, "event", EVENTS)
    found = find_part(args, probs, SumTally, labels=labels, classes=classes, **of_rows)
    plain = how in ("equal-width", "left") and event == "predicted"
    if found is None:
        if not plain or any(value is not None for value in of_rows.values()):
            return None
        given = {"probs": probs, "labels": labels, "sample_weight": None}
        blocks = read_blocks(args, given)
        if blocks is None:
            return None
        if blocks.has("sample_weight"):  # blocks have weights of their own
            if not callable(probs):
                must = "a function that returns the blocks, where these have weights"
                args.invalid("probs", must, describe(probs))
            return None
        names = blocks.classes(classes)
        make = partial(_sums_of_block, names, n_bins or 1, how == "left")
        sums = blocks.total(make, SumTally.total)
    else:
        if how not in ("equal-width", "left"):
            must = "'equal-width' where rows come as a Tally"
            args.invalid("scheme", must, repr(how) if isinstance(how, str) else "edges")
        if event != "predicted":
            must = "'predicted' where rows come as a Tally"
            args.invalid("event", must, describe(event))
        sums = found[0]
    if n_bins not in (None, sums.n_bins):
        args.invalid("n_bins", f"{sums.n_bins}, as in the Tally", f"{n_bins}")
    if n_bins is not None and sums.left != (how == "left"):
        side = "left" if sums.left else "right"
        args.invalid("closed", f"{side!r}, as in the Tally", "the other side")
    if sums.n == 0:
        args.invalid("probs", "of at least one row", "none")
    return sums


def _sums_of_block(classes: Classes, n_bins: int, left: bool, block: Block) -> SumTally:
    if block.n == 0:
        return no_sums(len(classes), n_bins, left)
    rows = read_matrix(
        block.args,
        block["probs"],
        block["labels"],
        sample_weight=None,
        classes=classes,
        needs=ALL,
    )
    return sums_of_rows(rows, n_bins, left)


def _sum_halves(values: FloatArray, cells: IntArray, n_cells: int) -> IntArray:
    """Return the sums of values on the grid by cell, shape (n_cells, 2)."""
    out = np.zeros((n_cells, 2), dtype=np.int64)
    for start in range(0, values.size, _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        steps = np.rint(values[some] / _STEP)
        high = np.floor(steps * 2.0**-_HALF)
        for i, half in enumerate((high, steps - high * 2.0**_HALF)):
            sums = np.bincount(cells[some], weights=half, minlength=n_cells)
            out[:, i] += sums.astype(np.int64)
    return _carried(out)


def _carried(halves: IntArray) -> IntArray:
    """Return the same sums in their one form: lower halves are less than 2^25."""
    carry = halves[..., 1] >> _HALF
    low = halves[..., 1] - (carry << _HALF)
    return np.stack([halves[..., 0] + carry, low], axis=-1)


def _value(halves: IntArray) -> FloatMatrix:
    """Return the sums as floats."""
    return np.asarray(halves[..., 0] * 2.0**-_HALF + halves[..., 1] * _STEP)
