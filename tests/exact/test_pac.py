"""Coverage given the calibration rows, exactly: all samples of a finite law enumerated.

The claim is that coverage is below 1 - alpha with probability at most delta over the
calibration draw. On a law of few scores the samples are counts, their probabilities
multinomial, and the probability of failing a finite sum.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

import distfreeuq as dfu
from tests.exact.search import assert_caught, assert_holds

EXAMPLES = 60


class Law(NamedTuple):
    """Masses of the scores 0, 1/4, 2/4 in 24ths; a sample size, and the levels."""

    masses: tuple[int, ...]
    n: int
    alpha: Fraction
    delta: Fraction


def _masses() -> st.SearchStrategy[tuple[int, ...]]:
    cuts = st.lists(st.integers(0, 24), min_size=2, max_size=2).map(sorted)
    return cuts.map(lambda c: (c[0], c[1] - c[0], 24 - c[1]))


LAWS = st.builds(
    Law,
    masses=_masses(),
    n=st.integers(1, 12),
    alpha=st.sampled_from([Fraction(k, 24) for k in (2, 4, 6, 8, 12, 16, 20)]),
    delta=st.sampled_from([Fraction(k, 20) for k in (1, 2, 4, 8, 12)]),
)


def samples(n: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Yield all counts of n rows in these cells."""
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in samples(n - first, cells - 1):
            yield (first, *rest)


def multinomial(counts: tuple[int, ...], masses: tuple[int, ...]) -> Fraction:
    """Return the probability of the counts, exactly."""
    total, n = sum(masses), sum(counts)
    ways = math.factorial(n)
    for count in counts:
        ways //= math.factorial(count)
    product = math.prod(m**c for m, c in zip(masses, counts, strict=True))
    return Fraction(ways * product, total**n)


Threshold = Callable[[tuple[int, ...], float, float], float]
"""From counts of the scores 0, 1/4, 2/4, with alpha and delta, to a threshold."""


def probability_of_failing(law: Law, threshold: Threshold) -> Fraction:
    """Return the probability that coverage is below 1 - alpha."""
    total = sum(law.masses)
    failing = Fraction(0)
    for counts in samples(law.n, len(law.masses)):
        t = threshold(counts, float(law.alpha), float(law.delta))
        covered = sum(m for j, m in enumerate(law.masses) if j / 4 <= t)
        if Fraction(covered, total) < 1 - law.alpha:
            failing += multinomial(counts, law.masses)
    return failing


def fails_too_often(threshold: Threshold) -> Callable[[Law], bool]:
    return lambda law: (
        probability_of_failing(law, threshold) > law.delta + Fraction(1, 10**9)
    )


@lru_cache(maxsize=100_000)
def split_threshold(counts: tuple[int, ...], alpha: float, delta: float) -> float:
    scores = np.repeat(np.arange(len(counts)) / 4, counts)
    probs = np.column_stack([1.0 - scores, scores])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.SmallCalibrationWarning)
        fit = dfu.split_conformal(
            probs,
            np.zeros(scores.size, dtype=int),
            alpha=alpha,
            confidence=1.0 - delta,
            score="lac",
        )
    return float(fit.thresholds[0])


def test_split_sets_with_confidence():
    assert_holds(LAWS, fails_too_often(split_threshold), EXAMPLES)


def test_the_marginal_rank_is_caught():
    def marginal(counts: tuple[int, ...], alpha: float, delta: float) -> float:
        scores = np.repeat(np.arange(len(counts)) / 4, counts)
        rank = math.ceil((1.0 - alpha) * (scores.size + 1) - 1e-9)
        return float(scores[rank - 1]) if rank <= scores.size else math.inf

    assert_caught(LAWS, fails_too_often(marginal), EXAMPLES)


def test_a_pac_rank_one_too_low_is_caught():
    def one_less(counts: tuple[int, ...], alpha: float, delta: float) -> float:
        scores = np.repeat(np.arange(len(counts)) / 4, counts)
        rank = max(1, dfu.bounds.pac_rank(scores.size, alpha, delta) - 1)
        return float(scores[rank - 1]) if rank <= scores.size else math.inf

    assert_caught(LAWS, fails_too_often(one_less), EXAMPLES)


# ------------------------------------------------------------ two classes, known priors


class TwoClasses(NamedTuple):
    """Two classes with scores 0 and 1/2: what a class's score is 0 with, in 12ths."""

    low: tuple[int, int]
    source: int  # of class 1, in 12ths
    target: int
    n: int
    alpha: Fraction
    delta: Fraction


TWO_CLASSES = st.builds(
    TwoClasses,
    low=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    source=st.integers(1, 11),
    target=st.integers(1, 11),
    n=st.integers(1, 10),
    alpha=st.sampled_from([Fraction(k, 12) for k in (1, 2, 3, 4, 6, 8)]),
    delta=st.sampled_from([Fraction(k, 20) for k in (1, 2, 4, 8)]),
)


def _cells(case: TwoClasses) -> tuple[int, ...]:
    """Return the masses of (class, score): (0, low), (0, high), (1, low), (1, high)."""
    p = (12 - case.source, case.source)
    return tuple(
        p[k] * part for k in (0, 1) for part in (case.low[k], 12 - case.low[k])
    )


def _coverage(case: TwoClasses, t: float) -> Fraction:
    if t >= 0.5:
        return Fraction(1)
    if t < 0.0:
        return Fraction(0)
    low = (12 - case.target) * case.low[0] + case.target * case.low[1]
    return Fraction(low, 144)


