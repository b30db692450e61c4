"""What the weights of rows amount to: effective sizes, shares, weighted means."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray


def effective_sample_size(weights: FloatArray, times: IntArray | None = None) -> float:
    """Return (sum w)^2 / sum w^2: unweighted rows with as much information.

    `times` are the rows with each weight; by default one.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq._numerics.sample_weights import effective_sample_size
    >>> effective_sample_size(np.array([1.0, 1.0, 0.0]))
    2.0
    >>> effective_sample_size(np.array([1.0, 0.0]), np.array([2, 1]))
    2.0
    """
    if times is not None:
        weights, times = weights[times > 0], times[times > 0]
    largest = float(weights.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = weights / largest
    squares = np.square(scaled)
    if times is not None:
        scaled, squares = times * scaled, times * squares
    # not by BLAS, whose threads would stay behind and wait actively
    return float(effective_sizes(scaled.sum(), squares.sum()))


def effective_sizes(sums: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the same from sums of weights and of their squares; 0 without weight."""
    return np.nan_to_num(divide(np.square(sums), squares), nan=0.0)


def largest_share(weights: FloatArray) -> float:
    """Return the largest part of the total weight that one row carries."""
    return float(weights.max() / weights.sum())


def divide(part: FloatArray | IntArray, whole: FloatArray | IntArray) -> FloatArray:
    """Return part / whole, NaN where the whole is nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, np.true_divide(part, whole), np.nan)
