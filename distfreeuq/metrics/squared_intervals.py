"""Intervals for the l2 calibration error of binned confidences, at every sample size.

Given the confidences, a bin's hits are a sum of independent indicators of mean
frequency q. By Chernoff's bound n kl(hits / n, q) is above x on either side with
probability exp(-x) at most, so that it is stochastically at most log 2 plus a standard
exponential variable; and the sum over B independent bins at most B log 2 plus a gamma
variable. What the frequencies within that budget can make of the error is bounded by
Lagrange's multiplier, of which every value gives a true bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq.metrics.bins import (
    CONFIDENCE,
    HIT,
    WEIGHT,
    check_bins,
    choose_bins,
    debiased_square,
    gap_norm,
    sum_in_cells,
)
from distfreeuq.metrics.calibration_error import read_event
from distfreeuq.metrics.guarantees import squared_error
from distfreeuq.metrics.results import L2ErrorInterval

# Multipliers are looked for between these powers of e; all of them are honest.
_SMALLEST, _LARGEST = -25.0, 12.0
_HALVINGS = 60


def l2_ece_interval(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    level: float = 0.95,
    event: str = "predicted",
    predicted: ArrayLike | None = None,
    classes: Any = None,
) -> L2ErrorInterval:
    """Return an interval for the l2 calibration error, which holds at every size.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        With `predicted`: the confidence in the predicted labels, (n,).
    labels : array_like (n,)
        True labels.
    n_bins, scheme, closed, event, predicted, classes
        As in `ece`.
    level : float

    Returns
    -------
    L2ErrorInterval

    Notes
    -----
    The error is that of these rows' confidences: the root of the mean over the rows of
    the squared gap, in the row's bin, of the mean confidence and the mean true
    frequency of the event. Given the confidences the outcomes are taken to be
    independent, and nothing else: frequencies may differ within a bin, and bins of
    equal mass, which depend on the confidences alone, are as good as fixed ones. The
    lower end is above 0 only if calibration is refuted at that level.

    The interval's length grows with the root of the number of bins that have rows:
    fewer bins make a shorter one, but hide gaps that cancel within a bin. It is
    conservative: at calibrated confidences in 15 bins its upper end is about 1.6 times
    what chi-squared limits would give.

    Takes no weights: hits with weights are no sums of indicators.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, for the error.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq import metrics
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> good, bad = rng.random(5000) < p, rng.random(5000) < p**2
    >>> metrics.l2_ece_interval(p, good, event="class-1")
    <L2ErrorInterval 0.000 to 0.070 level=0.95 n=5000 bins=15>
    >>> found = metrics.l2_ece_interval(p, bad, event="class-1")
    >>> found.low < (1 / 30) ** 0.5 < found.high
    True
    """
    args = Arguments("l2_ece_interval")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    level = args.probability(level, "level")
    rows = read_event(args, probs, labels, predicted, None, classes, event)
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    sums = sum_in_cells(rows, partition.assign(rows.confidence), partition.n_bins)
    filled = sums[sums[:, WEIGHT] > 0.0]
    counts = filled[:, WEIGHT]
    confidence = np.clip(filled[:, CONFIDENCE] / counts, 0.0, 1.0)
    budget = deviation_budget(counts.size, 1.0 - level)
    low, high = error_within(counts, filled[:, HIT], confidence, budget)
    return L2ErrorInterval(
        estimate=float(gap_norm(sums, "l2")),
        debiased=math.sqrt(max(float(debiased_square(sums)), 0.0)),
        low=low,
        high=high,
        level=level,
        n=int(counts.sum()),
        n_bins=counts.size,
        guarantee=squared_error(level, given_edges=not isinstance(how, str)),
    )


def deviation_budget(n_bins: int, alpha: float) -> float:
    """Return what the sum over bins of n kl exceeds with probability alpha at most."""
    return float(n_bins * math.log(2.0) + special.gammainccinv(n_bins, alpha))


def error_within(
    counts: FloatArray, hits: FloatArray, confidence: FloatArray, budget: float
) -> tuple[float, float]:
    """Return bounds of the error over all frequencies whose deviation is in budget."""
    share, n = counts / counts.sum(), counts.sum()
    observed = hits / counts
    ends = frequencies_within(observed, budget / counts)

    def upper(power: float) -> float:
        nu = math.exp(power)
        q = stationary(confidence, observed, nu, ends)
        value = (confidence - q) ** 2 - nu * divergence(observed, q)
        return float(nu * budget / n + share @ value.max(axis=0))

    def minus_lower(power: float) -> float:
        nu = math.exp(power)
        q = stationary(confidence, observed, -nu, ends)
        value = (confidence - q) ** 2 + nu * divergence(observed, q)
        return float(nu * budget / n - share @ value.min(axis=0))

    low, high = max(-least(minus_lower), 0.0), min(least(upper), 1.0)
    return math.sqrt(low), math.sqrt(high)


def least(function: Callable[[float], float]) -> float:
    """Return the smallest value of a function of a multiplier's logarithm."""
    from scipy import optimize

    found = optimize.minimize_scalar(
        function, bounds=(_SMALLEST, _LARGEST), method="bounded"
    )
    return float(found.fun)


def frequencies_within(y: FloatArray, most: FloatArray) -> FloatMatrix:
    """Return the ends of all q with kl(y, q) <= most, rounded outwards: shape (2, B).

    A bin cannot have more than the whole budget. That costs nothing, and bounds what
    multipliers alone leave wide: one bin of all rows, or hits that never fail.
    """
    ends = []
    for outer in (np.zeros_like(y), np.ones_like(y)):
        inner = y.copy()
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            inside = divergence(y, middle) <= most
            inner = np.where(inside, middle, inner)
            outer = np.where(inside, outer, middle)
        ends.append(outer)
    return np.array(ends)


def stationary(
    c: FloatArray, y: FloatArray, nu: float, ends: FloatMatrix
) -> FloatMatrix:
    """Return where (c - q)^2 - nu kl(y, q) may be extreme between ends: shape (5, B).

    Its derivative times q (1 - q) is a cubic; the roots are a matrix's eigenvalues.
    """
    companion = np.zeros((c.size, 3, 3))
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    companion[:, 0, 2] = 0.5 * nu * y
    companion[:, 1, 2] = -c - 0.5 * nu
    companion[:, 2, 2] = 1.0 + c
    roots = np.linalg.eigvals(companion).real.T
    return np.concatenate([np.clip(roots, *ends), ends])


def divergence(y: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of coins, infinite where q forbids y."""
    return np.asarray(special.rel_entr(y, q) + special.rel_entr(1.0 - y, 1.0 - q))
