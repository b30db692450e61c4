"""Bounds for frequencies of rows that carry weights w(x): covariate shift.

With weights that are the true ratio up to scale, and no larger than a known bound, they
hold in finite samples. Without such a bound there is only an indication: the bound of
as many unweighted rows as the effective counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.sample_weights import divide, effective_sizes
from distfreeuq.binning.radii import (
    TRIVIAL_L1,
    TRIVIAL_PROBABILITY,
    Radii,
    around,
)


@dataclass(frozen=True, slots=True)
class WeightedCounts:
    """Weights of the rows of each bin, by label or by event.

    Attributes
    ----------
    sums, squares : ndarray (..., K)
        Sums of the weights and of their squares; the last axis is the label.
    n : ndarray (...)
        Rows in each bin.
    """

    sums: FloatMatrix
    squares: FloatMatrix
    n: IntArray

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
        radius = bounds.binning_weissman(counts.effective, n_bins, n_classes, alpha)
    else:
        name = "hoeffding, weighted"
        mean = divide(counts.sums.sum(axis=-1), counts.n)
        radius = bounds.weighted_hoeffding(
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

    `"auto"` spends half of alpha on Chernoff's and half on Bernstein's bound, and what
    holds by both is kept.
    """
    center = counts.frequencies[..., 1]
    total = counts.sums.sum(axis=-1)
    mean = divide(total, counts.n)
    if weight_bound is None:
        plain = bounds.binning_weissman(counts.effective, n_bins, 2, alpha) / 2.0
        return _of_radius(center, plain, "weissman, effective counts")
    if bound == "hoeffding":
        settings = (weight_bound, n_bins, 2, alpha)
        plain = bounds.weighted_hoeffding(counts.n, mean, *settings) / 2.0
        return _of_radius(center, plain, "hoeffding, weighted")
    share = (alpha / 2.0 if bound == "auto" else alpha) / n_bins
    low, high = around(center, np.ones(center.shape))
    if bound in ("auto", "chernoff"):
        low, high = bounds.weighted_chernoff(
            counts.n, center, mean, weight_bound, share
        )
    if bound in ("auto", "bernstein"):
        plain = bounds.weighted_bernstein(
            counts.n,
            (counts.sums[..., 1], total),
            (counts.squares[..., 1], counts.squares.sum(axis=-1)),
            weight_bound,
            share,
        )
        least, most = around(center, plain)
        low, high = np.maximum(low, least), np.minimum(high, most)
    radius = np.fmax(center - low, high - center)
    radius = np.where(np.isnan(center), TRIVIAL_PROBABILITY, radius)
    name = "chernoff and bernstein" if bound == "auto" else bound
    return Radii(radius, low, high, f"{name}, weighted")


def _of_radius(center: FloatArray, radius: FloatArray, name: str) -> Radii:
    radius = np.minimum(radius, TRIVIAL_PROBABILITY)
    return Radii(radius, *around(center, radius), name)
