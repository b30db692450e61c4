"""Intervals of probabilities, exactly: the chance to miss is a finite sum.

Clopper and Pearson's by binomial sums; those of weighted rows, by Hoeffding, Chernoff,
Bernstein and betting, by all counts of rows in few cells, multinomial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import special, stats

from distfreeuq import bounds
from distfreeuq.bounds import betting_bounds
from tests.exact.search import assert_caught, assert_holds

ROUNDING = 1e-9


class Binomial(NamedTuple):
    n: int
    p: float
    delta: float


BINOMIALS = st.builds(
    Binomial,
    n=st.integers(1, 60),
    p=st.integers(0, 240).map(lambda k: k / 240),
    delta=st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.6]),
)

Interval = Callable[[np.ndarray, int, float], tuple[np.ndarray, np.ndarray]]


def misses(case: Binomial, interval: Interval) -> tuple[float, float]:
    """Return the probabilities that p is below the lower end, and above the upper."""
    k = np.arange(case.n + 1)
    mass = stats.binom.pmf(k, case.n, case.p)
    low, high = interval(k, case.n, case.delta)
    return float(mass @ (case.p < low - 1e-12)), float(mass @ (case.p > high + 1e-12))


def missed_too_often(interval: Interval) -> Callable[[Binomial], bool]:
    return lambda case: max(misses(case, interval)) > case.delta / 2 + ROUNDING


def test_clopper_pearson_on_either_side():
    assert_holds(BINOMIALS, missed_too_often(bounds.clopper_pearson), 400)


def test_clopper_pearson_at_its_own_ends():
    """The worst p is an end itself, where one more hit would miss."""

    def violates(case: Binomial) -> bool:
        low, high = bounds.clopper_pearson(np.arange(case.n + 1), case.n, case.delta)
        return any(
            missed_too_often(bounds.clopper_pearson)(case._replace(p=float(end)))
            for end in (*low, *high)
        )

    assert_holds(BINOMIALS, violates, 40)


def test_the_one_sided_lower_bound():
    def violates(case: Binomial) -> bool:
        k = np.arange(case.n + 1, dtype=float)
        low = bounds.clopper_pearson_lower(k, np.full(k.size, case.n), case.delta)
        missed = stats.binom.pmf(k, case.n, case.p) @ (case.p < low - 1e-12)
        return bool(missed > case.delta + ROUNDING)

    assert_holds(BINOMIALS, violates, 400)


def wald(k: np.ndarray, n: int, delta: float) -> tuple[np.ndarray, np.ndarray]:
    share = k / n
    half = special.ndtri(1.0 - delta / 2) * np.sqrt(share * (1.0 - share) / n)
    return share - half, share + half


def mid_p(k: np.ndarray, n: int, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Jeffreys' interval, which is right on average over p only."""
    return (
        special.betaincinv(k + 0.5, n - k + 0.5, delta / 2),
        special.betaincinv(k + 0.5, n - k + 0.5, 1.0 - delta / 2),
    )


@pytest.mark.parametrize("interval", [wald, mid_p])
def test_intervals_that_are_not_exact_are_caught(interval):
    assert_caught(BINOMIALS, missed_too_often(interval), 200)


# -------------------------------------------------------------------- weighted rows


class Weighted(NamedTuple):
    """Masses of (heavy, event), (light, event), (light, none) in 30ths."""

    masses: tuple[int, int, int]
    light: float  # weight of light rows; heavy ones have 1
    n: int
    delta: float


def _masses() -> st.SearchStrategy[tuple[int, int, int]]:
    cuts = st.lists(st.integers(0, 30), min_size=2, max_size=2).map(sorted)
    return cuts.map(lambda c: (c[0], c[1] - c[0], 30 - c[1]))


WEIGHTED = st.builds(
    Weighted,
    masses=_masses(),
    light=st.sampled_from([1e-4, 0.01, 0.1, 0.5, 1.0]),
    n=st.sampled_from([1, 2, 3, 5, 10, 20, 40]),
    delta=st.sampled_from([0.05, 0.1, 0.3, 0.6]),
)


def all_counts(n: int) -> np.ndarray:
    """Return all counts of n rows in three cells, (S, 3)."""
    first, second = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    counts = np.stack([first, second, n - first - second], axis=-1).reshape(-1, 3)
    return counts[counts[:, 2] >= 0]


Ends = Callable[[Weighted, np.ndarray], tuple[np.ndarray, np.ndarray]]


def weighted_misses(case: Weighted, ends: Ends) -> float:
    """Return the probability that the interval misses the target's probability."""
    weights = np.array([1.0, case.light, case.light])
    masses = np.array(case.masses) / 30
    truth = float((masses * weights)[:2].sum() / (masses @ weights))
    counts = all_counts(case.n)
    low, high = ends(case, counts)
    wrong = (truth < low - 1e-9) | (truth > high + 1e-9)
    return float(stats.multinomial.pmf(counts, case.n, masses) @ wrong)


