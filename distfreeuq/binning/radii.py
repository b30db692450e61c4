"""Which bound each bin gets: from counts to radii and intervals, all bins at once.

`"auto"` is the smallest valid one, chosen by the numbers of bins, classes and rows and
by alpha, never by the labels: the exact binomial bound, which is never above
Weissman's, or McDiarmid's where there are so many classes that it is below Weissman's.

Rows that carry weights w(x), for covariate shift, have bounds of their own. With
weights that are the true ratio up to scale, and no larger than a known bound, these
hold in finite samples. Without such a bound there is only an indication: the bound of
as many unweighted rows as the effective counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._numerics.sample_weights import divide, effective_sizes
from distfreeuq.bounds import unchecked
from distfreeuq.bounds.bin_bounds import SMALLEST_LEVEL, subset_level

Bound = Literal["clopper-pearson", "mcdiarmid"]

BOUNDS: tuple[str, ...] = (
    "auto",
    "clopper-pearson",
    "hoeffding",
    "weissman",
    "mcdiarmid",
)
WEIGHTED_BOUNDS: tuple[str, ...] = (
    "auto",
    "hoeffding",
    "chernoff",
    "bernstein",
    "betting",
)

TRIVIAL_L1 = 2.0
TRIVIAL_PROBABILITY = 1.0

_BY_COUNT_ALONE = {
    "hoeffding": unchecked.binning_hoeffding,
    "weissman": unchecked.binning_weissman,
    "mcdiarmid": unchecked.binning_mcdiarmid,
}


@dataclass(frozen=True, slots=True)
class Radii:
    """What holds in every bin at once.

    Attributes
    ----------
    radius : ndarray
        Radius of the L1 distance (M,), or of each probability; at most the trivial 2
        or 1.
    low, high : ndarray
        Interval of each probability, of the shape of the frequencies.
    bound : str
        The bound used.
    """

    radius: FloatArray
    low: FloatArray
    high: FloatArray
    bound: str


def multinomial_radii(
    counts: IntMatrix, n_bins: int, alpha: float, bound: str
) -> Radii:
    """Return L1 radii (M,) of label frequencies and intervals (M, K) of each of them.

    Parameters
    ----------
    counts : ndarray (M, K)
    n_bins : int
        Bins that share alpha.
    """
    n_classes = counts.shape[1]
    totals = counts.sum(axis=1)
    if bound == "auto":
        bound = smallest_bound(n_bins, n_classes, alpha)
    level = subset_level(n_bins, n_classes, alpha)
    if bound == "clopper-pearson" and level < SMALLEST_LEVEL:
        bound = "weissman"  # the exact bound falls back to it with so many classes
    if bound == "clopper-pearson":
        radius = unchecked.subset_clopper_pearson(counts, n_bins, alpha)
        low, high = _subset_intervals(counts, totals[:, None], level)
        return Radii(np.minimum(radius, TRIVIAL_L1), low, high, bound)
    radius = _BY_COUNT_ALONE[bound](totals, n_bins, n_classes, alpha)
    radius = np.minimum(radius, TRIVIAL_L1)
    # no probability is off by more than half of the L1 distance
    frequencies = divide(counts, totals[:, None])
    return Radii(radius, *around(frequencies, radius[:, None] / 2.0), bound)


def binomial_radii(
    hits: IntArray, totals: IntArray, n_bins: int, alpha: float, bound: str
) -> Radii:
    """Return radii and intervals of one probability per bin, arrays of any one shape.

    Each bin is a problem of two classes, whose L1 distance is twice the error.
    """
    if bound == "auto":
        bound = smallest_bound(n_bins, 2, alpha)
    if bound == "clopper-pearson":
        low, high = unchecked.clopper_pearson(hits, totals, alpha / n_bins)
        frequencies = divide(hits, totals)
        radius = np.fmax(frequencies - low, high - frequencies)
        return Radii(
            np.where(totals > 0, radius, TRIVIAL_PROBABILITY), low, high, bound
        )
    radius = _BY_COUNT_ALONE[bound](totals, n_bins, 2, alpha) / 2.0
    radius = np.minimum(radius, TRIVIAL_PROBABILITY)
    return Radii(radius, *around(divide(hits, totals), radius), bound)


def smallest_bound(n_bins: int, n_classes: int, alpha: float) -> Bound:
    """Return the bound that is smallest whatever the labels: by M, K and alpha."""
    few = unchecked.binning_weissman(1, n_bins, n_classes, alpha)
    many = unchecked.binning_mcdiarmid(1, n_bins, n_classes, alpha)
    return "clopper-pearson" if few <= many else "mcdiarmid"


def _subset_intervals(
    counts: IntMatrix, totals: IntMatrix, level: float
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the intervals of single classes on the event of `subset_clopper_pearson`.

    A class and its complement are two of the subsets: Clopper-Pearson at the level of
    one subset on either side.
    """
    low = unchecked.clopper_pearson_lower(counts, totals, level)
    high = 1.0 - unchecked.clopper_pearson_lower(totals - counts, totals, level)
    return low, high


def largest_radius(radius: FloatArray, bin_counts: IntArray) -> float:
    """Return the largest radius of a bin that has rows; the trivial one if none has."""
    some = bin_counts > 0
    return float((radius[some] if some.any() else radius).max())


class Extremes(NamedTuple):
    """The smallest and the largest radius of bins that have rows, and the trivial one.

    Attributes
    ----------
    smallest, largest : float
    trivial : float
        What no radius exceeds: 2 for vectors, 1 for one probability.
    """

    smallest: float
    largest: float
    trivial: float

    @property
    def is_vacuous(self) -> bool:
        """True if no radius says anything."""
        return self.smallest >= self.trivial


