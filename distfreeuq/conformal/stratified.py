"""Training-conditional thresholds for a known target prior: a bound for each class."""

from __future__ import annotations

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray, IntArray


def stratified_pac_threshold(
    scores: FloatArray,
    labels: IntArray,
    target_prior: FloatArray,
    alpha: float,
    delta: float,
) -> float:
    """Return the smallest t with sum_k q_k CP_low(N_k(t), n_k, delta / K) >= 1 - alpha.

    Coverage at t is sum_k q_k F_k(t); given the labels, class k's count of scores up to
    t is binomial. Coverage is monotone in t, so that failing needs the pointwise bound
    to fail at one point only, and no union over t is paid for.
    """
    active = np.flatnonzero(target_prior > 0)
    by_class = [np.sort(scores[labels == k]) for k in active]
    counts = np.array([own.size for own in by_class], dtype=np.float64)
    prior = target_prior[active] / target_prior[active].sum()
    candidates = np.unique(scores)
    low, high = -1, candidates.size
    while high - low > 1:
        middle = (low + high) // 2
        t = candidates[middle]
        hits = np.array([np.searchsorted(own, t, "right") for own in by_class], float)
        enough = prior @ bounds.clopper_pearson_lower(hits, counts, delta / active.size)
        low, high = (low, middle) if enough >= 1.0 - alpha else (middle, high)
    return float(candidates[high]) if high < candidates.size else np.inf


def expected_excess(
    counts: IntArray, target_prior: FloatArray, alpha: float, delta: float
) -> float:
    """Return how far beyond 1 - alpha the empirical coverage will have to be.

    From counts alone, as if every class had the same share of scores up to the
    threshold: the choice between procedures must not look at the scores.
    """
    active = target_prior > 0
    prior = target_prior[active] / target_prior[active].sum()
    n = counts[active].astype(np.float64)
    low, high = 0.0, alpha

    def bound(excess: float) -> float:
        hits = (1.0 - alpha + excess) * n
        return float(
            prior @ bounds.clopper_pearson_lower(hits, n, delta / active.sum())
        )

    if bound(high) < 1.0 - alpha:
        return np.inf
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if bound(middle) >= 1.0 - alpha else (middle, high)
    return high
