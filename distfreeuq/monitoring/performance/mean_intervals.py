"""Intervals of means, in the limit and at every sample size."""

from __future__ import annotations

import math

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.quantiles import normal_margin
from distfreeuq.bounds import unchecked

Ends = tuple[float, float]
NONE: Ends = (math.nan, math.nan)


def score_interval(
    value: float, variance: float, low: float, high: float, alpha: float
) -> Ends:
    """Return the interval of a mean in [low, high] whose estimate has this variance.

    Wilson's with the number of rows that a share with this variance would have, if half
    a row were different: near the ends of its range a mean varies less, and normal
    intervals are too short there. Of a mean without a range it is the normal one.
    """
    if not math.isfinite(value) or math.isnan(variance):
        return NONE
    z = normal_margin(alpha)
    if not math.isfinite(variance):
        return low, high
    if not (math.isfinite(low) and math.isfinite(high)):
        half = z * math.sqrt(max(variance, 0.0))
        return max(low, value - half), min(high, value + half)
    width = high - low
    share = min(max((value - low) / width, 0.0), 1.0)
    spread = max(variance / width**2, 1e-100)  # rows, squared, are finite
    # spread = (own + 1 / (2 rows)) / rows
    own = share * (1.0 - share)
    rows = (own + math.sqrt(own**2 + 2.0 * spread)) / (2.0 * spread)
    center = (share + z**2 / (2.0 * rows)) / (1.0 + z**2 / rows)
    root = math.sqrt(own / rows + z**2 / (4.0 * rows**2))
    half = z * root / (1.0 + z**2 / rows)
    return low + width * max(center - half, 0.0), low + width * min(center + half, 1.0)


def absolute_sum_interval(
    gaps: FloatArray, covariance: FloatMatrix, alpha: float
) -> Ends:
    """Return the interval of sum_b |g_b| in the limit (theory page, 10.5).

    The signs s of the true gaps are fixed, so that sum |g| = s.g is at most the
    estimate plus one normal error; the estimate exceeds it by at most the sum of the
    errors' absolute values, which is near its mean.
    """
    if not np.isfinite(covariance).all():
        return 0.0, 1.0
    z = normal_margin(alpha)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    half = z * math.sqrt(float(np.abs(covariance).sum()))
    noise = math.sqrt(2.0 / math.pi) * float(spread.sum())
    value = float(np.abs(gaps).sum())
    return max(value - noise - half, 0.0), min(value + half, 1.0)


def bounded_mean_interval(
    values: FloatArray,
    weight: FloatArray,
    weight_bound: float,
    low: float,
    high: float,
    delta: float,
) -> Ends:
    """Return ends of E[w v] / E[w] at every sample size, 0 <= w <= weight_bound.

    v is in [low, high]. Unweighted shares have Clopper and Pearson's interval; others
    the common part of Chernoff's bound and Maurer and Pontil's, at delta / 2 each.
    """
    n, width = values.size, high - low
    total = float(weight.sum())
    if n == 0 or total <= 0.0:
        return low, high
    unit = (values - low) / width
    if bool((weight == weight_bound).all()) and bool(((unit == 0) | (unit == 1)).all()):
        ends = unchecked.clopper_pearson(float(unit.sum()), n, delta)
        return low + width * float(ends[0]), low + width * float(ends[1])
    mean = float(weight @ unit) / total
    below, above = unchecked.weighted_chernoff(
        [n], [mean], [total / n], weight_bound, delta / 2.0
    )
    # w (v - t) has mean zero at the true t and a range of length weight_bound
    error = weight * (unit - mean)
    slack = _ratio_radius(error, weight, weight_bound, delta / 2.0)
    start, stop = max(float(below[0]), mean - slack), min(float(above[0]), mean + slack)
    return low + width * max(start, 0.0), low + width * min(stop, 1.0)


def _ratio_radius(
    error: FloatArray, weight: FloatArray, bound: float, delta: float
) -> float:
    """Return how far the ratio may be off; infinite where the bound says nothing.

    mean(w) |t - mean| is at most Maurer and Pontil's radius at t, and the root of the
    variance at t is at most that at the estimate plus |t - mean| times that of w.
    """
    n = weight.size
    # half of the smallest delta there is rounds to zero
    if n < 2 or delta <= 0.0:
        return math.inf
    at_estimate = unchecked.empirical_bernstein(error, delta, width=bound)
    of_weight = math.sqrt(2.0 * float(weight.var(ddof=1)) * math.log(4.0 / delta) / n)
    room = float(weight.mean()) - of_weight
    return at_estimate / room if room > 0.0 else math.inf


def recall_ends(
    hits: float, rows: float, alpha: float, delta: float
) -> tuple[Ends, Ends]:
    """Return Wilson's and Clopper and Pearson's intervals of a share."""
    if rows == 0:
        return NONE, (0.0, 1.0)
    rate = (hits + 0.5) / (rows + 1.0)
    limit = score_interval(hits / rows, rate * (1.0 - rate) / rows, 0.0, 1.0, alpha)
    exact = unchecked.clopper_pearson(hits, rows, delta)
    return limit, (float(exact[0]), float(exact[1]))
