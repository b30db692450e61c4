"""Coverage given the calibration rows, exactly: all samples of a finite law enumerated.

The claim is that coverage is below 1 - alpha with probability at most delta over the
calibration draw. On a law of few scores the samples are counts, their probabilities
multinomial, and the probability of failing a finite sum.
"""

from __future__ import annotations

import itertools
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
    from distfreeuq.conformal.pac_thresholds import stratified_pac_threshold

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
        from distfreeuq.conformal.pac_thresholds import expected_excess

        prior = np.array([1.0 - Q1, Q1])
        by_class = expected_excess(np.array([N - n1, n1]), prior, ALPHA, DELTA)
        return "by class" if by_class < by_rejection else "rejection"

    assert failure(by_counts) > 0.11


# --------------------------- the whole procedure: both thresholds and the choice of one


def _weights(case: TwoClasses) -> np.ndarray:
    p = np.array([12 - case.source, case.source]) / 12
    q = np.array([12 - case.target, case.target]) / 12
    return q / p


class _Scripted:
    """Stands for a generator whose uniforms are decided by the test."""

    def __init__(self, uniforms: np.ndarray) -> None:
        self.uniforms = uniforms

    def random(self, size: int) -> np.ndarray:
        assert size == self.uniforms.size
        return self.uniforms


def _keep(case: TwoClasses) -> list[Fraction]:
    """Return the probabilities with which rows of the two classes are kept."""
    p, q = (12 - case.source, case.source), (12 - case.target, case.target)
    weights = [Fraction(q[k], p[k]) for k in (0, 1)]
    return [weight / max(weights) for weight in weights]


