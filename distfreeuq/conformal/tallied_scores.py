"""What conformal fits need of rows: the true labels' scores by class, 8 bytes a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.row_uniforms import RowKey
from distfreeuq._base.stored_state import (
    State,
    flag,
    floats,
    integers,
    part,
    part_or_none,
    require,
)
from distfreeuq._base.tallied import TallyPart
from distfreeuq.conformal.scores.nested_score import NestedScore


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
    scores : ndarray (n,)
        Ascending within each class, class after class.
    """

    contents: ClassVar[str] = "the labels' scores"
    how_made: ClassVar[str] = "with labels and a score"

    score: NestedScore
    randomized: bool
    row_key: RowKey | None
    counts: IntArray
    scores: FloatArray

    _state: ClassVar[State] = {
        "score": part(NestedScore),
        "randomized": flag(),
        "row_key": part_or_none(RowKey),
        "counts": integers("K"),
        "scores": floats("n", nan=False),
    }

    def _validate_state(self) -> None:
        hashed = self.row_key is not None
        require(self.randomized or not hashed, "a key of randomised scores, or None")
        require(int(self.counts.sum()) == self.scores.size, "a score for every row")
        ends = np.cumsum(self.counts)
        rising = self.scores[1:] >= self.scores[:-1]
        rising[ends[(ends > 0) & (ends < self.scores.size)] - 1] = True
        require(rising.all(), "ascending scores of each class")

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
        mine, others = self._uniforms(), other._uniforms()
        return None if mine == others else (mine, others)

    @classmethod
    def total(cls, parts: Sequence[ScoreTally]) -> ScoreTally:
        """Return the scores of all parts: sorted runs, merged class by class."""
        counts = np.sum([one.counts for one in parts], axis=0)
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
        one = parts[0]
        merged = read_only(counts), read_only(out)
        return cls(one.score, one.randomized, one.row_key, *merged)


def tally_scores(
    score: NestedScore,
    randomized: bool,
    row_key: RowKey | None,
    scores: FloatArray,
    labels: IntArray,
    n_classes: int,
) -> ScoreTally:
    """Return the scores of rows with these labels, by class."""
    counts = np.bincount(labels, minlength=n_classes)
    ascending = scores[np.lexsort((scores, labels))]
    ascending += 0.0  # one zero, so that equal scores are equal bits
    return ScoreTally(
        score, randomized, row_key, read_only(counts), read_only(ascending)
    )


def same_score(one: Any, other: Any) -> bool:
    """Return whether two scores give every label the same number."""
    if type(one) is not type(other):
        return False
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name))
        for field in fields(one)
    )
