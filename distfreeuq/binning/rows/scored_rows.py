"""Scores that are put into intervals, and what is counted in these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._numerics.passes.radix_selection import GroupedValues
from distfreeuq._numerics.passes.row_parts import OnePart, Parts
from distfreeuq._numerics.sample_weights import divide
from distfreeuq._numerics.unit_bins import ScoreBins
from distfreeuq.binning.uniform_mass import own_mass, own_mass_in_blocks


class ScoredRows(NamedTuple):
    """One score of some rows, and the numbers by which they are counted, each (n,)."""

    scores: FloatArray
    labels: IntArray


def bins_of_equal_mass(
    scored: Parts[ScoredRows], n_rows: int, n_bins: int
) -> ScoreBins:
    """Return bins of equal mass of the rows' own scores: a few passes over blocks."""
    if isinstance(scored, OnePart):
        return own_mass(scored.part.scores, n_bins)
    (bins,) = own_mass_in_blocks(scored.then(_values), n_rows, n_bins)
    return bins


def count_in_bins(
    scored: Parts[ScoredRows], bins: ScoreBins, n_labels: int
) -> tuple[IntMatrix, FloatArray]:
    """Return rows by bin and label (M, n_labels), and the mean scores (M,)."""
    counts, totals = scored.total(_Count(bins, n_labels))
    return counts, divide(totals, counts.sum(axis=1))


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts some rows by bin and label, and sums their scores by bin."""

    bins: ScoreBins
    n_labels: int

    def __call__(self, rows: ScoredRows) -> tuple[IntMatrix, FloatMatrix]:
        return self.bins.sums(rows.scores, rows.labels, self.n_labels)


def _values(rows: ScoredRows) -> GroupedValues:
    return GroupedValues(rows.scores)
