"""Temperature of a discriminator, from rows that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray

_TOLERANCE = 1e-10
_MAX_STEPS = 200


def fit_inverse_temperature(source: FloatArray, target: FloatArray) -> float:
    """Return the factor of log-ratios that makes a discriminator calibrated.

    Minimises the log loss of telling held-out source rows from target rows, both
    samples given the same total weight (the mixture r of paper C), over factors from 0
    (the log-ratios tell nothing: all weights equal) upwards. Labels are smoothed as
    Platt's are, so that samples which are told apart perfectly have a finite optimum;
    both alike, by the smaller sample, so that one log-ratio for all rows tells nothing.

    Parameters
    ----------
    source, target : ndarray (n,), (m,)
        Log-ratios, finite.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.density_ratios.tempering import fit_inverse_temperature
    >>> x = np.random.default_rng(0).normal(size=(2, 4000))  # true log-ratio x - 1/2
    >>> twice = 2.0 * (x[0] - 0.5), 2.0 * (x[1] + 1.0 - 0.5)
    >>> round(fit_inverse_temperature(*twice), 1)
    0.5
    """
    values = np.concatenate([source, -target])  # large is wrong
    sizes = (source.size, target.size)
    pull = np.repeat([0.5 / n for n in sizes], sizes) * values
    smoothed = 1.0 / (min(sizes) + 2)

    def slope(beta: float) -> tuple[float, float]:
        """Return the loss's first derivative, which is increasing, and the second."""
        wrong = special.expit(beta * values)
        first = (pull * (wrong - smoothed)).sum()
        second = (pull * values * wrong * (1.0 - wrong)).sum()
        return float(first), float(second)

    return _root(slope) if slope(0.0)[0] < 0.0 else 0.0


def _root(slope: Callable[[float], tuple[float, float]]) -> float:
    """Return where an increasing function vanishes: Newton's steps, kept in brackets.

    It is negative at zero.
    """
    low, high, beta = 0.0, np.inf, 1.0
    for _ in range(_MAX_STEPS):
        value, derivative = slope(beta)
        low, high = (low, beta) if value > 0.0 else (beta, high)
        step = beta - value / derivative if derivative > 0.0 else np.nan
        if not low <= step <= high:
            step = 2.0 * beta if np.isinf(high) else 0.5 * (low + high)
        if abs(step - beta) <= _TOLERANCE * beta:
            return step
        beta = step
    return beta
