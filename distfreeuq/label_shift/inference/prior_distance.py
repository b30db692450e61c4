"""What estimated weights can cost: total variation of the target prior.

It is bounded over a region of the weights, or from counted predictions: for the true
weights w the vector C_hat w - mu_hat is a mean of independent terms, and zero but for
noise, so that no union over weights is paid for, only one over sets of predicted
classes (theory page, 4.13).
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.proportion_caps import prior_caps
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.inference.vertices import support_function

_MAX_CLASSES_FOR_SUBSETS = 7
_MAX_CLASSES_FOR_PROGRAMS = 100

# Parts of delta: the noise of all sets of predictions together has the half, the noise
# of the label frequencies, the caps and the box of the source prior a sixth each.
_HALF, _SIXTH = 1.0 / 2.0, 1.0 / 6.0


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


# ----------------------------------------------------------- from counted predictions


@on_one_blas_thread
def total_variation_of_counts(
    confusion: Confusion, used: FloatArray, delta: float
) -> float:
    """Return a bound of TV(q_used, q) that fails with probability at most delta.

    Parameters
    ----------
    confusion : Confusion
        Of counted predictions, on rows from which `used` may have been estimated.
    used : ndarray (K,)
        Weights on any scale; q_used is in proportion to used * p, p the true source
        prior.
    delta : float

    Returns
    -------
    float
        At most 1, which it is if a class has no source rows or predictions do not tell
        the classes apart.
    """
    joint, n, m = confusion.joint, confusion.n, confusion.m
    if isinstance(joint, ClassMatrix):  # most classes have no rows
        return 1.0
    joint = np.asarray(joint, dtype=np.float64)
    counts = joint.sum(axis=0)
    mass = float(used @ counts)
    if not counts.all() or not 0.0 < mass < np.inf:
        return 1.0
    inverse = _inverse(joint / counts)
    if inverse is None:
        return 1.0
    n_classes = counts.size
    caps = prior_caps(confusion, _SIXTH * delta)
    low, high = unchecked.clopper_pearson(
        counts, np.full(n_classes, float(n)), _SIXTH * delta / n_classes
    )
    # of the true weights: the largest, and the mean of their squares in the source
    ends = caps.high / low
    top, square = float(ends.max()), caps.largest(ends)
    noise = noise_of_sets(n_classes, n, m, square, top, _HALF * delta)
    of_labels = noise_of_labels(n, square, top, _SIXTH * delta)
    shift = joint @ (used / mass) - confusion.frequencies
    length = float(np.abs(shift).sum()) + noise
    limits = ProportionLimits(caps.high, low, high)
    return total_variation_by_noise(
        inverse, counts / n, used * (n / mass), limits, length, of_labels
    )


def noise_of_sets(
    n_classes: int, n: int, m: int, square: float, top: float, delta: float
) -> float:
    """Return a bound of the l1 norm of C_hat w - mu_hat for the true weights.

    `square` is their mean square in the source and `top` the largest. A sum over each
    of the 2^K sets of predictions, by Bernstein's inequality.
    """
    return _bernstein(
        n_classes * math.log(2.0) - math.log(delta),
        square / n + 1.0 / m,
        max((top + 1.0) / n, 2.0 / m),
    )


def noise_of_labels(n: int, square: float, top: float, delta: float) -> float:
    """Return a bound of |p_hat.w - 1| for the true weights."""
    spread = max(square - 1.0, 0.0) / n
    return _bernstein(-math.log(delta / 2.0), spread, max(top, 1.0) / n)


class ProportionLimits(NamedTuple):
    """Limits of the true class proportions: q <= cap, low <= p <= high."""

    cap: FloatArray
    low: FloatArray
    high: FloatArray


def total_variation_by_noise(
    inverse: FloatMatrix,
    p: FloatArray,
    weight: FloatArray,
    limits: ProportionLimits,
    length: float,
    of_labels: float,
) -> float:
    """Return a bound of TV(weight * p_true normalised, q); no probability is in it.

    Parameters
    ----------
    inverse : ndarray (K, K)
        Of the class-wise shares of predictions in the sample.
    p : ndarray (K,)
        Label frequencies of the sample.
    weight : ndarray (K,)
        With p.weight = 1.
    limits : ProportionLimits
    length : float
        At least |C_hat (weight - w)|_1.
    of_labels : float
        At least |p.w - 1|.
    """
    cap, low, high = limits
    off = np.maximum(high - p, p - low)
    # a class costs what its row of the inverse lets through, or its caps
    factor = (high + off) / p
    apart = np.maximum(cap, high * weight) + off * np.maximum(cap / low, weight)
    passed = np.abs(inverse) * factor[:, None]
    cost = _cheapest(passed, factor, apart, length)
    return min(1.0, 0.5 * (cost + of_labels))


def _inverse(conditional: FloatMatrix) -> FloatMatrix | None:
    """Return the inverse of the class-wise shares of predictions, if there is one."""
    try:
        inverse = np.linalg.inv(conditional)
    except np.linalg.LinAlgError:
        return None
    gap = np.abs(inverse @ conditional - np.eye(len(inverse))).max()
    return inverse if gap < 1e-6 else None


def _bernstein(log_inverse: float, variance: float, largest: float) -> float:
    """Return t with P(sum >= t) <= exp(-log_inverse) for a sum of centred terms."""
    linear = log_inverse * largest / 3.0
    return linear + math.sqrt(linear**2 + 2.0 * log_inverse * variance)


def _cheapest(
    passed: FloatMatrix, factor: FloatArray, apart: FloatArray, length: float
) -> float:
    """Return the smallest cost when classes that are known worst count by their caps.

    The others cost at most the largest column sum of `passed` times the length of what
    is passed on; how many of the worst are taken apart may look at all of these, which
    hold at once.
    """
    order = np.argsort(factor, kind="stable")
    columns = np.cumsum(passed[order], axis=0).max(axis=1)
    inside = length * np.concatenate([[0.0], columns])
    outside = np.concatenate([np.cumsum(apart[order][::-1])[::-1], [0.0]])
    return float((inside + outside).min())
