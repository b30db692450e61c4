"""Bins of a target of other class proportions: its weights, frequencies and radii."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    floats,
    masses,
    proportion,
    real,
    text,
)
from distfreeuq._numerics.sample_weights import divide
from distfreeuq.binning.radii import (
    TRIVIAL_L1,
    TRIVIAL_PROBABILITY,
    Radii,
    WeightedCounts,
    around,
    weighted_binomial_radii,
)
from distfreeuq.binning.target_error import MOST_CLASSES, largest_error
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.inference.regions import Box, Polytope

# Most linear programs of one call; with more bins the intervals of the weights serve.
_MOST_PROGRAMS = 200


@register("target-shift")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TargetShift:
    """What a label shift did to a table of bins.

    Attributes
    ----------
    label_weight : ndarray (K,)
        The weights used.
    weights_from : str
        "known", "given region", or the estimator.
    kappa : float
        Largest weight over the smallest that is not zero.
    low, high : ndarray (K,)
        Intervals of the true weights; the weights themselves if known.
    delta : float
        Probability that these miss; 0 for known weights.
    source_radius : ndarray
        Part of each bin's radius that comes from its frequencies on the source.
    weight_radius : ndarray
        Part that comes from the weights; 0 if these are known.
    """

    label_weight: FloatArray
    weights_from: str
    kappa: float
    low: FloatArray
    high: FloatArray
    delta: float
    source_radius: FloatArray
    weight_radius: FloatArray

    _state: ClassVar[State] = {
        "label_weight": masses("K"),
        "weights_from": text(),
        "kappa": real(1.0, finite=False),
        "low": floats("K", low=0.0, nan=False),
        "high": floats("K", low=0.0, nan=False),
        "delta": proportion(),
        "source_radius": floats(..., low=0.0, nan=False),
        "weight_radius": floats(..., low=0.0, nan=False),
    }


@dataclass(frozen=True, slots=True)
class TargetWeights:
    """Weights, checked, and the region that holds the true ones.

    Attributes
    ----------
    used : ndarray (K,)
    box : Box
        Intervals of the true weights.
    region : Polytope or None
        A smaller region, where there is one.
    source : str
        "known", "given region", or the estimator.
    delta : float
        0 for known weights.
    contradicted : bool
        Whether no weights are compatible with the data.
    """

    used: FloatArray
    box: Box
    region: Polytope | None
    source: str
    delta: float
    contradicted: bool = False

    @property
    def known(self) -> bool:
        """True if there is no region, or a point."""
        return self.delta == 0.0

    @property
    def largest(self) -> float:
        """Largest weight that a class may have."""
        return float(self.box.high.max())

    def shift(
        self, source_radius: FloatArray, weight_radius: FloatArray
    ) -> TargetShift:
        """Return the record of what these weights did to the radii."""
        return TargetShift(
            label_weight=self.used,
            weights_from=self.source,
            kappa=unchecked.condition_number(self.used),
            low=self.box.low,
            high=self.box.high,
            delta=self.delta,
            source_radius=source_radius,
            weight_radius=weight_radius,
        )

    def smallest_mass(self, frequencies: FloatMatrix) -> FloatArray:
        """Return the least sum_k w_k pi_hat_k over the region, for each bin.

        0 for bins without rows.
        """
        table = np.nan_to_num(frequencies, nan=0.0)
        rows = table.reshape(-1, table.shape[-1])
        by_intervals = rows @ np.maximum(self.box.low, 0.0)
        if self.region is not None and rows.shape[0] <= _MOST_PROGRAMS:
            by_program = np.array([-self.region.support(-row) for row in rows])
            by_intervals = np.maximum(by_intervals, by_program)
        return by_intervals.reshape(table.shape[:-1])

    def weight_radius(self, frequencies: FloatMatrix) -> FloatArray:
        """Return the L1 error of each bin that the weights' error leads to.

        Two bounds hold on the same event, so that the smaller one may be taken.
        """
        if self.known:
            return np.zeros(frequencies.shape[:-1])
        arguments = (
            np.nan_to_num(frequencies, nan=0.0),
            self.used,
            self.box.low,
            self.box.high,
        )
        return np.minimum(
            unchecked.label_shift_weight_radius(*arguments),
            unchecked.label_shift_tilt_radius(*arguments),
        )


# --------------------------------------------------- whole vectors of probabilities


def reweighted(frequencies: FloatMatrix, label_weight: FloatArray) -> FloatMatrix:
    """Return w_k pi_k / sum_j w_j pi_j, NaN where that is 0/0.

    Podkopaev & Ramdas (2021), eq. (17).
    """
    mass = frequencies * label_weight
    return divide(mass, mass.sum(axis=-1, keepdims=True))


def reweighted_prior(prior: FloatArray, label_weight: FloatArray) -> FloatArray:
    """Return the target's prior; w itself if it has none of the rows' classes."""
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
    from_source = unchecked.label_shift_source_radius(
        radii.radius, weights.largest, weights.smallest_mass(source)
    )
    from_source = np.minimum(from_source, TRIVIAL_L1)
    if weights.known and frequencies.shape[1] <= MOST_CLASSES:
        # never more than the formula, which holds on the same event
        exact = largest_error(source, radii.radius, weights.used)
        from_source = np.minimum(from_source, exact)
    total = np.minimum(from_source + weights.weight_radius(source), TRIVIAL_L1)
    undefined = np.isnan(frequencies[:, 0])
    total = np.where(undefined, TRIVIAL_L1, total)
    low, high = around(frequencies, total[:, None] / 2.0)
    return Radii(total, low, high, radii.bound), from_source


def _binary_radii(
    frequency: FloatArray, radii: Radii, weights: TargetWeights
) -> tuple[Radii, FloatArray]:
    """Reweight the ends of the interval of class 1, which is exact."""
    ends = []
    for ratio_low, ratio_high in (
        _ratios(weights.used, weights.used),
        _ratios(weights.box.low, weights.box.high),
    ):
        low = unchecked.binary_label_shift(radii.low[:, 1], ratio_low)
        high = unchecked.binary_label_shift(radii.high[:, 1], ratio_high)
        # 0/0: one class is certainly absent, so that the other one has probability one
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
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = low[1] / high[0], high[1] / low[0]
    # 0/0 and inf/inf limit nothing
    return (
        float(np.nan_to_num(ends[0], nan=0.0, posinf=np.inf)),
        float(np.nan_to_num(ends[1], nan=np.inf, posinf=np.inf)),
    )


# ------------------------------------------- one probability per bin: that of an event
#
# Under label shift the labels other than k do not keep their composition, so that the
# probability of an event such as "Y = k" needs the counts of all labels in the bin. The
# target's probability of the event is the weighted share sum w_Y 1{event} / sum w_Y of
# the bin's rows.


def reweighted_event(
    hits: IntArray, rows: IntArray, label_weight: FloatArray
) -> FloatArray:
    """Return the target's share of the event in each bin, NaN where that is 0/0.

    Parameters
    ----------
    hits, rows : ndarray (..., K)
        Rows with the event, and all rows, by bin and label.
    label_weight : ndarray (K,)
    """
    return divide(hits @ label_weight, rows @ label_weight)


def event_radii(
    hits: IntArray, rows: IntArray, weights: TargetWeights, n_bins: int, alpha: float
) -> tuple[Radii, FloatArray]:
    """Return radii and intervals on the target, and the source's part of the radii.

    Known weights are bounded weights of the rows: intervals by betting. Unknown weights
    get Hoeffding's bound for the worst weights in the region.
    """
    n = rows.sum(axis=-1)
    if weights.known:
        w = weights.used
        one_and_other = np.stack([rows - hits, hits], axis=-2)
        counts = WeightedCounts(
            one_and_other @ w, one_and_other @ w**2, n, w, one_and_other
        )
        radii = weighted_binomial_radii(
            counts, float(w.max()), n_bins, alpha, bound="auto"
        )
        return radii, radii.radius
    table = divide(rows, n[..., None])
    plain = unchecked.binning_weissman(n, n_bins, 2, alpha) / 2.0
    source = unchecked.label_shift_source_radius(
        plain, weights.largest, weights.smallest_mass(table)
    )
    source = np.minimum(source, TRIVIAL_PROBABILITY)
    # the probability of one event moves by at most half of the L1 distance
    total = source + weights.weight_radius(table) / 2.0
    total = np.minimum(total, TRIVIAL_PROBABILITY)
    frequencies = reweighted_event(hits, rows, weights.used)
    total = np.where(np.isnan(frequencies), TRIVIAL_PROBABILITY, total)
    low, high = around(frequencies, total)
    return Radii(total, low, high, "hoeffding, weighted"), source
