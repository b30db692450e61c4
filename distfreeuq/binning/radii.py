"""Which bound each bin gets: from counts to radii and intervals, all bins at once.

`"auto"` is the smallest valid one, chosen by the numbers of bins, classes and rows and
by alpha, never by the labels: the exact binomial bound, which is never above
Weissman's, or McDiarmid's where there are so many classes that it is below Weissman's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._numerics.sample_weights import divide
from distfreeuq.bounds.bin_bounds import SMALLEST_LEVEL, subset_level

Bound = Literal["clopper-pearson", "mcdiarmid"]

BOUNDS: tuple[str, ...] = (
    "auto",
    "clopper-pearson",
    "hoeffding",
    "weissman",
    "mcdiarmid",
)
WEIGHTED_BOUNDS: tuple[str, ...] = ("auto", "hoeffding", "chernoff", "bernstein")

TRIVIAL_L1 = 2.0
TRIVIAL_PROBABILITY = 1.0

_BY_COUNT_ALONE = {
    "hoeffding": bounds.binning_hoeffding,
    "weissman": bounds.binning_weissman,
    "mcdiarmid": bounds.binning_mcdiarmid,
}


@dataclass(frozen=True, slots=True)
class Radii:
    """What holds in every bin at once.

    Attributes
    ----------
    radius : ndarray
        Of the L1 distance (M,), or of each probability; at most the trivial 2 or 1.
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
        bound = "weissman"  # what the exact bound falls back to with so many classes
    if bound == "clopper-pearson":
        radius = bounds.subset_clopper_pearson(counts, n_bins, alpha)
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
        low, high = bounds.clopper_pearson(hits, totals, alpha / n_bins)
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
    few = bounds.binning_weissman(1, n_bins, n_classes, alpha)
    many = bounds.binning_mcdiarmid(1, n_bins, n_classes, alpha)
    return "clopper-pearson" if few <= many else "mcdiarmid"


def _subset_intervals(
    counts: IntMatrix, totals: IntMatrix, level: float
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the intervals of single classes on the event of `subset_clopper_pearson`.

    A class and its complement are two of the subsets: Clopper-Pearson at the level of
    one subset on either side.
    """
    low = bounds.clopper_pearson_lower(counts, totals, level)
    high = 1.0 - bounds.clopper_pearson_lower(totals - counts, totals, level)
    return low, high


def largest_radius(radius: FloatArray, bin_counts: IntArray) -> float:
    """Return the largest radius of a bin that has rows; the trivial one if none has."""
    some = bin_counts > 0
    return float((radius[some] if some.any() else radius).max())


def around(center: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the interval within [0, 1], all of it where there is no center."""
    return np.fmax(center - radius, 0.0), np.fmin(center + radius, 1.0)
