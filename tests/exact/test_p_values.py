"""P-values by class and under covariate shift, and sets that are never empty, exactly.

Given n + 1 rows as a set, any may be the new one, with a probability proportional to
its weight; see `test_exchangeability`, whose cases are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import distfreeuq as dfu
from tests.exact.search import SLACK, assert_caught, assert_holds
from tests.exact.test_exchangeability import (
    CASES,
    EXAMPLES,
    Case,
    K,
    Row,
    arrays,
    below_one_minus_alpha,
    coverage_gap,
    fitted,
    others,
    split,
    too_small,
)

SCORES = ("lac", "aps", "raps", "saps", "rank", "margin")


@pytest.mark.parametrize("score", SCORES)
def test_sets_that_are_never_empty_cover_with_every_score(score):
    covers = below_one_minus_alpha(split(score, never_empty=True))
    assert_holds(CASES, covers, EXAMPLES)


@pytest.mark.parametrize("score", SCORES)
def test_no_set_is_empty_with_every_score(score):
    def violates(case: Case) -> bool:
        fit = fitted(
            dfu.split_conformal,
            *arrays(case.rows),
            alpha=float(case.alpha),
            score=score,
            randomized=False,
            never_empty=True,
        )
        sets = fit.predict([row.probs for row in case.rows])  # type: ignore[attr-defined]
        return not sets.mask.any(axis=1).all()

    assert_holds(CASES, violates, EXAMPLES)


@pytest.mark.parametrize("score", ["lac", "margin"])
def test_the_top_label_alone_is_caught(score):
    """A set that is not empty is not enough."""

    def covers(rows: Sequence[Row], new: Row, alpha: object) -> bool:
        return max(range(K), key=new.probs.__getitem__) == new.label

    def violates(case: Case) -> bool:
        return coverage_gap(case, covers, [1] * len(case.rows)) < -SLACK

    assert_caught(CASES, violates, EXAMPLES)


# -------------------------------------------------------------------- label-conditional


def by_class(rows: Sequence[Row], new: Row) -> float:
    fit = fitted(dfu.label_conditional_conformal, *arrays(rows), randomized=False)
    return float(fit.p_values([new.probs])[0, new.label])  # type: ignore[attr-defined]


def pooled(rows: Sequence[Row], new: Row) -> float:
    fit = fitted(dfu.split_conformal, *arrays(rows), randomized=False)
    return float(fit.p_values([new.probs])[0, new.label])  # type: ignore[attr-defined]


def too_small_in_a_class(case: Case, p_value) -> bool:
    return any(
        too_small(case, p_value, [int(row.label == k) for row in case.rows])
        for k in range(K)
    )


def test_p_values_of_every_class():
    assert_holds(CASES, lambda case: too_small_in_a_class(case, by_class), EXAMPLES)


def test_p_values_of_all_classes_together_are_caught():
    assert_caught(CASES, lambda case: too_small_in_a_class(case, pooled), EXAMPLES)


# ---------------------------------------------------------------------- covariate shift


def weighted(rows: Sequence[Row], new: Row) -> float:
    weights = [float(row.weight) for row in rows]
    if not any(weights):
        return 1.0  # an all-zero weight is no input; such a row is then alone
    fit = fitted(
        dfu.covariate_shift_conformal, *arrays(rows), weights, randomized=False
    )
    values = fit.p_values([new.probs], [float(new.weight)])  # type: ignore[attr-defined]
    return float(values[0, new.label])


def too_small_on_the_target(case: Case, p_value) -> bool:
    return too_small(case, p_value, [row.weight for row in case.rows])


def test_p_values_under_covariate_shift():
    assert_holds(
        CASES, lambda case: too_small_on_the_target(case, weighted), 2 * EXAMPLES
    )


def test_p_values_that_are_not_weighted_are_caught():
    assert_caught(
        CASES, lambda case: too_small_on_the_target(case, pooled), 2 * EXAMPLES
    )


def test_a_label_is_in_the_set_where_its_p_value_exceeds_alpha():
    def violates(case: Case) -> bool:
        for i, new in enumerate(case.rows):
            rows = others(case.rows, i)
            fit = fitted(
                dfu.label_conditional_conformal,
                *arrays(rows),
                alpha=float(case.alpha),
                randomized=False,
            )
            p = fit.p_values([new.probs])[0]  # type: ignore[attr-defined]
            inside = fit.predict([new.probs]).mask[0]  # type: ignore[attr-defined]
            near = abs(p - float(case.alpha)) < 1e-9
            if ((p > float(case.alpha)) != inside)[~near].any():
                return True
        return False

    assert_holds(CASES, violates, 60)