def _by_class(case: TwoClasses, scores: np.ndarray, labels: np.ndarray) -> float:
    from distfreeuq.conformal.thresholds import stratified_pac_threshold

    prior = np.array([12 - case.target, case.target]) / 12
    return stratified_pac_threshold(
        scores, labels, prior, float(case.alpha), float(case.delta)
    )


def _failing(
    case: TwoClasses, threshold: Callable[[TwoClasses, np.ndarray, np.ndarray], float]
) -> Fraction:
    """Return the probability that coverage of the target is below 1 - alpha."""
    failing = Fraction(0)
    for counts in samples(case.n, 4):
        probability = multinomial(counts, _cells(case))
        if not probability:
            continue
        scores = np.repeat([0.0, 0.5, 0.0, 0.5], counts)
        labels = np.repeat([0, 0, 1, 1], counts)
        if _coverage(case, threshold(case, scores, labels)) < 1 - case.alpha:
            failing += probability
    return failing


def test_class_wise_bounds():
    assert_holds(
        TWO_CLASSES, lambda case: _failing(case, _by_class) > case.delta, EXAMPLES
    )


def test_class_wise_frequencies_without_a_bound_are_caught():
    def plug_in(case: TwoClasses, scores: np.ndarray, labels: np.ndarray) -> float:
        shares = [
            np.mean(scores[labels == k] <= 0) if (labels == k).any() else 0.0
            for k in (0, 1)
        ]
        low = (12 - case.target) / 12 * shares[0] + case.target / 12 * shares[1]
        return 0.0 if low >= 1 - case.alpha else 0.5

    assert_caught(
        TWO_CLASSES, lambda case: _failing(case, plug_in) > case.delta, EXAMPLES
    )


# ----------------------------------------- which of two procedures: chosen in advance

# The rare class scores high always, the common one seldom; at the low threshold
# coverage is just below 1 - alpha. Rejection fails where the rare class is short of
# rows, and so it must not be chosen because it is.
N, P1, Q1, ALPHA, DELTA = 5000, 0.018539, 0.098269, 0.1, 0.1
LOW_SHARE = (1.0 - ALPHA) / (1.0 - Q1) - 1e-9


@lru_cache(maxsize=1)
def _failures_by_count() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return counts of the rare class, their probabilities, and each way's failures."""
    counts = np.arange(30, 175)
    chance = stats.binom.pmf(counts, N, P1)
    keep = ((1.0 - Q1) / (1.0 - P1)) / (Q1 / P1)  # of the common class, by rejection
    rejection, by_class = [], []
    for n1 in counts:
        n0 = N - n1
        kept = np.arange(n0 + 1)
        mass = stats.binom.pmf(kept, n0, keep)
        near = mass > 1e-15
        ranks = np.array([_pac_rank(int(k) + int(n1)) for k in kept[near]])
        low_enough = stats.binom.sf(ranks - 1, kept[near], LOW_SHARE)
        rejection.append(float(mass[near] @ low_enough))
        hits = np.arange(n0 + 1, dtype=float)
        bound = dfu.bounds.clopper_pearson_lower(hits, np.full(n0 + 1, n0), DELTA / 2)
        first = int(np.argmax((1.0 - Q1) * bound >= 1.0 - ALPHA))
        enough = (1.0 - Q1) * bound[-1] >= 1.0 - ALPHA
        by_class.append(
            float(stats.binom.sf(first - 1, n0, LOW_SHARE)) if enough else 0
        )
    return counts, chance, np.array(rejection), np.array(by_class)


@cache
def _pac_rank(n: int) -> int:
    return dfu.bounds.pac_rank(n, ALPHA, DELTA)


def _method(n1: int) -> str:
    """Return how the package finds the threshold of a sample with n1 rare rows."""
    labels = np.repeat([0, 1], [N - n1, n1])
    probs = np.column_stack([1.0 - 0.5 * labels, 0.5 * labels])
    priors = dfu.label_weights([1.0 - P1, P1], [1.0 - Q1, Q1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.SmallCalibrationWarning)
        fit = dfu.label_shift_conformal(
            probs,
            labels,
            priors,
            alpha=ALPHA,
            confidence=1.0 - DELTA,
            score="lac",
            rng=np.random.default_rng(0),
        )
    return "rejection" if fit.pac_method.startswith("rejection") else "by class"


def failure(choose: Callable[[int], str]) -> float:
    """Return the probability that coverage is below 1 - alpha."""
    counts, chance, rejection, by_class = _failures_by_count()
    chosen = [choose(int(n1)) == "rejection" for n1 in counts]
    return float(chance @ np.where(chosen, rejection, by_class))


def test_either_procedure_alone_is_valid():
    assert failure(lambda n1: "rejection") == pytest.approx(0.0904, abs=5e-5)
    assert failure(lambda n1: "by class") == pytest.approx(0.0422, abs=5e-5)


def test_the_package_chooses_in_advance():
    assert len({_method(n1) for n1 in (40, 70, 85, 93, 100, 120, 160)}) == 1
    assert failure(_method) <= DELTA


def test_a_choice_by_observed_counts_is_caught():
    """Rejection is chosen where it asks for less, which is where rare rows are few."""

    def by_counts(n1: int) -> str:
        weights = np.array([(1.0 - Q1) / (1.0 - P1), Q1 / P1])
        expected = int(np.array([N - n1, n1]) @ weights / weights.max())
        by_rejection = _pac_rank(expected) / (expected + 1) - (1.0 - ALPHA)
        from distfreeuq.conformal.thresholds import expected_excess

        prior = np.array([1.0 - Q1, Q1])
        by_class = expected_excess(np.array([N - n1, n1]), prior, ALPHA, DELTA)
        return "by class" if by_class < by_rejection else "rejection"

    assert failure(by_counts) > 0.11
