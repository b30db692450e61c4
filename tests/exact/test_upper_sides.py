"""How far coverage can exceed 1 - alpha with known weights, exactly.

Given n + 1 rows with scores that do not tie, the new row is the i-th with probability
proportional to its weight, so that coverage is a finite sum. The printed upper side,
1 - alpha + w_max / (n w_min + w_max), must hold for all such rows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.conformal.under_label_shift.guarantees import _upper
from tests.exact.search import ALPHAS, SLACK, assert_caught, assert_holds

EXAMPLES = 300


class Rows(NamedTuple):
    """Labels of n + 1 rows by ascending score, and the weights of three classes."""

    labels: tuple[int, ...]
    weights: tuple[int, int, int]
    alpha: Fraction


ROWS = st.builds(
    Rows,
    labels=st.lists(st.integers(0, 2), min_size=2, max_size=10).map(tuple),
    weights=st.tuples(*[st.integers(1, 12)] * 3),
    alpha=ALPHAS,
)


def coverage(case: Rows) -> Fraction:
    """Return the coverage given which rows there are."""
    scores, labels = np.arange(len(case.labels)) / 16, np.array(case.labels)
    covered = Fraction(0)
    for i, label in enumerate(case.labels):
        others = np.arange(labels.size) != i
        thresholds = dfu.conformal_thresholds(
            scores[others],
            labels[others],
            alpha=float(case.alpha),
            n_classes=3,
            method="label-shift",
            label_weight=case.weights,
        )
        if scores[i] <= thresholds[label]:
            covered += case.weights[label]
    return covered / sum(case.weights[label] for label in case.labels)


def exceeds(bound: Callable[[Rows], float | None]) -> Callable[[Rows], bool]:
    def violates(case: Rows) -> bool:
        upper = bound(case)
        return upper is not None and coverage(case) > Fraction(upper) + SLACK

    return violates


def printed(case: Rows) -> float | None:
    weights = np.array(case.weights, dtype=float)
    return _upper(len(case.labels) - 1, weights, float(case.alpha))


def test_the_printed_upper_side():
    assert_holds(ROWS, exceeds(printed), EXAMPLES)


def test_the_upper_side_of_equal_weights_is_caught():
    def equal(case: Rows) -> float:
        return float(1 - case.alpha + Fraction(1, len(case.labels)))

    assert_caught(ROWS, exceeds(equal), EXAMPLES)


def test_an_upper_side_by_observed_rows_is_caught():
    """The largest share of calibration rows leaves out a new row of large weight."""

    def observed(case: Rows) -> float:
        seen = [case.weights[label] for label in case.labels[:-1]]
        return float(1 - case.alpha + Fraction(max(seen), sum(seen)))

    assert_caught(ROWS, exceeds(observed), EXAMPLES)


def test_equal_weights_have_the_upper_side_of_split_sets():
    assert _upper(19, np.ones(3), 0.1) == 0.9 + 1 / 20
    assert _upper(19, np.array([0.0, 1.0]), 0.1) is None
    assert _upper(19, np.array([np.inf, 1.0]), 0.1) is None
    assert _upper(5, np.ones(2), 0.1) is None
