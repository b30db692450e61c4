"""One exponential inequality for a weighted sum of independent bounded rows in strata.

If values z of a stratum lie at most c below a number a that was fixed without them,
exp(x l - psi(l) x^2) <= 1 + l x for x >= -1 and 0 <= l < 1 (Fan, Grama and Liu, 2015)
gives E exp(l (z - E z) / c - psi(l) (z - a)^2 / c^2) <= 1 with psi(l) = -ln(1 - l) - l.
The product over all rows bounds sum_j q_j (mean_j - E mean_j), and needs no union over
the strata and no known variances (theory page, 10.3).
"""

from __future__ import annotations

import math

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix


def bernstein_exponents(
    weights: FloatArray,
    counts: FloatArray,
    squares: FloatArray,
    reach: FloatArray,
    speed: float | FloatMatrix,
) -> FloatArray:
    """Return each stratum's term psi(speed q_j c_j / n_j) S_j / c_j^2.

    Of shape (J,); (S, J) for speeds of shape (S, 1).
    """
    shapes = (weights.shape, squares.shape, np.shape(speed))
    out = np.zeros(np.broadcast_shapes(*shapes))
    varies = (squares > 0.0) & (reach > 0.0) & (counts > 0.0)
    safe_reach = np.where(varies, reach, 1.0)
    with np.errstate(over="ignore"):
        load = speed * weights * safe_reach / np.where(varies, counts, 1.0)
        np.multiply(_psi(load), squares / safe_reach**2, out=out, where=varies)
    return out


def two_sided_log_term(delta: float) -> float:
    """Return ln(2 / delta), infinite where a part of delta rounds to zero."""
    return math.log(2.0) - math.log(delta) if delta > 0.0 else math.inf


def _psi(x: FloatArray) -> FloatArray:
    """Return -ln(1 - x) - x, infinite from 1 on."""
    below = x < 1.0
    inner = np.where(below, x, 0.0)
    # of small numbers the series, which loses no digits
    exact = -np.log1p(-inner) - inner
    series = inner * inner * (0.5 + inner / 3.0)
    return np.where(below, np.where(inner < 1e-5, series, exact), np.inf)
