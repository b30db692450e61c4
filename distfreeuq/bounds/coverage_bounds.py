"""Coverage of conformal sets, and exact binomial intervals."""

import math

import numpy as np
from scipy import special

from distfreeuq._base.array_types import ArrayLike, FloatArray


def beta_coverage_quantile(n: int, rank: int, delta: float) -> float:
    r"""Lower bound on the coverage of one calibration set, at a given confidence.

    For i.i.d. rows with continuous scores, the coverage given the calibration rows of
    the threshold at the ``rank``-th smallest of n scores is Beta(rank, n + 1 - rank);
    with ties it is stochastically larger. The returned c satisfies P(coverage >= c) >=
    1 - delta over the calibration draw.

    Parameters
    ----------
    n : int
        Calibration rows.
    rank : int
        Rank of the threshold; n + 1 means an infinite one, with coverage 1.
    delta : float
        Probability over the calibration draw that the coverage falls below the bound.

    References
    ----------
    Vovk (2012), "Conditional validity of inductive conformal predictors", ACML.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(bounds.beta_coverage_quantile(500, 451, 0.05), 4)
    0.8773
    """
    if rank > n:
        return 1.0
    bound = float(special.betaincinv(float(rank), float(n + 1 - rank), delta))
    return 0.0 if math.isnan(bound) else bound  # where delta is too small for scipy


def pac_rank(n: int, alpha: float, delta: float) -> int:
    r"""Smallest rank that covers 1 - alpha with probability 1 - delta over calibration.

    The smallest k with P(Bin(n, 1 - alpha) >= k) <= delta; n + 1 (an infinite
    threshold) if (1 - alpha)^n > delta, when no order statistic will do.

    Parameters
    ----------
    n : int
        Calibration rows.
    alpha, delta : float
        In (0, 1).

    References
    ----------
    Vovk (2012), "Conditional validity of inductive conformal predictors", ACML,
    Proposition 2a; Wilks (1941) for tolerance limits.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.pac_rank(100, 0.1, 0.05), bounds.pac_rank(20, 0.1, 0.05)
    (96, 21)
    """
    low, high = 0, n + 1  # the tail at `low` exceeds delta, at `high` it is zero
    while high - low > 1:
        middle = (low + high) // 2
        # P(Bin(n, 1 - alpha) >= k) by its incomplete beta integral, from alpha's side:
        # 1 - alpha would lose the digits of a small alpha
        # (as floats: beyond int64 scipy knows no integers)
        tail = float(special.betaincc(float(n + 1 - middle), float(middle), alpha))
        low, high = (middle, high) if tail > delta else (low, middle)
    return high


def pac_smallest_sample(alpha: float, delta: float) -> int:
    """Smallest n for which `pac_rank` is finite: (1 - alpha)^n <= delta.

    Parameters
    ----------
    alpha, delta : float
        In (0, 1).

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.pac_smallest_sample(0.1, 0.05)
    29
    """
    alpha = max(alpha, 1e-300)  # or n would exceed the largest double
    n = max(1, math.floor(math.log(delta) / math.log1p(-alpha)))
    while pac_rank(n, alpha, delta) > n:
        n += max(1, n >> 52)  # the next double, beyond 2^53 rows
    return n


def clopper_pearson(
    k: ArrayLike, n: ArrayLike, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Exact two-sided confidence intervals for binomial probabilities.

    Each covers with probability at least 1 - delta, delta/2 on either side; the ends
    are exactly 0 and 1 for k = 0 and k = n, and n = 0 gives [0, 1].

    Parameters
    ----------
    k, n : int or array_like
        Hits and trials.
    delta : float
        In (0, 1).

    References
    ----------
    Clopper and Pearson (1934), Biometrika 26.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> low, high = bounds.clopper_pearson([0, 3], [10, 10], 0.05)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0667], [0.3085, 0.6525])
    """
    # scipy's functions themselves: statsmodels, which goes through scipy's distribution
    # objects, takes six times as long for the same numbers in a table of a few bins
    hits, trials = np.broadcast_arrays(
        np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    misses = trials - hits
    low = special.betaincinv(np.maximum(hits, 1.0), misses + 1.0, delta / 2.0)
    high = special.betainccinv(hits + 1.0, np.maximum(misses, 1.0), delta / 2.0)
    # scipy knows no answer for some delta below 1e-100, and nothing is known then
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
    return np.where(hits > 0.0, low, 0.0), np.where(misses > 0.0, high, 1.0)
