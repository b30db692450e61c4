"""Total variation of estimated class proportions, bounded at every sample size.

For the true weights w the vector C_hat w - mu_hat is a mean of independent terms, and
zero but for noise: no union over weights is paid for, only one over sets of predicted
classes. Solved for the weights, it bounds the total variation of the target prior that
estimated ones stand for (theory page, 4.13).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.proportion_caps import prior_caps

# Parts of delta: the noise of all sets of predictions together has the half, the noise
# of the label frequencies, the caps and the box of the source prior a sixth each.
_HALF, _SIXTH = 1.0 / 2.0, 1.0 / 6.0


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
