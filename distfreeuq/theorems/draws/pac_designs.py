"""Designs for coverage given the calibration rows: probabilities by binomial sums.

Scores take two values. Coverage at the lower one is just below 1 - alpha, so that the
claim fails exactly where the threshold is that value, which it is from some number of
low scores on. That number is found by the public function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import stats

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.label_shift.known_priors import label_weights
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

LOW, HIGH = 0.2, 0.6
"""The two scores."""
_NEGLIGIBLE = 1e-13


def first_low(is_low: Callable[[int], bool], n: int) -> int:
    """Return from how many low scores on the threshold is low; n + 1 if never."""
    if not is_low(n):
        return n + 1
    low, high = -1, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_low(middle) else (middle, high)
    return high


def rows(low_scores: int, n: int) -> tuple[FloatArray, IntArray]:
    """Return probabilities (n, 2) with these scores of class 0, and its labels."""
    scores = np.where(np.arange(n) < low_scores, LOW, HIGH)
    return np.column_stack([1.0 - scores, scores]), np.zeros(n, dtype=np.int64)


def is_low(threshold: float) -> bool:
    """Return whether high scores are not covered."""
    return bool(threshold < HIGH - 1e-9)


def _levels(generator: np.random.Generator) -> tuple[float, float]:
    alpha = float(generator.choice([0.02, 0.05, 0.1, 0.2, 0.4]))
    return alpha, float(generator.choice([0.01, 0.05, 0.1, 0.3]))


def _reached(delta: float) -> Claim:
    return Claim("coverage below 1 - alpha", at_most=delta)


# ------------------------------------------------------------------- exchangeable rows


def split_failure(n: int, alpha: float, delta: float, share: float) -> float:
    """Return P(coverage < 1 - alpha) of split sets; `share` of the scores are low."""

    def low(hits: int) -> bool:
        probs, labels = rows(hits, n)
        fit = split_conformal(
            probs, labels, alpha=alpha, confidence=1.0 - delta, score="lac", rng=0
        )
        return is_low(fit.thresholds[0])

    return float(stats.binom.sf(first_low(low, n) - 1, n, share))


def split_pac_designs(generator: np.random.Generator) -> Design:
    """Return split sets of few to some hundred rows."""
    alpha, delta = _levels(generator)
    n = int(10.0 ** generator.uniform(0.0, 2.7))
    share = 1.0 - alpha - float(10.0 ** generator.uniform(-9.0, -2.5))
    return Design(
        {"n": n, "alpha": alpha, "delta": delta, "low_share": share},
        _reached(delta),
        probability=partial(split_failure, n, alpha, delta, share),
    )


# --------------------------------------------------------------------- class by class


def label_conditional_failure(
    n: int, alpha: float, delta: float, rare: float, shares: tuple[float, float]
) -> float:
    """Return P(some class is covered below 1 - alpha), of two classes."""

    @cache
    def failure(label: int, size: int) -> float:
        if size == 0:
            return 0.0

        def low(hits: int) -> bool:
            probs, _ = rows(hits, size)
            probs = probs if label == 0 else probs[:, ::-1]
            other = np.array([[0.5, 0.5]])
            fit = label_conditional_conformal(
                np.vstack([probs, other]),
                np.append(np.full(size, label), 1 - label),
                alpha=alpha,
                confidence=1.0 - delta,
                score="lac",
                rng=0,
            )
            return is_low(fit.thresholds[label])

        return float(stats.binom.sf(first_low(low, size) - 1, size, shares[label]))

    ones = np.arange(n + 1)
    chance = stats.binom.pmf(ones, n, rare)
    return float(
        sum(
            mass * (1.0 - (1.0 - failure(0, n - k)) * (1.0 - failure(1, k)))
            for k, mass in zip(ones.tolist(), chance, strict=True)
            if mass > _NEGLIGIBLE
        )
    )


def label_conditional_pac_designs(generator: np.random.Generator) -> Design:
    """Return two classes, one of which may be rare."""
    alpha, delta = _levels(generator)
    n = int(generator.integers(2, 41))
    rare = float(10.0 ** generator.uniform(-2.0, -0.3))
    short = 10.0 ** generator.uniform(-9.0, -2.5, size=2)
    shares = (1.0 - alpha - float(short[0]), 1.0 - alpha - float(short[1]))
    return Design(
        {"n": n, "alpha": alpha, "delta": delta, "p_1": rare, "low_shares": shares},
        _reached(delta),
        probability=partial(label_conditional_failure, n, alpha, delta, rare, shares),
    )


# ------------------------------------------------------------ label shift, known priors


def label_shift_failure(
    n: int, alpha: float, delta: float, p: float, q: float, short: float
) -> float:
    """Return P(target coverage < 1 - alpha) of two classes with known priors.

    The rare class 1 has high scores only; coverage at the low score is 1 - alpha less
    `short`. How the threshold is found, and from how many low scores on it is low, is
    asked of the public function for every count of the rare class.
    """
    share = (1.0 - alpha - short) / (1.0 - q)
    keep = min(1.0, ((1.0 - q) / (1.0 - p)) / (q / p))
    keep_rare = min(1.0, (q / p) / ((1.0 - q) / (1.0 - p)))
    priors = label_weights([1.0 - p, p], [1.0 - q, q])

    def fitted(common: int, rare: int, hits: int) -> Any:
        probs, labels = rows(hits, common)
        probs = np.vstack([probs, np.tile([HIGH, 1.0 - HIGH], (rare, 1))])
        labels = np.append(labels, np.ones(rare, dtype=np.int64))
        return label_shift_conformal(
            probs,
            labels,
            priors,
            alpha=alpha,
            confidence=1.0 - delta,
            score="lac",
            rng=0,
        )

    def is_low_with(common: int, rare: int, hits: int) -> bool:
        return is_low(fitted(common, rare, hits).thresholds[0])

    @cache
    def rank(size: int) -> int:
        return bounds.pac_rank(size, alpha, delta)

    def rejection(common: int, rare: int) -> float:
        kept = np.arange(common + 1)
        mass = stats.binom.pmf(kept, common, keep)
        total = 0.0
        for kept_rare in range(rare + 1) if keep_rare < 1.0 else (rare,):
            chance = float(stats.binom.pmf(kept_rare, rare, keep_rare))
            near = mass * chance > _NEGLIGIBLE
            ranks = np.array([rank(int(k) + kept_rare) for k in kept[near]])
            if ranks.size:
                low = stats.binom.sf(ranks - 1, kept[near], share)
                total += chance * float(mass[near] @ low)
        return total

    failure = 0.0
    rare_counts = np.arange(n + 1)
    chance = stats.binom.pmf(rare_counts, n, p)
    near = chance > _NEGLIGIBLE * 100
    for rare, mass in zip(rare_counts[near].tolist(), chance[near], strict=True):
        common = n - rare
        if fitted(common, rare, common).pac_method.startswith("rejection"):
            failure += mass * rejection(common, rare)
        else:
            first = first_low(partial(is_low_with, common, rare), common)
            failure += mass * float(stats.binom.sf(first - 1, common, share))
    return float(failure)


def label_shift_pac_designs(generator: np.random.Generator) -> Design:
    """Return a rare class that is less rare in the target, and scores high."""
    alpha, delta = _levels(generator)
    n = int(10.0 ** generator.uniform(1.5, 3.5))
    # the rare class takes up most of what may be missed
    q = alpha * float(1.0 - 10.0 ** generator.uniform(-2.5, -0.3))
    p = min(0.5, q / float(10.0 ** generator.uniform(0.0, 1.5)))
    short = float(10.0 ** generator.uniform(-9.0, -6.0))
    return Design(
        {"n": n, "alpha": alpha, "delta": delta, "p_1": p, "q_1": q, "short": short},
        _reached(delta),
        probability=partial(label_shift_failure, n, alpha, delta, p, q, short),
    )


# ---------------------------------------------------------------- known, bounded w(x)


def covariate_shift_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    delta: float,
    heavy: float,
    ratio: float,
    short: float,
) -> dict[str, Any]:
    """Draw rows of two weights, 1 and `ratio`; the heavy ones score high."""
    total = heavy * ratio + 1.0 - heavy
    target = heavy * ratio / total
    share = (1.0 - alpha - short) / (1.0 - target)
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        is_heavy = generator.random(n) < heavy
        low = ~is_heavy & (generator.random(n) < share)
        scores = np.where(low, LOW, HIGH)
        fit = covariate_shift_conformal(
            np.column_stack([1.0 - scores, scores]),
            np.zeros(n, dtype=np.int64),
            np.where(is_heavy, ratio, 1.0),
            alpha=alpha,
            score="lac",
            confidence=1.0 - delta,
            weight_bound=ratio,
            rng=generator,
        )
        failed[i] = is_low(fit.thresholds[0])
    return {"coverage below 1 - alpha": failed}


def covariate_shift_pac_designs(generator: np.random.Generator) -> Design:
    """Return few heavy rows that score high."""
    alpha, delta = _levels(generator)
    n = int(10.0 ** generator.uniform(1.0, 2.7))
    ratio = float(10.0 ** generator.uniform(0.0, 2.0))
    target = alpha * float(generator.uniform(0.05, 0.99))
    heavy = target / (target + ratio * (1.0 - target))
    settings: dict[str, Any] = {
        "n": n,
        "alpha": alpha,
        "delta": delta,
        "heavy": heavy,
        "ratio": ratio,
        "short": float(10.0 ** generator.uniform(-9.0, -3.0)),
    }
    return Design(
        settings, _reached(delta), draw=partial(covariate_shift_draw, **settings)
    )