def parts(case: Weighted, counts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return sums of weights: of the event's rows, of all; and of their squares."""
    weights = np.array([1.0, case.light, case.light])
    hit, total = counts[:, :2] @ weights[:2], counts @ weights
    return hit, total, counts[:, :2] @ weights[:2] ** 2, counts @ weights**2


def hoeffding(
    case: Weighted, counts: np.ndarray, bounded: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    hit, total, _, _ = parts(case, counts)
    mean = total / case.n if bounded else np.ones(total.size)
    # an L1 radius of two classes, twice the error of one probability
    radius = bounds.weighted_hoeffding(case.n, mean, 1.0, 1, 2, case.delta) / 2
    return hit / total - radius, hit / total + radius


def chernoff(
    case: Weighted, counts: np.ndarray, bounded: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    hit, total, _, _ = parts(case, counts)
    mean = total / case.n if bounded else np.ones(total.size)
    n = np.full(total.size, case.n)
    return bounds.weighted_chernoff(n, hit / total, mean, 1.0, case.delta)


def bernstein(
    case: Weighted, counts: np.ndarray, bounded: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    hit, total, hit_square, square = parts(case, counts)
    n, bound = np.full(total.size, case.n), 1.0 if bounded else 1e-9
    radius = bounds.weighted_bernstein(
        n, (hit, total), (hit_square, square), bound, case.delta
    )
    return hit / total - radius, hit / total + radius


def betting(
    case: Weighted, counts: np.ndarray, bounded: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    stake = np.array([1.0, case.light, case.light])
    if not bounded:  # weights that exceed their bound, and are cut to it
        stake = np.minimum(stake, 1e-3) / 1e-3
    n = np.full(len(counts), float(case.n))
    values = np.array([1.0, 1.0, 0.0])
    return betting_bounds.betting_ends(stake, values, counts * 1.0, n, case.delta)


@pytest.mark.parametrize("ends", [hoeffding, chernoff, bernstein, betting])
def test_bounds_of_weighted_rows(ends):
    assert_holds(
        WEIGHTED, lambda case: weighted_misses(case, ends) > case.delta + ROUNDING, 150
    )


@pytest.mark.parametrize("ends", [hoeffding, chernoff, bernstein, betting])
def test_weighted_rows_without_the_weights_bound_are_caught(ends):
    def violates(case: Weighted) -> bool:
        missed = weighted_misses(case, lambda c, k: ends(c, k, bounded=False))
        return missed > case.delta + ROUNDING

    assert_caught(WEIGHTED, violates, 150)


# -------------------------------------------------------------------- bets themselves


def fixed_bets(factors: np.ndarray, shares: np.ndarray, counts: np.ndarray):
    capital = special.logsumexp(counts @ factors.T + shares, axis=1)
    return np.asarray(capital)


def bets_that_know_the_row(factors, shares, counts):
    """Each row is bet on only if that gains."""
    return fixed_bets(np.maximum(factors, 0.0), shares, counts)


def all_of_the_capital_on_each_bet(factors, shares, counts):
    return fixed_bets(factors, np.zeros(shares.size), counts)


def rejected(case: Weighted, capital) -> float:
    """Return the probability that the true mean is rejected, from either side."""
    stake = np.array([1.0, case.light, case.light])
    masses = np.array(case.masses) / 30
    truth = float((masses * stake)[:2].sum() / (masses @ stake))
    if not 0.0 < truth < 1.0:
        return 0.0
    counts = all_counts(case.n)
    mass = stats.multinomial.pmf(counts, case.n, masses)
    level = np.log(2.0 / case.delta)
    bets = betting_bounds._Bets(np.array([float(case.n)]), level)
    wrong = np.zeros(len(counts), dtype=bool)
    for q, hit in ((truth, [1.0, 1.0, 0.0]), (1.0 - truth, [0.0, 0.0, 1.0])):
        odds = stake * (np.array(hit) / q - 1.0)
        factors = np.log1p(bets.at(np.array([q]))[0][:, None] * odds)
        reached = capital(factors, bets.log_share[0], counts)
        if capital is fixed_bets:
            assert np.exp(reached) @ mass == pytest.approx(1.0, abs=1e-6)
        wrong |= reached >= level
    return float(mass @ wrong)


def test_the_capital_has_mean_one_and_is_seldom_large():
    assert_holds(
        WEIGHTED, lambda case: rejected(case, fixed_bets) > case.delta + ROUNDING, 150
    )


@pytest.mark.parametrize(
    "capital", [bets_that_know_the_row, all_of_the_capital_on_each_bet]
)
def test_bets_that_are_not_fair_are_caught(capital):
    assert_caught(
        WEIGHTED, lambda case: rejected(case, capital) > case.delta + ROUNDING, 150
    )
