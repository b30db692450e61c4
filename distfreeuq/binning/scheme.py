"""How bins are chosen: in advance, by other rows, or by the calibration rows.

The bounds need the rows of a bin to be independent draws from it. That is so for bins
fixed in advance, for bins that other rows chose, and for bins at the calibration rows'
own order statistics if the rows on the boundaries are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.passes.row_parts import Parts
from distfreeuq._numerics.unit_bins import Intervals, ScoreBins, all_counted
from distfreeuq.binning import guarantees
from distfreeuq.binning.balanced_splits import balanced_cells
from distfreeuq.binning.guarantees import Choice
from distfreeuq.binning.rows.scored_rows import ScoredRows, bins_of_equal_mass
from distfreeuq.binning.simplex import SimplexCells
from distfreeuq.binning.uniform_mass import mass_of_others

PartitionFunction: TypeAlias = Callable[[FloatMatrix], Any]
"""From probabilities (n, K) to bin numbers (n,)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionCells:
    """A partition that the user gave as a function. It cannot be saved: it is code.

    Attributes
    ----------
    function : callable
    n_bins : int
        The function's values are 0 .. n_bins - 1.
    """

    function: PartitionFunction
    n_bins: int

    def assign(self, probs: FloatMatrix) -> IntArray:
        """Return the bin of each row, checked."""
        args = Arguments("histogram_binning")
        given = args.array(self.function(probs), "scheme", "bin numbers")
        must = (
            f"a function from probabilities (n, K) to {self.n_bins} (n_bins) bin "
            "numbers 0, 1, ..., shape (n,)"
        )
        if given.shape != (probs.shape[0],):
            args.invalid("scheme", must, f"values of shape {given.shape}")
        bins = np.asarray(given)
        if bins.dtype.kind not in "iub":
            args.invalid("scheme", must, f"values of dtype {bins.dtype}")
        bad = (bins < 0) | (bins >= self.n_bins)
        if bad.any():
            row = int(np.argmax(bad))
            args.invalid("scheme", must, f"{bins[row]} for row {row}")
        return bins.astype(np.int64)


@dataclass(frozen=True, slots=True)
class BinnedRows:
    """A partition of the simplex and the bins of the calibration rows.

    Attributes
    ----------
    partition : SimplexCells or FunctionCells
    bins : ndarray (n,)
        -1 for rows on a boundary, which no bin counts.
    n_boundary : int
        How many these are.
    """

    partition: SimplexCells | FunctionCells
    bins: IntArray
    n_boundary: int


@dataclass(frozen=True, slots=True)
class Scheme:
    """How bins are chosen.

    Attributes
    ----------
    name : str
        "uniform-mass", "equal-width", "given edges" or "given function".
    n_bins : int
    fixed : Intervals, FunctionCells or None
        Bins chosen in advance.
    schedule : sequence of int
        The coordinates of the splits of the simplex, where no other rows choose them.
    """

    name: str
    n_bins: int
    fixed: Intervals | FunctionCells | None
    schedule: Sequence[int]

    @property
    def takes_scores(self) -> bool:
        """False for a function of whole rows."""
        return not isinstance(self.fixed, FunctionCells)

    def choice(self, of_scores: bool, by_others: bool) -> Choice:
        """Return what the bounds need.

        Parameters
        ----------
        of_scores : bool
            Whether there are bins of one score, or cells of the simplex.
        by_others : bool
            Whether rows other than the calibration rows choose them.
        """
        return guarantees.choice_of(self.name, of_scores, by_others)

    def bins_of(
        self, scored: Parts[ScoredRows], n_rows: int, others: FloatArray | None
    ) -> ScoreBins:
        """Return bins of one score; `others` is the score of the other rows."""
        if self.fixed is not None:
            assert isinstance(self.fixed, Intervals)
            return all_counted(self.fixed)
        if others is not None:
            return all_counted(mass_of_others(others, self.n_bins))
        return bins_of_equal_mass(scored, n_rows, self.n_bins)

    def bin_rows(self, probs: FloatMatrix, others: FloatMatrix | None) -> BinnedRows:
        """Return cells of the simplex, and in which of them the rows are.

        Where there are other rows, these choose the coordinates of the splits.
        """
        if self.fixed is not None:
            assert isinstance(self.fixed, FunctionCells)
            return BinnedRows(self.fixed, self.fixed.assign(probs), 0)
        cells, bins = balanced_cells(probs, self.n_bins, self.schedule, others)
        return BinnedRows(cells, bins, int((bins < 0).sum()))
