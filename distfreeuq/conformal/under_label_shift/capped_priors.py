"""Thresholds for every target prior below caps: in finite samples, without programs.

Given the labels' counts, rows are a sample of each class. For a target prior q the
share of the target up to t is estimated by sum_k q_k N_k(t) / n_k, N_k(t) counting
class k's scores up to t; no weight q/p occurs, and so no p (theory page, 4.11).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.quantiles import SLACK, order_statistics_by_label
from distfreeuq.bounds import unchecked
from distfreeuq.conformal.thresholds import first_true
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps


def capped_threshold(
    scores: FloatArray, labels: IntArray, caps: PriorCaps, alpha: float
) -> float:
    """Return the largest stratified threshold over the priors, for all labels.

    For a prior q it is the smallest t with sum_k q_k N_k(t) / (n_k + 1) >= 1 - alpha,
    which covers with probability >= 1 - alpha given the counts. A class without rows
    counts as covered: its label has to be in every set.
    """

    def enough(reached: FloatArray, counts: FloatArray) -> bool:
        covered = np.where(counts > 0, reached / (counts + 1.0), 1.0)
        return caps.largest(1.0 - alpha - SLACK - covered) <= 0.0

    return _smallest(scores, labels, caps, enough)


def capped_pac_threshold(
    scores: FloatArray, labels: IntArray, caps: PriorCaps, alpha: float, delta: float
) -> float:
    """Return a threshold whose coverage is 1 - alpha with probability 1 - delta.

    Provided that the prior is below the caps. It is the smallest t at which the share
    of rows above t, for the worst prior, is at most what a target with a share alpha
    above t would show with probability <= delta.
    """
    counts = np.bincount(labels, minlength=caps.high.size).astype(np.float64)
    densest = max(caps.densest(counts), 1e-300)
    share = unchecked.stratified_chernoff(alpha, densest, delta)

    def enough(reached: FloatArray, counts: FloatArray) -> bool:
        above = (counts - reached) / np.maximum(counts, 1.0)
        return caps.largest(above) <= share

    return np.inf if share < 0 else _smallest(scores, labels, caps, enough)


def capped_class_thresholds(
    scores: FloatArray, labels: IntArray, caps: PriorCaps, alpha: float, delta: float
) -> FloatArray:
    """Return thresholds (K,) that cover 1 - alpha with probability 1 - delta.

    Provided that the prior is below the caps. All classes leave out the same share of
    their rows, so that the mean is known whatever the prior, and only the noise depends
    on it; +inf for classes of too few rows.
    """
    counts = np.bincount(labels, minlength=caps.high.size)
    left_out = np.floor(common_level(counts, caps, alpha, delta) * (counts + 1.0))
    ranks = counts + 1 - left_out.astype(np.int64)
    return order_statistics_by_label(scores, labels, ranks)


def common_level(
    counts: IntArray, caps: PriorCaps, alpha: float, delta: float
) -> float:
    """Return which share a of n_k + 1 rows each class may leave out; 0 if none.

    The share of class k above its threshold then has a Beta law of mean a or less, and
    ln E exp(l B_k) <= -a (n_k + 1) ln(1 - l / (n_k + 1)). With x_k = cap_k / (n_k + 1)
    and G(l) the largest mean of -ln(1 - l x_k) / x_k below the caps, coverage is below
    1 - alpha with probability exp(a G(l) - l alpha) at most: a is the largest that any
    l allows (theory page, 5.2). Classes that leave none out in any case have no part.
    """
    from scipy.optimize import minimize_scalar

    some = (counts + 1.0) * alpha >= 1.0 - SLACK
    x = np.where(some, caps.high / (counts + 1.0), 0.0)
    largest = float(x.max(initial=0.0))
    if largest == 0.0:
        return 0.0

    def minus_level(share: float) -> float:
        step = share / largest  # l, which has to be below 1 / x_k
        slopes = np.zeros(x.size)
        np.divide(-np.log1p(-step * x), x, out=slopes, where=x > 0)
        return -(step * alpha + math.log(delta)) / caps.largest(slopes)

    # any l is right: how closely the best one is found is of no consequence
    found = minimize_scalar(minus_level, bounds=(1e-6, 1.0 - 1e-9), method="bounded")
    return max(0.0, -float(found.fun))


def _smallest(
    scores: FloatArray,
    labels: IntArray,
    caps: PriorCaps,
    enough: Callable[[FloatArray, FloatArray], bool],
) -> float:
    """Return the smallest score at which a condition holds that goes on to hold.

    `scores` are ascending. The condition is one of the counts up to a score, by class,
    and of all counts.
    """
    n_classes = caps.high.size
    counts = np.bincount(labels, minlength=n_classes).astype(np.float64)

    def holds(index: int) -> bool:
        end = int(np.searchsorted(scores, scores[index], side="right"))
        reached = np.bincount(labels[:end], minlength=n_classes)
        return enough(reached.astype(np.float64), counts)

    found = first_true(holds, scores.size, int(0.9 * scores.size))
    return float(scores[found]) if found < scores.size else np.inf