def extremes(radius: FloatArray, bin_counts: IntArray, mode: str) -> Extremes:
    """Return the extreme radii of bins that have rows; trivial ones if none has."""
    some = bin_counts > 0
    shown = radius[some] if some.any() else radius
    trivial = TRIVIAL_L1 if mode == "canonical" else TRIVIAL_PROBABILITY
    return Extremes(float(shown.min()), float(shown.max()), trivial)


def around(center: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the interval within [0, 1], all of it where there is no center."""
    return np.fmax(center - radius, 0.0), np.fmin(center + radius, 1.0)


# -------------------------------------------------- rows with weights: covariate shift


@dataclass(frozen=True, slots=True)
class WeightedCounts:
    """Weights of the rows of each bin, by label or by event.

    Attributes
    ----------
    sums, squares : ndarray (..., K)
        Sums of the weights and of their squares; the last axis is the label.
    n : ndarray (...)
        Rows in each bin.
    points : ndarray (S,), optional
        Weights that the rows are said to have, for bounds by betting.
    rows_at : ndarray (..., 2, S), optional
        How many rows without and with the event there are at each of them.
    """

    sums: FloatMatrix
    squares: FloatMatrix
    n: IntArray
    points: FloatArray | None = None
    rows_at: FloatArray | None = None

    @property
    def effective(self) -> FloatArray:
        """Effective counts (sum w)^2 / sum w^2 of the bins."""
        return effective_sizes(self.sums.sum(axis=-1), self.squares.sum(axis=-1))

    @property
    def frequencies(self) -> FloatArray:
        """Weighted frequencies, NaN where a bin has no weight."""
        return divide(self.sums, self.sums.sum(axis=-1, keepdims=True))


def weighted_multinomial_radii(
    counts: WeightedCounts,
    weight_bound: float | None,
    n_bins: int,
    alpha: float,
    bound: str,
) -> Radii:
    """Return L1 radii (M,) and intervals (M, K) of weighted label frequencies."""
    n_classes = counts.sums.shape[-1]
    frequencies = counts.frequencies
    if n_classes == 2:
        one = weighted_binomial_radii(counts, weight_bound, n_bins, alpha, bound)
        low = np.column_stack([1.0 - one.high, one.low])
        high = np.column_stack([1.0 - one.low, one.high])
        return Radii(2.0 * one.radius, low, high, one.bound)
    if weight_bound is None:
        name = "weissman, effective counts"
        radius = unchecked.binning_weissman(counts.effective, n_bins, n_classes, alpha)
    else:
        name = "hoeffding, weighted"
        mean = divide(counts.sums.sum(axis=-1), counts.n)
        radius = unchecked.weighted_hoeffding(
            counts.n, mean, weight_bound, n_bins, n_classes, alpha
        )
    radius = np.minimum(radius, TRIVIAL_L1)
    return Radii(radius, *around(frequencies, radius[:, None] / 2.0), name)


def weighted_binomial_radii(
    counts: WeightedCounts,
    weight_bound: float | None,
    n_bins: int,
    alpha: float,
    bound: str,
) -> Radii:
    """Return radii and intervals of one weighted frequency per bin: that of label 1.

    `"auto"` is by betting, which is never wider than Chernoff's bound at half of alpha.
    """
    center = counts.frequencies[..., 1]
    total = counts.sums.sum(axis=-1)
    mean = divide(total, counts.n)
    if weight_bound is None:
        plain = unchecked.binning_weissman(counts.effective, n_bins, 2, alpha) / 2.0
        return _symmetric(center, plain, "weissman, effective counts")
    if bound == "hoeffding":
        settings = (weight_bound, n_bins, 2, alpha)
        plain = unchecked.weighted_hoeffding(counts.n, mean, *settings) / 2.0
        return _symmetric(center, plain, "hoeffding, weighted")
    share = alpha / n_bins
    if bound == "auto":
        bound = "betting"
    if bound == "betting":
        low, high = _by_betting(counts, weight_bound, share)
    elif bound == "chernoff":
        low, high = unchecked.weighted_chernoff(
            counts.n, center, mean, weight_bound, share
        )
    else:
        plain = unchecked.weighted_bernstein(
            counts.n,
            (counts.sums[..., 1], total),
            (counts.squares[..., 1], counts.squares.sum(axis=-1)),
            weight_bound,
            share,
        )
        low, high = around(center, plain)
    radius = np.fmax(center - low, high - center)
    radius = np.where(np.isnan(center), TRIVIAL_PROBABILITY, radius)
    return Radii(radius, low, high, f"{bound}, weighted")


def _by_betting(
    counts: WeightedCounts, weight_bound: float, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each bin's interval from its rows at the points."""
    assert counts.points is not None and counts.rows_at is not None
    stake = np.minimum(counts.points / weight_bound, 1.0)
    rows = counts.rows_at.reshape(-1, 2 * stake.size).astype(np.float64)
    low, high = unchecked.betting_ends(
        np.tile(stake, 2),
        np.repeat([0.0, 1.0], stake.size),
        rows,
        counts.n.reshape(-1).astype(np.float64),
        delta,
    )
    return low.reshape(counts.n.shape), high.reshape(counts.n.shape)


def _symmetric(center: FloatArray, radius: FloatArray, name: str) -> Radii:
    radius = np.minimum(radius, TRIVIAL_PROBABILITY)
    return Radii(radius, *around(center, radius), name)
