"""Confidence intervals of the weights: from a covariance, or from resampled weights."""

from __future__ import annotations

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix


def standard_errors(covariance: FloatMatrix | None, n_classes: int) -> FloatArray:
    """Return the root of the diagonal; +inf without a covariance."""
    if covariance is None:
        return np.full(n_classes, np.inf)
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def normal_intervals(
    center: FloatArray | None, std_err: FloatArray, alpha: float
) -> FloatMatrix:
    """Return center -+ z std_err cut off at zero, shape (K, 2); [0, inf) if unknown."""
    if center is None:
        center = np.zeros(std_err.size)
    margin = float(special.ndtri(1.0 - alpha / 2.0)) * std_err
    ends = np.column_stack([center - margin, center + margin])
    return np.asarray(np.maximum(ends, 0.0))


def percentile_intervals(replicates: FloatMatrix, alpha: float) -> FloatMatrix:
    """Return the central 1 - alpha of resampled weights, shape (K, 2).

    Parameters
    ----------
    replicates : ndarray (B, K)
        A row of NaN is a resample without a solution. It could lie anywhere, so it
        counts as zero for the lower end and as infinite for the upper one.
    alpha : float
    """
    unsolved = np.isnan(replicates)
    low = np.where(unsolved, 0.0, replicates)
    high = np.where(unsolved, np.inf, replicates)
    # order statistics, not averages of two: an infinite one must not make a NaN
    return np.column_stack(
        [
            np.quantile(low, alpha / 2.0, axis=0, method="lower"),
            np.quantile(high, 1.0 - alpha / 2.0, axis=0, method="higher"),
        ]
    )
