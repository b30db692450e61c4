"""Union thresholds: sets valid for every weight in a confidence region at once.

If the true weights lie in W with probability 1 - delta, then tau_W(y), the largest
threshold over W, gives coverage of at least 1 - alpha - delta, even if W was computed
from the calibration rows themselves: on that event the union sets contain the sets of
the true weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.quantiles import SLACK
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.inference.vertices import support_function


def union_thresholds(
    scores: FloatArray, labels: IntArray, region: Box | Polytope, alpha: float
) -> FloatArray:
    """Return the largest label-shift threshold over the region, shape (K,).

    For class y it is the smallest score t at which no weight in the region lacks mass:
    max_w sum_k w_k c_k(t) <= 0 with c_k(t) = (1 - alpha)(n_k + 1{k = y}) - N_k(t),
    where N_k(t) counts class k's scores up to t. The maximum (a linear program; a look
    at the corners for boxes and few classes) decreases in t, so that a search finds it.
    The thresholds of the classes lie close together: each search starts from the last
    one's answer.
    """
    n_classes, support = region.n_classes, support_function(region)
    candidates = np.unique(scores)
    by_class = [np.sort(scores[labels == k]) for k in range(n_classes)]
    counts = np.array([own.size for own in by_class], dtype=np.float64)
    thresholds = np.full(n_classes, np.inf)
    found = candidates.size // 2
    for y in range(n_classes):
        needed = (1.0 - alpha - SLACK) * (counts + (np.arange(n_classes) == y))

        def enough(index: int, needed: FloatArray = needed) -> bool:
            t = candidates[index]
            seen = [np.searchsorted(own, t, side="right") for own in by_class]
            return support(needed - seen) <= 0.0

        found = _first_true(enough, candidates.size, found)
        if found < candidates.size:
            thresholds[y] = candidates[found]
    return thresholds


def _first_true(holds: Callable[[int], bool], size: int, guess: int) -> int:
    """Return the first index at which a monotone condition holds, `size` if none.

    Gallops from the guess, then bisects.
    """
    low, high = -1, size  # holds nowhere up to `low`, and from `high` on
    step, index = 1, min(max(guess, 0), size - 1)
    while low < index < high:
        if holds(index):
            high, index = index, index - step
        else:
            low, index = index, index + step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
