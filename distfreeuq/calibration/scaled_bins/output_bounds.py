"""How far outputs of bins are from the labels' frequencies, and from the map's means.

All arrays have an entry per bin; class-wise those of class 0 come first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.arrays import AnyArray
from distfreeuq._numerics.unit_bins import Intervals
from distfreeuq.binning.radii import Extremes
from distfreeuq.binning.results import BinningResult
from distfreeuq.bounds import unchecked


class BinOutputs(NamedTuple):
    """What is said of the bins' event: its rows, outputs, and frequencies.

    The event is class 1, class-wise each class, or that the top label is right.
    """

    n: IntArray
    hits: FloatArray
    output: FloatArray
    frequency: FloatArray
    low: FloatArray
    high: FloatArray
    width: FloatArray


def outputs_of(binning: BinningResult) -> BinOutputs:
    """Return the bins' numbers, one after another."""
    partition = binning.partition
    if isinstance(partition, tuple):
        place = [(m, k) for k, own in enumerate(partition) for m in range(own.n_bins)]
        at = tuple(np.array(place, dtype=np.int64).T)
        width = np.concatenate([np.diff(own.ends()) for own in partition])
        n = binning.bin_counts[at]
    else:
        assert isinstance(partition, Intervals)
        at = (slice(None), 1) if binning.frequencies.ndim == 2 else (slice(None),)
        width = np.diff(partition.ends())
        n = binning.bin_counts

    def column(table: AnyArray) -> FloatArray:
        return np.asarray(table[at], dtype=np.float64)

    return BinOutputs(
        n=n,
        hits=column(binning.counts),
        output=column(binning.mean_probs),
        frequency=column(binning.frequencies),
        low=column(binning.low),
        high=column(binning.high),
        width=np.asarray(width, dtype=np.float64),
    )


def label_radius(bins: BinOutputs) -> FloatArray:
    """Return how far each output can be from any frequency in its interval; 1 if none.

    No claim is made for bins without rows, whose output is no mean.
    """
    radius = np.maximum(bins.high - bins.output, bins.output - bins.low)
    return np.where(bins.n > 0, np.clip(radius, 0.0, 1.0), 1.0)


def extremes_of(bins: BinOutputs, radius: FloatArray) -> Extremes:
    """Return the smallest and largest radius of bins that have rows."""
    shown = radius[bins.n > 0] if bins.n.any() else radius
    return Extremes(float(shown.min()), float(shown.max()), 1.0)


def map_radius(bins: BinOutputs, alpha: float, *, weighted: bool) -> FloatArray:
    """Return Hoeffding's bound of |output - the map's mean in the bin|, in all bins.

    Parameters
    ----------
    bins : BinOutputs
    alpha : float
        Probability that some bin's bound fails.
    weighted : bool
        Whether the outputs are means of weighted rows, which have no such bound: NaN.
    """
    if weighted:
        return np.full(bins.n.size, np.nan)
    level = math.log(2.0 * bins.n.size / alpha)
    radius = bins.width * np.sqrt(level / (2.0 * np.maximum(bins.n, 1)))
    # a bin's output and its true mean are both within it
    return np.where(bins.n > 0, np.minimum(radius, bins.width), 1.0)


def frequency_intervals(
    bins: BinOutputs, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Return Clopper-Pearson intervals of all bins' frequencies at once, unweighted."""
    hits = bins.hits.astype(np.int64)
    return unchecked.clopper_pearson(hits, bins.n, alpha / bins.n.size)