def _rejection_fails(case: TwoClasses, counts: tuple[int, ...]) -> Fraction:
    """Return the probability over the thinning that rejection's coverage is short."""
    from distfreeuq.conformal.pac_thresholds import thinned_pac_threshold

    keep, weights = _keep(case), _weights(case)
    scores = np.repeat([0.0, 0.5, 0.0, 0.5], counts)
    row_weights = np.repeat(weights[[0, 0, 1, 1]], counts)
    failing = Fraction(0)
    ranges = [
        range(count + 1) if keep[cell // 2] < 1 else range(count, count + 1)
        for cell, count in enumerate(counts)
    ]
    for kept in itertools.product(*ranges):
        chance = Fraction(1)
        uniforms = []
        for cell, (count, stay) in enumerate(zip(counts, kept, strict=True)):
            k = keep[cell // 2]
            chance *= math.comb(count, stay) * k**stay * (1 - k) ** (count - stay)
            # just below and just above the probability of being kept
            uniforms += [float(k) * (1 - 1e-9)] * stay
            uniforms += [float(k) * (1 + 1e-9)] * (count - stay)
        t, _, n_kept = thinned_pac_threshold(
            scores,
            row_weights,
            float(weights.max()),
            float(case.alpha),
            float(case.delta),
            _Scripted(np.array(uniforms)),
        )
        assert n_kept == sum(kept)
        if _coverage(case, t) < 1 - case.alpha:
            failing += chance
    return failing


def _whole_failing(
    case: TwoClasses, choose: Callable[[TwoClasses, np.ndarray], str]
) -> Fraction:
    """Return the probability that coverage is short: sampling, choice and thinning."""
    failing = Fraction(0)
    for counts in samples(case.n, 4):
        probability = multinomial(counts, _cells(case))
        if not probability:
            continue
        labels = np.repeat([0, 0, 1, 1], counts)
        if choose(case, np.bincount(labels, minlength=2)) == "rejection":
            failing += probability * _rejection_fails(case, counts)
        else:
            scores = np.repeat([0.0, 0.5, 0.0, 0.5], counts)
            if _coverage(case, _by_class(case, scores, labels)) < 1 - case.alpha:
                failing += probability
    return failing


def _in_advance(case: TwoClasses, counts: np.ndarray) -> str:
    from distfreeuq.conformal.pac_thresholds import pac_method

    p = np.array([12 - case.source, case.source]) / 12
    q = np.array([12 - case.target, case.target]) / 12
    alpha, delta = float(case.alpha), float(case.delta)
    return pac_method(int(counts.sum()), _weights(case), p, q, alpha, delta)


SMALL = TWO_CLASSES.filter(lambda case: case.n <= 7)


def test_the_whole_procedure_on_small_samples():
    assert_holds(
        SMALL, lambda case: _whole_failing(case, _in_advance) > case.delta, 3 * EXAMPLES
    )


def test_a_pac_rank_without_rejection_is_caught():
    """The rows are then from the source, and the claim is about the target."""

    def keep_all(case: TwoClasses, scores: np.ndarray, labels: np.ndarray) -> float:
        rank = dfu.bounds.pac_rank(scores.size, float(case.alpha), float(case.delta))
        return float(np.sort(scores)[rank - 1]) if rank <= scores.size else math.inf

    assert_caught(
        TWO_CLASSES, lambda case: _failing(case, keep_all) > case.delta, 10 * EXAMPLES
    )


class Rare(NamedTuple):
    """A rare class that scores high always; coverage of the low threshold is short.

    `rare` is the target's proportion of it over alpha, `fewer` the source's over the
    target's.
    """

    n: int
    rare: float
    fewer: float
    alpha: float
    delta: float

    @property
    def target(self) -> float:
        return self.rare * self.alpha

    @property
    def source(self) -> float:
        return self.fewer * self.target


# Where the two ways ask for about the same, which is where a choice can do harm.
_BALANCED = {
    0.05: ((1000, 6000), (0.1, 0.4)),
    0.1: ((1000, 6000), (0.1, 0.4)),
    0.3: ((20_000, 30_000), (0.01, 0.03)),
}


def _rare(delta: float) -> st.SearchStrategy[Rare]:
    n, fewer = _BALANCED[delta]
    return st.builds(
        Rare,
        n=st.integers(*n),
        rare=st.floats(0.9, 0.99),
        fewer=st.floats(*fewer),
        alpha=st.sampled_from([0.05, 0.1]),
        delta=st.just(delta),
    )


@cache
def _rank(n: int, alpha: float, delta: float) -> int:
    return dfu.bounds.pac_rank(n, alpha, delta)


def _likely(n: int, p: float) -> np.ndarray:
    """Return the counts of a binomial law but for a mass of 1e-9."""
    return np.arange(stats.binom.ppf(5e-10, n, p), stats.binom.isf(5e-10, n, p) + 1)


def _rare_failing(case: Rare, choose: Callable[[Rare, int], str]) -> float:
    """Return the probability that coverage is short, less 1e-8 at most."""
    alpha, delta, q1, p1 = case.alpha, case.delta, case.target, case.source
    low_share = (1.0 - alpha) / (1.0 - q1) - 1e-9
    keep = ((1.0 - q1) / (1.0 - p1)) / (q1 / p1)
    failing = 0.0
    for n1 in _likely(case.n, p1).astype(int):
        n0 = case.n - int(n1)
        if choose(case, int(n1)) == "rejection":
            kept = _likely(n0, keep)
            ranks = np.array([_rank(int(k + n1), alpha, delta) for k in kept])
            fails = stats.binom.pmf(kept, n0, keep) @ stats.binom.sf(
                ranks - 1, kept, low_share
            )
        else:
            first = _first_enough(n0, q1, alpha, delta)
            fails = stats.binom.sf(first - 1, n0, low_share)
        failing += float(stats.binom.pmf(n1, case.n, p1) * fails)
    return failing


def _first_enough(n0: int, q1: float, alpha: float, delta: float) -> int:
    """Return how many low scores of the common class let class-wise bounds stop."""
    low, high = -1, n0 + 1
    while high - low > 1:
        middle = (low + high) // 2
        bound = dfu.bounds.clopper_pearson_lower(
            np.array([float(middle)]), np.array([float(n0)]), delta / 2
        )[0]
        enough = (1.0 - q1) * bound >= 1.0 - alpha
        low, high = (low, middle) if enough else (middle, high)
    return high


def _rare_choice(case: Rare, n1: int) -> str:
    from distfreeuq.conformal.pac_thresholds import pac_method

    p, q = (np.array([1.0 - x, x]) for x in (case.source, case.target))
    return pac_method(case.n, q / p, p, q, case.alpha, case.delta)


def _rare_choice_by_counts(case: Rare, n1: int) -> str:
    from distfreeuq.conformal.pac_thresholds import pac_method

    p, q = (np.array([1.0 - x, x]) for x in (case.source, case.target))
    observed = np.array([case.n - n1, n1]) / case.n
    return pac_method(case.n, q / p, observed, q, case.alpha, case.delta)


@pytest.mark.slow
@pytest.mark.parametrize("delta", list(_BALANCED))
def test_the_choice_with_a_rare_class(delta):
    assert_holds(
        _rare(delta),
        lambda case: _rare_failing(case, _rare_choice) > case.delta,
        EXAMPLES,
    )


@pytest.mark.parametrize("delta", list(_BALANCED))
def test_a_choice_by_counts_is_found_by_the_search(delta):
    """A search finds what the rule of observed counts does, at every level."""
    assert_caught(
        _rare(delta),
        lambda case: _rare_failing(case, _rare_choice_by_counts) > case.delta,
        10 * EXAMPLES,
    )
