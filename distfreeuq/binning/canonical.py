"""Canonical binning: the whole vector of probabilities, all labels counted in a bin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, nothing, part, require
from distfreeuq._numerics.bin_counts import (
    count_labels,
    mean_rows,
    mean_scores,
    spread_weights,
    sum_rows,
    sum_weights,
)
from distfreeuq._numerics.passes.row_parts import OnePart
from distfreeuq._numerics.sample_weights import divide
from distfreeuq._numerics.unit_bins import Intervals
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.label_shift_bins import (
    TargetWeights,
    reweighted,
    reweighted_prior,
    target_radii,
)
from distfreeuq.binning.radii import (
    Radii,
    WeightedCounts,
    multinomial_radii,
    weighted_multinomial_radii,
)
from distfreeuq.binning.results import BinningResult, bin_tables
from distfreeuq.binning.rows.binning_blocks import AnyBinningRows, BinningRowsInBlocks
from distfreeuq.binning.rows.scored_rows import ScoredRows, count_in_bins
from distfreeuq.binning.scheme import FunctionCells, Scheme
from distfreeuq.binning.settings import BinningSettings
from distfreeuq.binning.simplex import SimplexCells

if TYPE_CHECKING:
    import pandas as pd


@register("canonical-binning")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CanonicalBinning(BinningResult):
    """Bins of the whole probability vector; for two classes, of that of class 1.

    The attributes are those of every `BinningResult`.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> labels = [0, 0, 0, 1] * 25
    >>> dfu.histogram_binning([0.2, 0.7] * 50, labels, scheme=[0.5])
    <CanonicalBinning alpha=0.1 n=100 bins=2 K=2>
    """

    mode: ClassVar[str] = "canonical"

    _state: ClassVar[State] = {
        **bin_tables(("M",), ("M", "K")),
        "fallback": floats("K"),
        "label_counts": nothing(),
        "partition": part(Intervals, SimplexCells),
    }

    def _validate_state(self) -> None:
        BinningResult._validate_state(self)
        if isinstance(self.partition, SimplexCells):
            known = self.partition.column.max(initial=0) < len(self.classes)
            require(known, "splits of the classes' columns")
        elif isinstance(self.partition, Intervals):
            require(len(self.classes) == 2, "two classes")
        require(self.bin_counts.size == self.n_bins, "counts of all bins")

    def _assign(self, matrix: FloatMatrix) -> IntArray:
        assert not isinstance(self.partition, tuple)
        if isinstance(self.partition, Intervals):
            return self.partition.assign(np.ascontiguousarray(matrix[:, 1]))
        return self.partition.assign(matrix)

    def _binned_scores(
        self, matrix: FloatMatrix
    ) -> Iterable[tuple[Intervals, FloatArray]]:
        assert isinstance(self.partition, Intervals)
        return [(self.partition, matrix[:, 1])]

    def _predict(self, matrix: FloatMatrix) -> FloatMatrix:
        undefined = np.isnan(self.frequencies[:, 0])
        table = np.where(undefined[:, None], self.fallback, self.frequencies)
        if isinstance(self.partition, Intervals) and not undefined.any():
            return self.partition.take(table, matrix[:, 1])
        bins = self._assign(matrix)
        self._warn_undefined(undefined[bins])
        return np.take(table.astype(matrix.dtype), bins, axis=0)

    def _under(self, args: Arguments, weights: TargetWeights) -> BinningResult:
        frequencies = reweighted(self.frequencies, weights.used)
        fallback = reweighted_prior(self.fallback, weights.used)
        source = Radii(self.radius, self.low, self.high, self.bound)
        radii, part = target_radii(frequencies, self.frequencies, source, weights)
        return self._on_target(weights, frequencies, fallback, radii, part)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per bin: cell, rows, radius; frequency and interval by class."""
        import pandas as pd

        columns: dict[str, object] = {"bin": np.arange(self.n_bins), "cell": self.cells}
        if isinstance(self.partition, Intervals):
            ends = self.partition.ends()
            columns |= {"left": ends[:-1], "right": ends[1:]}
        columns["n"] = self.bin_counts
        if self.effective_counts is not None:
            columns["n_effective"] = self.effective_counts
        columns["radius"] = self.radius
        if self.shift is not None:
            columns["source_radius"] = self.shift.source_radius
            columns["weight_radius"] = self.shift.weight_radius
        for k, name in enumerate(self.classes):
            columns[f"mean_prob[{name}]"] = self.mean_probs[:, k]
            columns[f"frequency[{name}]"] = self.frequencies[:, k]
            columns[f"low[{name}]"] = self.low[:, k]
            columns[f"high[{name}]"] = self.high[:, k]
        return pd.DataFrame(columns)


