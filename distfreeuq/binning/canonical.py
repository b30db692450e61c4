"""Canonical binning: the whole vector of probabilities, all labels counted in a bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import check_floats, check_indices, require
from distfreeuq._numerics.bin_counts import (
    count_labels,
    divide,
    mean_rows,
    mean_scores,
    sum_weights,
)
from distfreeuq._numerics.unit_bins import Intervals
from distfreeuq.binning.radii import TRIVIAL_L1, Radii, around, multinomial_radii
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.scheme import FunctionCells
from distfreeuq.binning.settings import Calibration
from distfreeuq.binning.simplex import SimplexCells
from distfreeuq.binning.target_weights import TargetWeights
from distfreeuq.binning.weighted_radii import (
    WeightedCounts,
    weighted_multinomial_radii,
)
from distfreeuq.results import read_only

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

    def _validate_state(self) -> None:
        n_classes = len(self.classes)
        require(isinstance(self.partition, Intervals | SimplexCells), "a partition")
        if isinstance(self.partition, SimplexCells):
            check_indices(self.partition.column, "columns of splits", n_classes)
        self._check_tables((self.n_bins,), (self.n_bins, n_classes))
        check_floats(self, fallback=(n_classes,))

    def _assign(self, matrix: FloatMatrix) -> IntArray:
        assert not isinstance(self.partition, tuple)
        if isinstance(self.partition, Intervals):
            return self.partition.assign(np.ascontiguousarray(matrix[:, 1]))
        return self.partition.assign(matrix)

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


def fit_canonical(calibration: Calibration) -> CanonicalBinning:
    """Count the labels in bins of the simplex and bound their frequencies."""
    rows = _count(calibration)
    n_bins = rows.counts.shape[0]
    counts: FloatMatrix | IntArray = rows.counts
    bin_counts = rows.counts.sum(axis=1)
    level, bound = calibration.alpha, calibration.bound
    effective = None
    if rows.weighted is None:
        frequencies = divide(rows.counts, bin_counts[:, None])
        radii = multinomial_radii(rows.counts, n_bins, level, bound)
    else:
        weighted = WeightedCounts(*rows.weighted, bin_counts)
        counts, effective = weighted.sums, read_only(weighted.effective)
        frequencies = weighted.frequencies
        radii = weighted_multinomial_radii(
            weighted, calibration.weight_bound, n_bins, level, bound
        )
    return CanonicalBinning(
        counts=read_only(counts),
        bin_counts=read_only(bin_counts),
        frequencies=read_only(frequencies),
        mean_probs=read_only(rows.mean_probs),
        fallback=read_only(_pooled(counts)),
        n_boundary=rows.n_boundary,
        partition=rows.partition,
        effective_counts=effective,
        label_counts=None,
        **calibration.fields("canonical", radii, bin_counts, n_bins),
    )


def _pooled(counts: FloatMatrix | IntArray) -> FloatArray:
    """Return the class frequencies of all bins together, shape (K,)."""
    mass = counts.sum(axis=0)
    if mass.sum() == 0.0:  # all weight on rows that are boundaries
        mass = np.ones(mass.size)
    return np.asarray(mass / mass.sum())


@dataclass(frozen=True, slots=True)
class _Rows:
    """Labels by bin: counts (M, K), and with weights sums and squares of these."""

    partition: Intervals | SimplexCells | FunctionCells
    counts: IntMatrix
    weighted: tuple[FloatMatrix, FloatMatrix] | None
    mean_probs: FloatMatrix
    n_boundary: int


def _count(calibration: Calibration) -> _Rows:
    probs, labels = calibration.probs, calibration.labels
    scheme, weights = calibration.scheme, calibration.sample_weight
    n_classes = probs.shape[1]
    if n_classes == 2 and scheme.takes_scores:
        scores = probs[:, 1]
        others = None if scheme.others is None else scheme.others[:, 1]
        score_bins = scheme.bins_of(scores, others)
        counts, mean_score = score_bins.tabulate(scores, labels, 2)
        partition, n_boundary = score_bins.intervals, score_bins.n_boundary
        sums = None
        if weights is not None:
            bins = score_bins.assign(scores)
            sums = sum_weights(bins, labels, weights, score_bins.n_bins, 2)
            mean_score = mean_scores(scores, bins, weights, score_bins.n_bins)
        mean_probs = np.column_stack([1.0 - mean_score, mean_score])
        return _Rows(partition, counts, sums, mean_probs, n_boundary)
    binned = scheme.bin_rows(probs)
    n_bins = binned.partition.n_bins
    counts = count_labels(binned.bins, labels, n_bins, n_classes)
    sums = None
    if weights is not None:
        sums = sum_weights(binned.bins, labels, weights, n_bins, n_classes)
    mean_probs = mean_rows(probs, binned.bins, weights, n_bins)
    return _Rows(binned.partition, counts, sums, mean_probs, binned.n_boundary)


def reweighted(frequencies: FloatMatrix, label_weight: FloatArray) -> FloatMatrix:
    """Return w_k pi_k / sum_j w_j pi_j (paper A, eq. 17), NaN where that is 0/0."""
    mass = frequencies * label_weight
    return divide(mass, mass.sum(axis=-1, keepdims=True))


def reweighted_prior(prior: FloatArray, label_weight: FloatArray) -> FloatArray:
    """Return the target's prior; without any of the rows' classes, w itself."""
    mass: FloatArray = prior * label_weight
    if mass.sum() == 0.0:
        mass = label_weight
    return np.asarray(mass / mass.sum())


def target_radii(
    frequencies: FloatMatrix, source: FloatMatrix, radii: Radii, weights: TargetWeights
) -> tuple[Radii, FloatArray]:
    """Return the target's radii and intervals, and the source's part of the radii.

    Parameters
    ----------
    frequencies : ndarray (M, K)
        Reweighted.
    source : ndarray (M, K)
        The source's frequencies.
    radii : Radii
        The source's.
    weights : TargetWeights
    """
    if frequencies.shape[1] == 2:
        return _binary_radii(frequencies[:, 1], radii, weights)
    from_source = bounds.label_shift_source_radius(
        radii.radius, weights.largest, weights.smallest_mass(source)
    )
    from_source = np.minimum(from_source, TRIVIAL_L1)
    total = np.minimum(from_source + weights.weight_radius(source), TRIVIAL_L1)
    undefined = np.isnan(frequencies[:, 0])
    total = np.where(undefined, TRIVIAL_L1, total)
    low, high = around(frequencies, total[:, None] / 2.0)
    return Radii(total, low, high, radii.bound), from_source


def _binary_radii(
    frequency: FloatArray, radii: Radii, weights: TargetWeights
) -> tuple[Radii, FloatArray]:
    """Push the ends of the interval of class 1 through the reweighting: exact."""
    ends = []
    for ratio_low, ratio_high in (
        _ratios(weights.used, weights.used),
        _ratios(weights.box.low, weights.box.high),
    ):
        low = bounds.binary_label_shift(radii.low[:, 1], ratio_low)
        high = bounds.binary_label_shift(radii.high[:, 1], ratio_high)
        # 0/0: where one class is absent for certain, the other one is sure
        low = np.nan_to_num(low, nan=float(np.isinf(ratio_low)))
        ends.append((low, np.nan_to_num(high, nan=float(ratio_high > 0.0))))
    (source_low, source_high), (low, high) = ends
    undefined = np.isnan(frequency)
    center = np.where(undefined, 0.5, frequency)

    def radius(low: FloatArray, high: FloatArray) -> FloatArray:
        error = 2.0 * np.maximum(center - low, high - center)
        return np.where(undefined, TRIVIAL_L1, error)

    low, high = np.where(undefined, 0.0, low), np.where(undefined, 1.0, high)
    table_low = np.column_stack([1.0 - high, low])
    table_high = np.column_stack([1.0 - low, high])
    whole = Radii(radius(low, high), table_low, table_high, radii.bound)
    return whole, radius(source_low, source_high)


def _ratios(low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """Return the smallest and largest w_1 / w_0 of weights in a box."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = low[1] / high[0], high[1] / low[0]
    # 0/0 and inf/inf limit nothing
    return (
        float(np.nan_to_num(ends[0], nan=0.0, posinf=np.inf)),
        float(np.nan_to_num(ends[1], nan=np.inf, posinf=np.inf)),
    )
