"""What predictions of both samples say of the target's weights and proportions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from distfreeuq._base.array_types import ArrayLike, FloatArray


def interval_elimination(
    lower: ArrayLike, upper: ArrayLike, mu_low: ArrayLike, mu_high: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Intervals of class weights by Gaussian elimination in interval arithmetic.

    If a confusion matrix C lies between `lower` and `upper`, the frequencies mu of the
    target's predictions between `mu_low` and `mu_high`, and C w = mu, then each weight
    lies in its interval: every step of the elimination is done with intervals that hold
    all its results.

    Parameters
    ----------
    lower, upper : array_like (K, K)
        Ends of the cells of the confusion matrix, rows by predicted class.
    mu_low, mu_high : array_like (K,)
        Ends of the frequencies of the predictions in the target.

    Returns
    -------
    low, high : ndarray (K,)
        [0, inf) for all classes if an interval to be divided by holds zero.

    Notes
    -----
    What the published PAC sets under label shift use. It encloses the exact region of
    the theory page, 4.3, and is often much larger: the steps take the same interval for
    different numbers.

    References
    ----------
    Si, Park, Lee, Dobriban and Bastani (2024), "PAC prediction sets under label shift",
    ICLR.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> low, high = bounds.interval_elimination(
    ...     [[0.4, 0.1], [0.1, 0.4]], [[0.42, 0.11], [0.11, 0.42]],
    ...     [0.6, 0.38], [0.62, 0.4])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([1.25, 0.53], [1.42, 0.7])
    """
    low = np.column_stack([np.asarray(lower, float), np.asarray(mu_low, float)])
    high = np.column_stack([np.asarray(upper, float), np.asarray(mu_high, float)])
    k = low.shape[0]
    nothing = np.zeros(k), np.full(k, np.inf)
    for pivot in range(k):
        if low[pivot, pivot] <= 0.0 <= high[pivot, pivot]:
            return nothing
        below, right = slice(pivot + 1, k), slice(pivot, k + 1)
        inverse = sorted((1.0 / low[pivot, pivot], 1.0 / high[pivot, pivot]))
        factor = _product(
            (low[below, pivot], high[below, pivot]), (inverse[0], inverse[1])
        )
        taken = _product(
            (factor[0][:, None], factor[1][:, None]),
            (low[pivot, right], high[pivot, right]),
        )
        low[below, right] -= taken[1]
        high[below, right] -= taken[0]
    found_low, found_high = np.empty(k), np.empty(k)
    for row in range(k - 1, -1, -1):
        later = slice(row + 1, k)
        taken = _product(
            (low[row, later], high[row, later]), (found_low[later], found_high[later])
        )
        rest = low[row, k] - taken[1].sum(), high[row, k] - taken[0].sum()
        ends = sorted((1.0 / low[row, row], 1.0 / high[row, row]))
        one_low, one_high = _product(rest, (ends[0], ends[1]))
        found_low[row], found_high[row] = max(float(one_low), 0.0), float(one_high)
    return found_low, found_high


def _product(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the interval of all products of numbers from two intervals."""
    corners = [a * b for a in one for b in other]
    least, most = corners[0], corners[0]
    for corner in corners[1:]:
        least, most = np.minimum(least, corner), np.maximum(most, corner)
    return least, most


def stratified_chernoff(mean: float, largest_weight: float, delta: float) -> float:
    r"""Share below which a stratified mean lies with probability at most delta.

    S = sum_k q_k M_k / n_k with independent binomial M_k, of expectation at least
    `mean`, has

    .. math:: P(S \le s) \le \exp(-[s \ln(s / \mathrm{mean}) - s + \mathrm{mean}] /
       \max_k (q_k / n_k)), \quad s \le \mathrm{mean}:

    no row weighs more than `largest_weight` = max_k q_k / n_k, and few heavy rows vary
    more than many light ones.

    Parameters
    ----------
    mean : float
        In (0, 1).
    largest_weight : float
        An upper bound of max_k q_k / n_k.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The s whose bound is delta; -1 if no share is so rare.

    Notes
    -----
    Theory page, 5.1: for coverage given the calibration rows with a target prior q.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(bounds.stratified_chernoff(0.1, 0.001, 0.05), 4)
    0.0765
    """
    from scipy.optimize import brentq

    spent = -largest_weight * math.log(delta)
    if spent >= mean:
        return -1.0

    def excess(s: float) -> float:
        return s * math.log(s / mean) - s + mean - spent

    tiny = 1e-300
    if excess(tiny) <= 0.0:
        return 0.0
    root = float(brentq(excess, tiny, mean, xtol=1e-15, rtol=1e-14))
    return root * (1.0 - 1e-12)
