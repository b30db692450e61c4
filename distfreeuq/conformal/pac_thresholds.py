"""Training-conditional thresholds under label shift: coverage for the draw at hand."""

from __future__ import annotations

from typing import Literal

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.quantiles import (
    order_statistics_by_label,
    smallest_order_statistic,
)
from distfreeuq.bounds import unchecked
from distfreeuq.conformal.thresholds import first_true

PacMethod = Literal["class-wise bounds", "rejection"]


def thinned_pac_threshold(
    scores: FloatArray,
    weights: FloatArray,
    bound: float,
    alpha: float,
    delta: float,
    generator: np.random.Generator,
) -> tuple[float, int, int]:
    """Return a training-conditional threshold, its rank, and the number of rows kept.

    Rejection sampling, then the PAC rank: row i is kept with probability w_i / bound.
    If the weights are the true ratio up to scale and nowhere above the bound, the kept
    rows are i.i.d. from the target, and the PAC rank among them is valid for the
    target.
    """
    kept = scores[generator.random(scores.size) * bound < weights]
    rank = unchecked.pac_rank(kept.size, alpha, delta)
    return smallest_order_statistic(kept, rank), rank, int(kept.size)


def stratified_pac_threshold(
    scores: FloatArray,
    labels: IntArray,
    target_prior: FloatArray,
    alpha: float,
    delta: float,
) -> float:
    """Return the smallest t with sum_k q_k CP_low(N_k(t), n_k, delta / K) >= 1 - alpha.

    A training-conditional threshold for a known target prior. Coverage at t is sum_k
    q_k F_k(t); given the labels, class k's count of scores up to t is binomial.
    Coverage is monotone in t, so that failing needs the pointwise bound to fail at one
    point only, and no union over t is paid for.
    """
    active = np.flatnonzero(target_prior > 0)
    by_class = [np.sort(scores[labels == k]) for k in active]
    counts = np.array([own.size for own in by_class], dtype=np.float64)
    prior = target_prior[active] / target_prior[active].sum()
    candidates = np.unique(scores)

    def enough(index: int) -> bool:
        t = candidates[index]
        hits = np.array([np.searchsorted(own, t, "right") for own in by_class], float)
        low = unchecked.clopper_pearson_lower(hits, counts, delta / active.size)
        return bool(prior @ low >= 1.0 - alpha)

    found = first_true(enough, candidates.size, candidates.size // 2)
    return float(candidates[found]) if found < candidates.size else np.inf


def pac_method(
    n: int,
    weights: FloatArray,
    source_prior: FloatArray,
    target_prior: FloatArray,
    alpha: float,
    delta: float,
) -> PacMethod:
    """Return which training-conditional threshold is likely to be the lower one.

    From n and the class proportions that are known in advance, never from the labels'
    counts: the claim of rejection sampling is an average over the counts, and choosing
    it where they suit it would condition on the samples in which it fails most often.

    Parameters
    ----------
    n : int
        Calibration rows.
    weights, source_prior, target_prior : ndarray (K,)
        Known; a class that the source lacks has weight and target prior zero here.
    alpha, delta : float
    """
    expected = int(n * float(source_prior @ weights) / float(weights.max()))
    rank = unchecked.pac_rank(expected, alpha, delta)
    by_rejection = np.inf if rank > expected else rank / (expected + 1) - (1.0 - alpha)
    by_class = expected_excess(n * source_prior, target_prior, alpha, delta)
    return "class-wise bounds" if by_class < by_rejection else "rejection"


def expected_excess(
    counts: FloatArray, target_prior: FloatArray, alpha: float, delta: float
) -> float:
    """Return how far beyond 1 - alpha the empirical coverage will have to be.

    For classes with (about) these counts, as if every class had the same share of
    scores up to the threshold.
    """
    active = target_prior > 0
    prior = target_prior[active] / target_prior[active].sum()
    n = np.asarray(counts, dtype=np.float64)[active]
    low, high = 0.0, alpha

    def bound(excess: float) -> float:
        hits = (1.0 - alpha + excess) * n
        return float(
            prior @ unchecked.clopper_pearson_lower(hits, n, delta / active.sum())
        )

    if bound(high) < 1.0 - alpha:
        return np.inf
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if bound(middle) >= 1.0 - alpha else (middle, high)
    return high


def label_conditional_pac_thresholds(
    scores: FloatArray,
    labels: IntArray,
    counts: IntArray,
    alpha: float,
    delta: float,
) -> FloatArray:
    """Return thresholds (K,) that cover all classes at once with probability 1 - delta.

    Each class's PAC rank is at level delta / K; +inf where it is beyond the class.
    """
    share = delta / counts.size
    ranks = [unchecked.pac_rank(int(n), alpha, share) for n in counts]
    return order_statistics_by_label(scores, labels, np.array(ranks, dtype=np.int64))