def fit_canonical(rows: AnyBinningRows, settings: BinningSettings) -> CanonicalBinning:
    """Count the labels in bins of the simplex and bound their frequencies."""
    table = _count(rows, settings.scheme)
    n_bins = table.counts.shape[0]
    counts: FloatMatrix | IntArray = table.counts
    bin_counts = table.counts.sum(axis=1)
    alpha, bound = settings.alpha, settings.bound
    effective = None
    if table.weighted is None:
        frequencies = divide(table.counts, bin_counts[:, None])
        radii = multinomial_radii(table.counts, n_bins, alpha, bound)
    else:
        weighted = WeightedCounts(*table.weighted, bin_counts, *table.spread)
        counts, effective = weighted.sums, read_only(weighted.effective)
        frequencies = weighted.frequencies
        radii = weighted_multinomial_radii(
            weighted, settings.weight_bound, n_bins, alpha, bound
        )
    return CanonicalBinning(
        counts=read_only(counts),
        bin_counts=read_only(bin_counts),
        frequencies=read_only(frequencies),
        mean_probs=read_only(table.mean_probs),
        fallback=read_only(_pooled(counts)),
        n_boundary=table.n_boundary,
        partition=table.partition,
        effective_counts=effective,
        label_counts=None,
        **settings.fields(rows, radii, bin_counts, n_bins),
    )


def _pooled(counts: FloatMatrix | IntArray) -> FloatArray:
    """Return the class frequencies of all bins together, shape (K,)."""
    mass = counts.sum(axis=0)
    if mass.sum() == 0.0:  # all weight is on rows that are boundaries
        mass = np.ones(mass.size)
    return np.asarray(mass / mass.sum())


_NOT_SPREAD: tuple[FloatArray | None, FloatArray | None] = (None, None)


@dataclass(frozen=True, slots=True)
class _Table:
    """Labels by bin: counts (M, K), and with weights sums and squares of these.

    With weights and two classes also the rows at the points of a grid of weights.
    """

    partition: Intervals | SimplexCells | FunctionCells
    counts: IntMatrix
    weighted: tuple[FloatMatrix, FloatMatrix] | None
    spread: tuple[FloatArray | None, FloatArray | None]
    mean_probs: FloatMatrix
    n_boundary: int


def _count(rows: AnyBinningRows, scheme: Scheme) -> _Table:
    weights, n_classes = rows.sample_weight, len(rows.classes)
    if n_classes == 2 and scheme.takes_scores:
        scored = rows.parts.then(_score_of_one)
        others = None if rows.others is None else rows.others[:, 1]
        score_bins = scheme.bins_of(scored, rows.n, others)
        counts, mean_score = count_in_bins(scored, score_bins, 2)
        partition, n_boundary = score_bins.intervals, score_bins.n_boundary
        sums, spread = None, _NOT_SPREAD
        if weights is not None:
            assert isinstance(scored, OnePart)
            scores, labels = scored.part
            bins = score_bins.assign(scores)
            sums = sum_weights(bins, labels, weights, score_bins.n_bins, 2)
            spread = spread_weights(bins, labels, weights, score_bins.n_bins)
            mean_score = mean_scores(scores, bins, weights, score_bins.n_bins)
        mean_probs = np.column_stack([1.0 - mean_score, mean_score])
        return _Table(partition, counts, sums, spread, mean_probs, n_boundary)
    if not isinstance(rows, BinningRows):
        return _count_in_blocks(rows, scheme)
    probs, labels = rows.probs, rows.labels
    binned = scheme.bin_rows(probs, rows.others)
    n_bins = binned.partition.n_bins
    counts = count_labels(binned.bins, labels, n_bins, n_classes)
    sums, spread = None, _NOT_SPREAD
    if weights is not None:
        if n_classes == 2:
            spread = spread_weights(binned.bins, labels, weights, n_bins)
        sums = sum_weights(binned.bins, labels, weights, n_bins, n_classes)
    mean_probs = mean_rows(probs, binned.bins, weights, n_bins)
    return _Table(binned.partition, counts, sums, spread, mean_probs, binned.n_boundary)


def _count_in_blocks(rows: BinningRowsInBlocks, scheme: Scheme) -> _Table:
    """Return the same of rows in blocks: in cells that a function gives."""
    cells = scheme.fixed
    if not isinstance(cells, FunctionCells):
        must = (
            "a function for cells of the simplex of rows in blocks, such as the assign "
            "of a fit to other rows (or mode='top-label' or 'classwise')"
        )
        Arguments("histogram_binning").invalid("scheme", must, "'uniform-mass'")
    counts, totals = rows.parts.total(_CountInCells(cells))
    mean_probs = divide(totals, counts.sum(axis=1)[:, None])
    return _Table(cells, counts, None, _NOT_SPREAD, mean_probs, 0)


@dataclass(frozen=True, slots=True)
class _CountInCells:
    """Counts some rows by cell and label, and sums them by cell."""

    cells: FunctionCells

    def __call__(self, rows: BinningRows) -> tuple[IntMatrix, FloatMatrix]:
        bins, n_bins = self.cells.assign(rows.probs), self.cells.n_bins
        counts = count_labels(bins, rows.labels, n_bins, len(rows.classes))
        return counts, sum_rows(rows.probs, bins, None, n_bins)


def _score_of_one(rows: BinningRows) -> ScoredRows:
    """Return the probabilities of class 1."""
    return ScoredRows(rows.probs[:, 1], rows.labels)
