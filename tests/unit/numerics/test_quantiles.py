"""Ranks: what ceil((1 - alpha)(n + 1)) means when alpha is a decimal, not a double."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq._numerics.quantiles import (
    conformal_rank,
    smallest_order_statistic,
    smallest_sample,
)


def exact_rank(n, alpha):
    return math.ceil((1 - Fraction(alpha)) * (n + 1))


def float_rank(n, alpha):
    return math.ceil((n + 1) * (1 - alpha))


def test_every_rank_up_to_two_thousand_rows_in_thousandths():
    n = np.arange(0, 2001)
    for j in range(1, 1000):
        # ceil of the rational (1000 - j)(n + 1) / 1000, in whole numbers
        want = -((-(1000 - j) * (n + 1)) // 1000)
        got = [conformal_rank(int(i), j / 1000) for i in n]
        np.testing.assert_array_equal(got, want, err_msg=f"alpha = {j}/1000")


def test_whole_number_arithmetic_is_fraction_arithmetic():
    for n in (0, 1, 9, 24, 149, 1999):
        for j in (1, 100, 180, 440, 999):
            want = -((-(1000 - j) * (n + 1)) // 1000)
            assert exact_rank(n, Fraction(j, 1000)) == want


@pytest.mark.parametrize(
    ("computed", "meant"),
    [
        (1 - 0.9, "1/10"),
        (1.0 - 0.7, "3/10"),
        (0.1 + 0.2, "3/10"),
        (3 * 0.1, "3/10"),
        (1 - 0.8 - 0.1, "1/10"),
        (1 / 3, "1/3"),
        (1 - 2 / 3, "1/3"),
        (1 - 1 / 3, "2/3"),
        (1 / 7, "1/7"),
        (1 - 6 / 7, "1/7"),
        (np.float64(0.05), "1/20"),
        (1 - 0.95, "1/20"),
        (1 - 0.99, "1/100"),
    ],
)
def test_computed_levels_give_the_rank_that_was_meant(computed, meant):
    for n in range(2001):
        assert conformal_rank(n, computed) == exact_rank(n, meant), n


def test_where_the_plain_formula_is_wrong():
    assert float_rank(149, 0.18) == 124
    assert conformal_rank(149, 0.18) == 123
    assert float_rank(24, 0.44) == 15
    assert conformal_rank(24, 0.44) == 14
    wrong = [
        (n, j)
        for n in range(1, 201)
        for j in range(1, 100)
        if float_rank(n, j / 100) != exact_rank(n, Fraction(j, 100))
    ]
    assert len(wrong) > 40
    for n, j in wrong:
        assert conformal_rank(n, j / 100) == exact_rank(n, Fraction(j, 100))


def test_nine_rows_are_enough_for_a_tenth():
    probs = np.column_stack([np.linspace(0.9, 0.1, 9), np.linspace(0.1, 0.9, 9)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = dfu.split_conformal(probs, [0] * 9, alpha=0.1, score="lac")
    assert (fit.rank, fit.n) == (9, 9)
    assert fit.thresholds.tolist() == [fit.scores[8]] * 2
    assert fit.scores[8] == 1.0 - 0.1  # the largest of the nine


def test_eight_rows_are_not_and_the_warning_names_nine():
    probs = np.full((8, 2), 0.5)
    with pytest.warns(dfu.SmallCalibrationWarning, match="At least 9 rows"):
        fit = dfu.split_conformal(probs, [0] * 8, alpha=0.1, score="lac")
    assert fit.rank == 9
    assert np.isposinf(fit.thresholds).all()
    assert fit.predict([[1.0, 0.0], [0.3, 0.7]]).mask.all()


def test_no_rows_at_all_give_an_infinite_threshold():
    with pytest.warns(dfu.SmallCalibrationWarning, match="At least 9 rows"):
        fit = dfu.split_conformal(np.empty((0, 3)), [], alpha=0.1)
    assert np.isposinf(fit.thresholds).all()


def test_smallest_sample_is_the_first_n_with_a_finite_threshold():
    for j in range(1, 1000):
        enough = smallest_sample(j / 1000)
        # n >= (1 - alpha)/alpha, and at least one row
        assert enough == max(1, math.ceil(Fraction(1000 - j, j))), j
        assert conformal_rank(enough, j / 1000) <= enough
        if enough > 1:
            assert conformal_rank(enough - 1, j / 1000) > enough - 1


@pytest.mark.parametrize("alpha", [1e-6, 1e-9, 1e-320, 5e-324, 1 - 2**-53])
def test_extreme_levels_have_a_smallest_sample_too(alpha):
    enough = smallest_sample(alpha)
    assert conformal_rank(enough, alpha) <= enough


def test_order_statistics():
    values = np.array([0.3, 0.1, 0.2])
    ranks = [smallest_order_statistic(values, rank) for rank in (1, 2, 3, 4)]
    assert ranks == [0.1, 0.2, 0.3, math.inf]


# ------------------------------------------------------------------------ ranks for PAC


def brute_force_pac_rank(n, alpha, delta):
    """Return the smallest k with P(Bin(n, 1 - alpha) >= k) <= delta, by summing up."""
    masses = stats.binom.pmf(np.arange(n + 1), n, 1 - alpha)
    tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    return int(np.flatnonzero(tails <= delta)[0])


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("delta", [0.001, 0.01, 0.05, 0.1, 0.37, 0.9])
def test_pac_rank_equals_brute_force(alpha, delta):
    for n in [*range(1, 130), 500, 1000]:
        rank = bounds.pac_rank(n, alpha, delta)
        assert rank == brute_force_pac_rank(n, alpha, delta), n
        assert (rank == n + 1) == ((1 - alpha) ** n > delta)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 11])
def test_a_tail_of_exactly_delta_is_small_enough(n):
    # P(Bin(n, 1/2) = n) = 2^-n, without rounding
    assert bounds.pac_rank(n, 0.5, 0.5**n) == n
    assert bounds.pac_rank(n, 0.5, np.nextafter(0.5**n, 0.0)) == n + 1


def test_pac_rank_golden(golden):
    case = golden("bounds", "pac-rank")
    for (n, alpha, delta), want in zip(
        case["inputs"]["rows"], case["expected"]["rank"], strict=True
    ):
        rank = bounds.pac_rank(n, alpha, delta)
        assert rank == (n + 1 if want is None else want)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("delta", [0.001, 0.05, 0.5, 0.999])
def test_pac_smallest_sample(alpha, delta):
    enough = bounds.pac_smallest_sample(alpha, delta)
    assert (1 - alpha) ** enough <= delta
    assert enough == 1 or (1 - alpha) ** (enough - 1) > delta


def test_pac_smallest_sample_of_a_tiny_level():
    # (1 - alpha)^n <= delta at n = ln(20) / 1e-12, to all digits but the last
    enough = bounds.pac_smallest_sample(1e-12, 0.05)
    assert enough == pytest.approx(math.log(20) * 1e12, rel=1e-11)
    enough = bounds.pac_smallest_sample(1e-300, 0.05)
    assert bounds.pac_rank(enough, 1e-300, 0.05) <= enough
    assert bounds.pac_smallest_sample(5e-324, 0.05) == enough  # beyond all doubles


def test_pac_warning_names_the_rows_needed():
    probs = np.full((21, 2), 0.5)
    with pytest.warns(dfu.SmallCalibrationWarning, match="At least 22 rows"):
        fit = dfu.split_conformal(
            probs, [0] * 21, alpha=0.1, confidence=0.9, score="lac"
        )
    assert np.isposinf(fit.thresholds).all()
