"""The running mean of numbers in [0, 1] whose mean may drift, at all times at once.

Row i has mean m_i given the rows before it; what is bounded is the average of
m_1, ..., m_t. For every l > 0 two processes begin at 1 and are at most a
supermartingale, S being the sum of the rows and V that of (x_i - their mean before)^2:

    exp(l S - t log(1 + m (e^l - 1)))          whose t-th factor has mean at most one as
                                               e^(lx) is below its chord, and Jensen
                                               gathers the m_i into their average m
    exp(l (S - t m) - V (-log(1 - l) - l))     (l < 1; Fan, Grama and Liu, 2015; Howard
                                               et al., 2021)

The second knows when numbers vary less than binary ones of the same mean. Averages over
many l, chosen in advance, are evidence against smaller means than m: by Ville it ever
reaches 1/alpha with probability at most alpha. Theory page, 11.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, IntArray

# Each is the root of two times the next: whatever the best rate is, one of them is
# within a factor of 1.19 and reaches 0.96 of its exponent.
_RATES = 8.0 * 2.0 ** (-0.5 * np.arange(29))
_VARIANCE_RATES = 2.0 ** (-0.5 * np.arange(1, 23))
_VARIANCE_COSTS = -np.log1p(-_VARIANCE_RATES) - _VARIANCE_RATES

_STEPS = 60
_SLACK = 1e-3
_BLOCK = 4096
"""Rows whose exponents are in memory at once."""


def log_evidence_above(
    total: Any, spread: Any, n: Any, mean: Any, binary: bool
) -> FloatArray:
    """Return the logarithm of the evidence that the running mean exceeds `mean`.

    `total` and `spread` are S and V after `n` rows, numbers or arrays. It does not
    increase with `mean`. Binary numbers have the first process alone.
    """
    given = (np.asarray(a, dtype=np.float64)[..., None] for a in (total, n, mean))
    sums, rows, means = given
    of_chord = _RATES * sums - rows * np.log1p(means * np.expm1(_RATES))
    chord = special.logsumexp(of_chord, axis=-1) - math.log(_RATES.size)
    if binary:
        return np.asarray(chord)
    varied = np.asarray(spread, dtype=np.float64)[..., None]
    of_variance = _VARIANCE_RATES * (sums - rows * means) - _VARIANCE_COSTS * varied
    variance = special.logsumexp(of_variance, axis=-1) - math.log(_VARIANCE_RATES.size)
    return np.asarray(np.logaddexp(chord, variance) - math.log(2.0))


def _needed(alpha: float) -> float:
    """Return log(1/alpha); no evidence is enough for the half of the least double."""
    return -math.log(alpha) if alpha > 0.0 else math.inf


def first_above(
    totals: FloatArray,
    spreads: FloatArray,
    n: IntArray,
    mean: float | FloatArray,
    alpha: float,
    binary: bool,
) -> int | None:
    """Return the first row after which the evidence is 1/alpha or more; None if none.

    `mean` is one number, or one after each row. Evidence is computed only where the
    best of all rates would be enough: of the first process it gives t KL(S/t, m), of
    the second a + V log(V / (a + V)) with a = S - t m.
    """
    most = _needed(alpha)
    means = np.broadcast_to(mean, totals.shape)
    share = np.minimum(totals / n, 1.0)
    best = special.rel_entr(share, means) + special.rel_entr(1.0 - share, 1.0 - means)
    best *= n
    if not binary:
        excess = np.maximum(totals - n * means, 0.0)
        best = np.maximum(best, excess - special.rel_entr(spreads, spreads + excess))
    maybe = np.flatnonzero((share > means) & (best >= most - _SLACK))
    for start in range(0, maybe.size, _BLOCK):
        at = maybe[start : start + _BLOCK]
        found = log_evidence_above(totals[at], spreads[at], n[at], means[at], binary)
        if found.max() >= most:
            return int(at[np.argmax(found >= most)])
    return None


def lower_ends(
    totals: Any, spreads: Any, n: Any, alpha: float, binary: bool
) -> FloatArray:
    """Return the least running means that there is no evidence of 1/alpha above.

    P(the running mean is ever below) <= alpha. Zero before the first row.
    """
    totals, n = np.asarray(totals, dtype=np.float64), np.asarray(n, dtype=np.float64)
    most = _needed(alpha)
    low = np.zeros(totals.shape)
    high = np.minimum(totals / np.maximum(n, 1.0), 1.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        above = log_evidence_above(totals, spreads, n, middle, binary) >= most
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(low)


def upper_ends(
    totals: Any, spreads: Any, n: Any, alpha: float, binary: bool
) -> FloatArray:
    """Return the largest: the lower ends of one minus the numbers."""
    misses = np.maximum(np.subtract(n, totals), 0.0)
    return np.asarray(1.0 - lower_ends(misses, spreads, n, alpha, binary))


def running_sums(
    values: FloatArray, total: float, spread: float, before: int
) -> tuple[FloatArray, FloatArray]:
    """Return S and V after each of these rows, which come after `before` others.

    What a row is compared with is the mean of those before it and of one half more.
    """
    totals = np.cumsum(np.append(total, values))
    expected = (totals[:-1] + 0.5) / np.arange(before + 1, before + 1 + values.size)
    squares = (values - np.minimum(expected, 1.0)) ** 2
    return totals[1:], np.cumsum(np.append(spread, squares))[1:]
