"""What conformal fits need of rows: the true labels' scores by class, 8 bytes a row.

Or fewer: scores that are rounded up to a grid are counted. A score rounded up is a
score too, so that all claims hold of it; and for thresholds on the grid a label is in
the set by its own score exactly if it is by the rounded one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.row_uniforms import RowKey
from distfreeuq._base.stored_state import (
    State,
    count,
    flag,
    floats,
    integers,
    maybe,
    part,
    part_or_none,
    require,
)
from distfreeuq._base.tallied import TallyPart
from distfreeuq._numerics.quantiles import LabelArray
from distfreeuq.conformal.scores.nested_score import NestedScore

_MANY_OF_CLASS = 64
"""Scores of a class, on average, from which on classes are sorted one by one."""


@register("score-tally")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreTally(TallyPart):
    """Scores of rows with labels, and how they were made.

    Attributes
    ----------
    score : NestedScore
    randomized : bool
    row_key : RowKey or None
        What a row's uniform is a hash of, if it is one.
    counts : ndarray (K,)
        Rows by class.
    scores : ndarray (u,)
        Ascending within each class, class after class; on a grid, each one once.
    per_unit : int or None
        Points of the grid from 0 to 1, to which scores are rounded up; None: as they
        are, one for each row.
    lengths : ndarray (K,)
        How many of `scores` are of each class.
    times : ndarray (u,) or None
        Rows with each of them, on a grid.
    """

    contents: ClassVar[str] = "the labels' scores"
    how_made: ClassVar[str] = "with labels and a score"

    score: NestedScore
    randomized: bool
    row_key: RowKey | None
    counts: IntArray
    scores: FloatArray
    per_unit: int | None
    lengths: IntArray
    times: IntArray | None

    _state: ClassVar[State] = {
        "score": part(NestedScore),
        "randomized": flag(),
        "row_key": part_or_none(RowKey),
        "counts": integers("K"),
        "scores": floats("u", nan=False),
        "per_unit": maybe(count(low=1)),
        "lengths": integers("K"),
        "times": maybe(integers("u", low=1)),
    }

    @staticmethod
    def _added(fields: dict[str, Any]) -> dict[str, Any]:
        """Return what the first files of format 2 lack."""
        return {"per_unit": None, "lengths": fields["counts"], "times": None}

    def _validate_state(self) -> None:
        hashed = self.row_key is not None
        require(self.randomized or not hashed, "a key of randomised scores, or None")
        require(int(self.lengths.sum()) == self.scores.size, "scores by class")
        require((self.per_unit is None) == (self.times is None), "counts on a grid")
        rows = np.add.reduceat(
            np.append(self._times(), 0), np.cumsum(self.lengths) - self.lengths
        )
        rows = np.where(self.lengths > 0, rows, 0)
        require(np.array_equal(rows, self.counts), "a score for every row")
        ends = np.cumsum(self.lengths)
        rising = self.scores[1:] >= self.scores[:-1]
        rising[ends[(ends > 0) & (ends < self.scores.size)] - 1] = True
        require(rising.all(), "ascending scores of each class")

    def _times(self) -> IntArray:
        if self.times is None:
            return np.ones(self.scores.size, dtype=np.int64)
        return self.times

    @property
    def largest_share(self) -> float:
        """The largest share of rows with one score of the grid: ranks are so far off.

        0 where scores are as they are.
        """
        if self.times is None or not self.times.size:
            return 0.0
        _, which = np.unique(self.scores, return_inverse=True)
        return float(np.bincount(which, weights=self.times).max() / self.times.sum())

    def of_rows(self) -> tuple[FloatArray, LabelArray]:
        """Return the score and the label of every row, class after class.

        Both are new arrays; labels are in as few bytes as hold them.
        """
        n_classes = self.counts.size
        codes = np.arange(n_classes, dtype=np.min_scalar_type(n_classes))
        labels = np.repeat(codes, self.counts)
        if self.times is None:
            return self.scores.copy(), labels
        return np.repeat(self.scores, self.times), labels

    def _uniforms(self) -> str:
        """Return where the uniforms come from, for a message."""
        if not self.randomized:
            return "no uniforms"
        if self.row_key is None:
            return "uniforms that were drawn"
        what = "ids" if self.row_key.by_id else "rows"
        return f"uniforms by a hash of {what} under the key {self.row_key.key}"

    def unlike(self, other: ScoreTally) -> tuple[str, str] | None:
        """Return how the scores of two tallies differ, so that they do not add."""
        if not same_score(self.score, other.score):
            texts = (one.score.describe(one.randomized) for one in (self, other))
            mine, others = (f"the score {text}" for text in texts)
            return mine, others if others != mine else "another score of that name"
        if self.per_unit != other.per_unit:
            mine, others = (
                "scores as they are"
                if one.per_unit is None
                else f"scores on a grid of {one.per_unit} per unit"
                for one in (self, other)
            )
            return mine, others
        mine, others = self._uniforms(), other._uniforms()
        return None if mine == others else (mine, others)

    @classmethod
    def total(cls, parts: Sequence[ScoreTally]) -> ScoreTally:
        """Return the scores of all parts: sorted runs, merged class by class."""
        one = parts[0]
        counts = np.sum([part.counts for part in parts], axis=0)
        if one.per_unit is not None:
            labels = [np.repeat(np.arange(counts.size), part.lengths) for part in parts]
            scores, lengths, times = _count_equal(
                np.concatenate([part.scores for part in parts]),
                np.concatenate(labels),
                np.concatenate([part._times() for part in parts]),
                counts.size,
            )
        else:
            scores, lengths, times = _merged(parts, counts), counts, None
        return replace(
            one,
            counts=read_only(counts),
            scores=read_only(scores),
            lengths=read_only(lengths),
            times=None if times is None else read_only(times),
        )


def _merged(parts: Sequence[ScoreTally], counts: IntArray) -> FloatArray:
    """Return the scores of all parts: sorted runs, merged class by class."""
    out = np.empty(int(counts.sum()))
    starts = [np.cumsum(one.counts) - one.counts for one in parts]
    place = 0
    for k in np.flatnonzero(counts):
        runs = [
            one.scores[start[k] : start[k] + one.counts[k]]
            for one, start in zip(parts, starts, strict=True)
        ]
        own = out[place : place + int(counts[k])]
        np.concatenate(runs, out=own)
        own.sort(kind="stable")  # which merges runs
        place += own.size
    return out


def _ascending_by_class(
    scores: FloatArray, labels: IntArray, counts: IntArray
) -> FloatArray:
    """Return the scores in ascending order within each class, class after class."""
    if scores.size < _MANY_OF_CLASS * counts.size:
        return scores[np.lexsort((scores, labels))]
    small = labels.astype(np.min_scalar_type(counts.size))
    out = scores[np.argsort(small, kind="stable")]
    ends = np.cumsum(counts).tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        out[start:end].sort()
    return out


def _count_equal(
    scores: FloatArray, labels: IntArray, times: IntArray, n_classes: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return each class's different scores, how many they are, and their rows."""
    order = np.lexsort((scores, labels))
    scores, labels, times = scores[order], labels[order], times[order]
    new = np.ones(scores.size, dtype=np.bool_)
    new[1:] = (scores[1:] != scores[:-1]) | (labels[1:] != labels[:-1])
    first = np.flatnonzero(new)
    rows = np.add.reduceat(times, first) if first.size else times
    return scores[first], np.bincount(labels[first], minlength=n_classes), rows


