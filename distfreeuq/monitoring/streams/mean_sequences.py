"""Means of numbers in [0, 1] that arrive one by one, bounded at all times at once.

For x in [0, 1] with mean m, (r / m)^x ((1 - r) / (1 - m))^(1 - x) is convex in x, and
so at most its chord, whose expectation is 1: its product over the rows is a
supermartingale for every r, and so is the average of the products over r by Jeffreys'
Beta(1/2, 1/2). By Ville it ever reaches 1/alpha with probability at most alpha
(Robbins, 1970, for binary x).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray

_JEFFREYS = 0.5
_STEPS = 200


def log_evidence(total: Any, n: Any, mean: float) -> FloatArray:
    """Return the logarithm of the evidence of `n` numbers with this sum against a mean.

    For several sums at once, where these are arrays. inf where the mean allows no such
    numbers.
    """
    misses = np.subtract(n, total)
    mixture = special.betaln(_JEFFREYS + total, _JEFFREYS + misses)
    mixture = mixture - special.betaln(_JEFFREYS, _JEFFREYS)
    likelihood = special.xlogy(total, mean) + special.xlog1py(misses, -mean)
    return np.asarray(mixture - likelihood)


def mean_interval(total: float, n: int, alpha: float) -> tuple[float, float]:
    """Return the means that the numbers are no evidence of 1/alpha against.

    P(the mean is ever outside) <= alpha.
    """
    if n == 0:
        return 0.0, 1.0
    most, share = -math.log(alpha), min(max(total / n, 0.0), 1.0)

    def end(inside: float, outside: float) -> float:
        for _ in range(_STEPS):
            middle = 0.5 * (inside + outside)
            if middle in (inside, outside):
                break
            if log_evidence(total, n, middle) < most:
                inside = middle
            else:
                outside = middle
        return outside

    low = 0.0 if log_evidence(total, n, 0.0) < most else end(share, 0.0)
    high = 1.0 if log_evidence(total, n, 1.0) < most else end(share, 1.0)
    return low, high
