"""What estimated weights can cost: total variation of the target prior."""

from __future__ import annotations

from itertools import product

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.inference.vertices import support_function

_MAX_CLASSES_FOR_SUBSETS = 7
_MAX_CLASSES_FOR_PROGRAMS = 100


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """Return sup |P(A) - Q(A)|, half the L1 distance."""
    return 0.5 * float(np.abs(p - q).sum())


def coverage_with_weights(
    alpha: float, used: FloatArray, true: FloatArray, source_prior: FloatArray
) -> float:
    """Return 1 - alpha - TV(q_used, q): coverage with weights other than the true.

    With q_used proportional to used * p, Theorem 2 of Podkopaev and Ramdas (2021) holds
    exactly for the target q_used, and changing the test law to q costs at most their
    total variation. The weights must be independent of the calibration and test rows.
    """
    implied = used * source_prior / (used @ source_prior)
    target = true * source_prior / (true @ source_prior)
    return 1.0 - alpha - total_variation(implied, target)


def total_variation_bound(
    used: FloatArray,
    region: Box | Polytope,
    prior_low: FloatArray,
    prior_high: FloatArray,
) -> float:
    """Return an upper bound of TV(q_used, q) over a region of w and a box of p.

    Both are probability vectors, so TV = sum (q_used - q)+ = sum (q - q_used)+, and the
    smaller of two upper bounds holds. With few classes also the maximum over subsets A
    of q_used(A) - q(A), one linear program each, which keeps the region's shape.

    Parameters
    ----------
    used : ndarray (K,)
        The estimated weights, on any scale.
    region : Box or Polytope
        Holds the true weights w = q / p.
    prior_low, prior_high : ndarray (K,)
        Box that holds the true source prior p.
    """
    smallest = _extreme_mean(used, prior_low, prior_high)
    largest = -_extreme_mean(-used, prior_low, prior_high)
    if smallest <= 0.0 or region.is_empty:
        return 1.0
    many = used.size > _MAX_CLASSES_FOR_PROGRAMS
    if many and isinstance(region, Polytope):
        box = region.enclosure()
    else:
        box = region.ranges()
    surplus = prior_high @ np.maximum(used / smallest - box.low, 0.0)
    with np.errstate(invalid="ignore"):  # 0 * inf: class absent from both
        deficits = prior_high * np.maximum(box.high - used / largest, 0.0)
    deficit = np.nan_to_num(deficits, nan=0.0, posinf=np.inf).sum()
    bound = min(1.0, float(surplus), float(deficit))
    if used.size <= _MAX_CLASSES_FOR_SUBSETS:
        bound = min(bound, _by_subsets(used / smallest, region, prior_low, prior_high))
    return bound


def _by_subsets(
    scaled: FloatArray, region: Box | Polytope, low: FloatArray, high: FloatArray
) -> float:
    """Return max over A of sum_A p_high w_used/s - min_W sum_A p_low w."""
    support, worst = support_function(region), 0.0
    for members in product([0.0, 1.0], repeat=scaled.size):
        subset = np.array(members)
        gap = float(subset @ (high * scaled)) + support(-subset * low)
        worst = max(worst, gap)
    return worst


def _extreme_mean(values: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the smallest mean of the values over laws between low and high."""
    order = np.argsort(values)
    room = np.maximum(high - low, 0.0)[order]
    left = max(0.0, 1.0 - low.sum())
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    extra = np.clip(left - before, 0.0, room)
    return float(low @ values + extra @ values[order])
