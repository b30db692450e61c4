"""Sets for a target prior from classes with given counts, exactly: all rows enumerated.

Class k's n_k rows have scores 0, 1, 2 with rational masses. The threshold that is the
smallest t with sum_k q_k N_k(t) / (n_k + 1) >= 1 - alpha must cover 1 - alpha on
average; the one for the draw at hand must do so but with probability delta.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from distfreeuq.conformal.under_label_shift.capped_priors import (
    capped_class_thresholds,
    capped_pac_threshold,
    capped_threshold,
)
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps
from tests.exact.search import ALPHAS, assert_caught, assert_holds
from tests.exact.test_pac import multinomial, samples


class Case(NamedTuple):
    counts: tuple[int, int]
    masses: tuple[tuple[int, ...], tuple[int, ...]]  # in 6ths
    prior: int  # of class 1, in 12ths
    alpha: Fraction
    delta: Fraction

    @property
    def q(self) -> np.ndarray:
        return np.array([12 - self.prior, self.prior]) / 12.0


MASSES = st.sampled_from(list(samples(6, 3)))
CASES = st.builds(
    Case,
    counts=st.tuples(st.integers(0, 5), st.integers(1, 6)),
    masses=st.tuples(MASSES, MASSES),
    prior=st.integers(0, 12),
    alpha=ALPHAS,
    delta=st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)]),
)
MANY_ROWS = st.builds(
    Case,
    counts=st.tuples(st.integers(2, 14), st.integers(2, 14)),
    masses=st.tuples(MASSES, MASSES),
    prior=st.integers(1, 11),
    alpha=st.sampled_from([Fraction(1, 3), Fraction(1, 2)]),
    delta=st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)]),
)

Rule = Callable[[np.ndarray, np.ndarray, Case], float]


def all_rows(case: Case):
    """Yield scores, labels, and the chance of these, of both classes together."""
    for zero in samples(case.counts[0], 3):
        chance_zero = multinomial(zero, case.masses[0])
        for one in samples(case.counts[1], 3):
            chance = chance_zero * multinomial(one, case.masses[1])
            if chance:
                pairs = [
                    (float(s), k)
                    for s in range(3)
                    for k, own in enumerate((zero, one))
                    for _ in range(own[s])
                ]
                scores = np.array([s for s, _ in pairs])
                yield scores, np.array([k for _, k in pairs]), chance


def coverage(case: Case, t: float) -> Fraction:
    """Return the share of the target up to t; a class without rows is covered."""
    total = Fraction(0)
    for k, share in enumerate((12 - case.prior, case.prior)):
        held = sum(m for s, m in enumerate(case.masses[k]) if s <= t)
        total += Fraction(share, 12) * (
            Fraction(held, 6) if case.counts[k] else Fraction(1)
        )
    return total


def covers_too_little(rule: Rule) -> Callable[[Case], bool]:
    def violates(case: Case) -> bool:
        covered = sum(
            chance * coverage(case, rule(scores, labels, case))
            for scores, labels, chance in all_rows(case)
        )
        return covered < 1 - case.alpha - Fraction(1, 10**9)

    return violates


def package(scores: np.ndarray, labels: np.ndarray, case: Case) -> float:
    return capped_threshold(scores, labels, PriorCaps(case.q), float(case.alpha))


def without_the_new_row(scores: np.ndarray, labels: np.ndarray, case: Case) -> float:
    """Return the threshold with shares N_k / n_k: the new row is forgotten."""
    counts = np.bincount(labels, minlength=2)
    for t in np.unique(scores):
        reached = np.bincount(labels[scores <= t], minlength=2)
        share = np.where(counts > 0, reached / np.maximum(counts, 1), 1.0)
        if case.q @ share >= 1.0 - float(case.alpha) - 1e-12:
            return float(t)
    return np.inf


def test_the_threshold_of_a_prior_covers():
    assert_holds(CASES, covers_too_little(package), 300)


def test_a_threshold_that_forgets_the_new_row_is_caught():
    assert_caught(CASES, covers_too_little(without_the_new_row), 300)


def fails_too_often(factor: float) -> Callable[[Case], bool]:
    """Return whether coverage is below 1 - alpha more often than `delta`.

    With a `factor` the threshold is for another failure probability.
    """

    def violates(case: Case) -> bool:
        failing = Fraction(0)
        spent = 1.0 - (1.0 - float(case.delta)) / factor
        for scores, labels, chance in all_rows(case):
            t = capped_pac_threshold(
                scores, labels, PriorCaps(case.q), float(case.alpha), spent
            )
            if coverage(case, t) < 1 - case.alpha:
                failing += chance
        return failing > case.delta + Fraction(1, 10**9)

    return violates


@pytest.mark.slow
def test_the_threshold_for_the_draw_at_hand():
    assert_holds(MANY_ROWS, fails_too_often(1.0), 120)


def test_a_tenth_of_the_confidence_is_caught():
    assert_caught(MANY_ROWS, fails_too_often(10.0), 300)


def leaves_out_too_much(factor: float) -> Callable[[Case], bool]:
    """Return the same of thresholds that leave out a common share of each class."""

    def violates(case: Case) -> bool:
        failing = Fraction(0)
        spent = 1.0 - (1.0 - float(case.delta)) / factor
        for scores, labels, chance in all_rows(case):
            found = capped_class_thresholds(
                scores, labels, PriorCaps(case.q), float(case.alpha), spent
            )
            total = sum(
                Fraction(share, 12)
                * Fraction(
                    sum(m for s, m in enumerate(case.masses[k]) if s <= found[k]), 6
                )
                for k, share in enumerate((12 - case.prior, case.prior))
            )
            if total < 1 - case.alpha:
                failing += chance
        return failing > case.delta + Fraction(1, 10**9)

    return violates


@pytest.mark.slow
def test_a_common_share_for_the_draw_at_hand():
    assert_holds(MANY_ROWS, leaves_out_too_much(1.0), 120)


def test_a_common_share_with_a_hundredth_of_the_confidence_is_caught():
    assert_caught(MANY_ROWS, leaves_out_too_much(100.0), 400)


def test_a_common_share_by_hand():
    # one class of 99 rows and a cap of 1: x = 1/100, and the best l has
    # 1 - l x = a / alpha, so that 100 [a ln(a / alpha) - a + alpha] = ln(1 / delta)
    caps, a = PriorCaps(np.array([1.0])), 0.05
    delta = np.exp(-100 * (a * np.log(a / 0.1) - a + 0.1))
    scores = np.arange(99.0)
    below = capped_class_thresholds(scores, np.zeros(99, int), caps, 0.1, 0.99 * delta)
    above = capped_class_thresholds(scores, np.zeros(99, int), caps, 0.1, 1.01 * delta)
    assert below.tolist() == [95.0]  # four rows are above: j = 4
    assert above.tolist() == [94.0]


def test_the_largest_mean_below_caps_by_hand():
    caps = PriorCaps(np.array([0.5, 0.3, 1.0]))
    assert round(caps.largest(np.array([3.0, 2.0, 1.0])), 12) == 2.3
    assert caps.largest(np.array([0.0, 0.0, 5.0])) == 5.0
