"""Betting intervals: hand-derived ends, Chernoff's bound, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distfreeuq import bounds
from distfreeuq.bounds import betting_bounds


def test_numbers_that_are_all_zero_have_the_exact_upper_end():
    """Half of the capital bets all of itself: (1/2) q^-n reaches 1/delta."""
    low, high = bounds.betting_interval([0.0] * 20, 0.05, side="upper")
    # the other half bets too, so that a little less than delta/2 is enough
    assert low == 0.0
    assert 1.0 - 0.05 ** (1 / 20) <= high <= 1.0 - 0.025 ** (1 / 20)


def test_one_row_says_what_markov_says():
    """The largest bet on one row is all: x / q >= 1/delta, q <= delta x."""
    low, high = bounds.betting_interval([0.5], 0.05)
    assert low == pytest.approx(0.025 * 0.5, abs=1e-8)
    assert high == pytest.approx(1.0 - 0.025 * 0.5, abs=1e-8)


@pytest.mark.parametrize("hits", [0, 1, 7, 100, 193, 200])
@pytest.mark.parametrize("delta", [0.3, 0.01, 1e-6])
def test_zeros_and_ones_are_within_chernoff_at_half_of_delta(hits, delta):
    values = np.repeat([1.0, 0.0], [hits, 200 - hits])
    low, high = bounds.betting_interval(values, delta)
    wide = bounds.weighted_chernoff([200], [hits / 200], [1.0], 1.0, delta / 2)
    narrow = bounds.weighted_chernoff([200], [hits / 200], [1.0], 1.0, delta)
    assert wide[0][0] - 1e-6 <= low <= narrow[0][0] + 1e-9 or low == 0.0
    assert narrow[1][0] - 1e-9 <= high <= wide[1][0] + 1e-6


def test_nothing_is_known_without_rows_or_weight():
    assert bounds.betting_interval([], 0.05) == (0.0, 1.0)
    assert bounds.betting_interval([], 0.05, -2.0, 3.0) == (-2.0, 3.0)
    nothing = bounds.weighted_betting_interval([0.3, 1.0], [0.0, 0.0], 0.05, 1.0)
    assert nothing == (0.0, 1.0)


def test_equal_weights_are_no_weights():
    values = np.linspace(0.2, 0.4, 60)
    plain = bounds.betting_interval(values, 0.05)
    equal = bounds.weighted_betting_interval(values, np.full(60, 3.0), 0.05, 3.0)
    assert equal == plain


def test_a_looser_bound_of_the_weights_costs_little():
    rng = np.random.default_rng(0)
    weights, values = rng.uniform(0.5, 1.0, 500), rng.random(500) < 0.3
    tight = bounds.weighted_betting_interval(values * 1.0, weights, 0.05, 1.0)
    loose = bounds.weighted_betting_interval(values * 1.0, weights, 0.05, 4.0)
    assert loose[0] <= tight[0] and loose[1] >= tight[1]
    assert loose[1] - loose[0] < 1.25 * (tight[1] - tight[0])


def test_ends_of_the_numbers_are_a_change_of_units():
    values = np.linspace(0.2, 0.4, 40)
    low, high = bounds.betting_interval(values, 0.05)
    other = bounds.betting_interval(10.0 * values - 5.0, 0.05, -5.0, 5.0)
    assert other == pytest.approx((10.0 * low - 5.0, 10.0 * high - 5.0), abs=1e-8)


ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=25
)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.sampled_from([0.4, 0.1, 1e-3]), st.randoms(use_true_random=False))
def test_neither_order_nor_labelling_matters(rows, delta, shuffle):
    values, weights = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    ends = bounds.weighted_betting_interval(values / 8, weights, delta, 4.0)
    order = list(range(len(rows)))
    shuffle.shuffle(order)
    again = bounds.weighted_betting_interval(
        values[order] / 8, weights[order], delta, 4.0
    )
    assert again == ends
    turned = bounds.weighted_betting_interval(1 - values / 8, weights, delta, 4.0)
    assert turned == pytest.approx((1.0 - ends[1], 1.0 - ends[0]), abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.sampled_from([0.4, 0.1, 1e-3]))
def test_the_ends_are_where_the_capital_is_enough(rows, delta):
    """The definition, row by row: at the lower end it is, just above it is not."""
    values, weights = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    values, stake = values / 8, weights / 4
    low, _ = bounds.weighted_betting_interval(values, weights, delta, 4.0, side="lower")

    def capital(q: float) -> float:
        bets = betting_bounds._Bets(np.array([float(len(rows))]), np.log(1 / delta))
        shares, bet = np.exp(bets.log_share[0]), bets.at(np.array([q]))[0]
        return sum(
            share * np.prod(1.0 + b * stake * (values / q - 1.0))
            for share, b in zip(shares, bet, strict=True)
        )

    assert low == 0.0 or capital(low) >= 1.0 / delta
    for above in (low + 1e-9, (low + 1.0) / 2, 1.0 - 1e-9):
        assert capital(above) < (1.0 + 1e-6) / delta


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_split_between_points_are_a_little_wider_never_narrower(
    weighted, monkeypatch
):
    rng = np.random.default_rng(1)
    values = rng.beta(2.0, 5.0, 3000)
    weights = rng.uniform(0.01, 1.0, 3000) if weighted else np.ones(3000)
    split = bounds.weighted_betting_interval(values, weights, 0.01, 1.0)
    monkeypatch.setattr(betting_bounds, "_FEW_ROWS", 10**6)
    exact = bounds.weighted_betting_interval(values, weights, 0.01, 1.0)
    assert split[0] <= exact[0] and split[1] >= exact[1]
    assert split[1] - split[0] < 1.002 * (exact[1] - exact[0])
