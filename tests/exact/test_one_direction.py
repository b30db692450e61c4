"""One direction is enough, exactly: thresholds from bounds of one combination each.

What tells about the weights has a few outcomes, each a law of the weights of its own,
right or wrong; rows have few scores. Given these, how often the bound of a *fixed*
combination fails is a finite sum, and so is coverage: it must be at least 1 - alpha
less the largest probability with which any one bound fails.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import special

from distfreeuq._numerics.quantiles import SLACK
from distfreeuq.conformal.under_label_shift.directional_search import (
    directional_thresholds,
)
from distfreeuq.label_shift.inference.moments.limiting_law import LimitLaw
from tests.exact.search import assert_caught, assert_holds
from tests.exact.test_pac import multinomial, samples

LEVEL = 0.1  # that of each normal bound: z = 1.28


class Outcome(NamedTuple):
    """Estimated weights in halves, standard errors in halves, and a correlation."""

    center: tuple[int, int]
    spread: tuple[int, int]
    correlation: int

    @property
    def law(self) -> LimitLaw:
        errors = np.array(self.spread) / 2.0
        shape = np.array([[1.0, self.correlation], [self.correlation, 1.0]])
        everywhere = np.ones(2, dtype=bool)
        return LimitLaw(
            np.array(self.center) / 2.0,
            shape * np.outer(errors, errors),
            everywhere,
            everywhere,
        )


class Case(NamedTuple):
    """Masses in 12ths; true weights are target / source."""

    source: int  # of class 1
    target: int  # of class 1
    by_class: tuple[tuple[int, int, int], tuple[int, int, int]]
    outcomes: tuple[Outcome, ...]
    chances: tuple[int, ...]
    n: int
    alpha: Fraction


def _masses(total: int, cells: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sampled_from(list(samples(total, cells)))


OUTCOMES = st.builds(
    Outcome,
    center=st.tuples(st.integers(-4, 8), st.integers(-4, 8)),
    spread=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    correlation=st.sampled_from([-1, 0, 1]),
)


def _cases() -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        source=st.integers(2, 10),
        target=st.integers(1, 11),
        by_class=st.tuples(_masses(6, 3), _masses(6, 3)),
        outcomes=st.tuples(OUTCOMES, OUTCOMES, OUTCOMES),
        chances=_masses(12, 3),
        n=st.integers(2, 5),
        alpha=st.sampled_from([Fraction(1, 4), Fraction(1, 2)]),
    )


Rows = tuple[tuple[float, ...], tuple[int, ...]]
Rule = Callable[[Rows, Outcome, float], np.ndarray]


@lru_cache(maxsize=200_000)
def package(rows: Rows, outcome: Outcome, alpha: float) -> np.ndarray:
    """Return the thresholds."""
    scores, labels = np.array(rows[0]), np.array(rows[1])
    return directional_thresholds(scores, labels, outcome.law, alpha, LEVEL)


def bounds_of(rows: Rows, outcome: Outcome, alpha: float) -> np.ndarray:
    """Return U(c) of both labels at the scores, shape (6, 2), from its definition."""
    scores, labels = np.array(rows[0]), np.array(rows[1])
    out = np.empty((6, 2))
    for t in range(6):
        for y in range(2):
            c = combination(scores, labels, t, y, alpha)
            law = outcome.law
            out[t, y] = c @ law.center
            variance = max(float(c @ law.covariance @ c), 0.0)
            out[t, y] += special.ndtri(1 - LEVEL) * np.sqrt(variance)
    return out


def combination(
    scores: np.ndarray, labels: np.ndarray, t: float, y: int, alpha: float
) -> np.ndarray:
    own = np.arange(2) == y
    counts = np.bincount(labels, minlength=2)
    reached = np.bincount(labels[scores <= t], minlength=2)
    return np.asarray((1 - alpha - SLACK) * (counts + own) - reached)


def first_crossing(rows: Rows, outcome: Outcome, alpha: float) -> np.ndarray:
    """Return where the bound first falls to zero: not what the theorem is about."""
    seen = sorted(set(rows[0]))
    upper = bounds_of(rows, outcome, alpha)
    out = np.full(2, np.inf)
    for y in range(2):
        fine = [t for t in seen if upper[int(t), y] <= 1e-12]
        out[y] = fine[0] if fine else np.inf
    return out


def all_rows(case: Case) -> list[tuple[Rows, Fraction]]:
    """Return the samples of n source rows, scores ascending, and their chances."""
    prior = (12 - case.source, case.source)
    law = tuple(prior[k] * case.by_class[k][s] for s in range(3) for k in range(2))
    found = []
    for counts in samples(case.n, 6):
        chance = multinomial(counts, law)
        if chance:
            cells = np.repeat(np.arange(6), counts)
            rows = tuple(float(c // 2) for c in cells), tuple(int(c % 2) for c in cells)
            found.append((rows, chance))
    return found


def covers_too_little(rule: Rule) -> Callable[[Case], bool]:
    def violates(case: Case) -> bool:
        alpha = float(case.alpha)
        p = np.array([12 - case.source, case.source])
        q = np.array([12 - case.target, case.target])
        weight = q / p
        chances = [Fraction(c, 12) for c in case.chances]
        covered, failing = Fraction(0), Fraction(0)
        for rows, chance in all_rows(case):
            scores, labels = np.array(rows[0]), np.array(rows[1])
            uppers = [bounds_of(rows, outcome, alpha) for outcome in case.outcomes]
            for t in range(3):
                for y in range(2):
                    true = combination(scores, labels, t, y, alpha) @ weight
                    fails = sum(
                        chances[e]
                        for e in range(3)
                        if uppers[e][t, y] <= 1e-9 and true > 1e-9
                    )
                    failing = max(failing, Fraction(fails))
            for e, outcome in enumerate(case.outcomes):
                tau = rule(rows, outcome, alpha)
                for k in range(2):
                    held = sum(m for s, m in enumerate(case.by_class[k]) if s <= tau[k])
                    share = Fraction(int(q[k]) * held, 72)
                    covered += chance * chances[e] * share
        return covered < 1 - case.alpha - failing - Fraction(1, 10**9)

    return violates


def test_one_direction_is_enough():
    assert_holds(_cases(), covers_too_little(package), 60)


# --------------------------------------------------------- thresholds, given the rows


class Given(NamedTuple):
    """Given rows, and equally likely outcomes: how often is a threshold too low?"""

    rows: Rows
    weight: tuple[int, int]
    outcomes: tuple[Outcome, ...]


def _given(n: int) -> st.SearchStrategy[Given]:
    labels = st.tuples(*[st.integers(0, 1)] * n)
    scores = st.tuples(*[st.integers(0, 5)] * n).map(
        lambda s: tuple(float(x) for x in sorted(s))
    )
    return st.builds(
        Given,
        rows=st.tuples(scores, labels),
        weight=st.tuples(st.integers(0, 8), st.integers(1, 8)),
        outcomes=st.tuples(*[OUTCOMES] * 4),
    )


def too_low_too_often(rule: Rule, *, seen_new_row: bool) -> Callable[[Given], bool]:
    """Return whether a threshold is too low more often than one bound fails.

    The new row is of either class. Outcomes are independent of it or, if they have
    `seen_new_row`, the first two are those of class 0 and the others of class 1.
    """
    belong = ((0, 1), (2, 3)) if seen_new_row else ((0, 1, 2, 3),) * 2

    def violates(case: Given) -> bool:
        scores, labels = np.array(case.rows[0]), np.array(case.rows[1])
        seen = sorted(set(case.rows[0]))
        uppers = [bounds_of(case.rows, one, 0.25) for one in case.outcomes]
        found = [rule(case.rows, one, 0.25) for one in case.outcomes]
        failing = too_low = Fraction(0)
        for y in range(2):
            true = [
                combination(scores, labels, t, y, 0.25) @ np.array(case.weight)
                for t in seen
            ]
            fails = [
                # a bound of zero is one that fails, whatever its rounding
                sum(bool(upper[int(t), y] <= 1e-9) for upper in uppers)
                for t, g in zip(seen, true, strict=True)
                if g > 1e-9
            ]
            failing = max(failing, Fraction(max(fails, default=0), 4))
            exact = [t for t, g in zip(seen, true, strict=True) if g <= 1e-9]
            right = exact[0] if exact else np.inf
            low = sum(bool(found[e][y] < right) for e in belong[y])
            too_low += Fraction(low, 2 * len(belong[y]))
        return too_low > failing

    return violates


GIVEN = st.integers(1, 8).flatmap(_given)


def test_a_threshold_is_too_low_no_oftener_than_one_bound_fails():
    assert_holds(GIVEN, too_low_too_often(package, seen_new_row=False), 1000)


def test_bounds_that_have_seen_the_new_row_are_caught():
    assert_caught(GIVEN, too_low_too_often(package, seen_new_row=True), 3000)


def test_thresholds_where_the_bound_first_falls_to_zero_are_caught():
    assert_caught(GIVEN, too_low_too_often(first_crossing, seen_new_row=False), 3000)


def test_thresholds_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(300):
        outcome = Outcome(
            tuple(rng.integers(-1, 9, 2)), tuple(rng.integers(0, 5, 2)), 0
        )
        n = int(rng.integers(1, 8))
        scores, labels = np.sort(rng.integers(0, 3, n)) * 1.0, rng.integers(0, 2, n)
        rows = tuple(scores), tuple(int(y) for y in labels)
        upper = bounds_of(rows, outcome, 0.25)
        seen = sorted(set(rows[0]))
        found = package(rows, outcome, 0.25)
        for y in range(2):
            if (np.abs(upper[:, y]) < 1e-9).any():
                continue  # zero but for rounding
            fails = [t for t in seen if upper[int(t), y] > 0]
            after = [t for t in seen if not fails or t > max(fails)]
            assert found[y] == (after[0] if after else np.inf)