def _count_on_grid(
    scores: FloatArray, labels: IntArray, n_classes: int, per_unit: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the same of rows whose scores are rounded up: without a sort, if few."""
    rounded = round_up(scores, per_unit)
    low, high = rounded.min(initial=np.inf), rounded.max(initial=-np.inf)
    span = (high - low) * per_unit + 1.0
    if not 0.0 < span * n_classes <= 4 * scores.size:  # or no rows, or infinite scores
        once = np.ones(scores.size, dtype=np.int64)
        return _count_equal(rounded, labels, once, n_classes)
    first, width = round(low * per_unit), round(span)
    steps = np.rint(rounded * per_unit).astype(np.int64) - first
    rows = np.bincount(labels * width + steps, minlength=n_classes * width)
    cells = np.flatnonzero(rows)
    lengths = np.bincount(cells // width, minlength=n_classes)
    return (cells % width + first) / per_unit, lengths, rows[cells]


def round_up(scores: FloatArray, per_unit: int) -> FloatArray:
    """Return the least multiples of 1 / per_unit, as floats, that are no less."""
    steps = np.ceil(scores * per_unit)
    return np.where(steps / per_unit < scores, steps + 1.0, steps) / per_unit


def tally_scores(
    score: NestedScore,
    randomized: bool,
    row_key: RowKey | None,
    scores: FloatArray,
    labels: IntArray,
    n_classes: int,
    per_unit: int | None = None,
) -> ScoreTally:
    """Return the scores of rows with these labels, by class; perhaps on a grid."""
    counts = np.bincount(labels, minlength=n_classes)
    lengths, times = counts, None
    if per_unit is None:
        ascending = _ascending_by_class(scores, labels, counts)
    else:
        ascending, lengths, times = _count_on_grid(scores, labels, n_classes, per_unit)
    ascending += 0.0  # one zero, so that equal scores are equal bits
    return ScoreTally(
        score=score,
        randomized=randomized,
        row_key=row_key,
        counts=read_only(counts),
        scores=read_only(ascending),
        per_unit=per_unit,
        lengths=read_only(lengths),
        times=None if times is None else read_only(times),
    )


def same_score(one: Any, other: Any) -> bool:
    """Return whether two scores give every label the same number."""
    if type(one) is not type(other):
        return False
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(one)
    )
