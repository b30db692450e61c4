"""Finite-sample intervals of means over the target, part by part and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps, prior_caps
from distfreeuq.monitoring.performance.certificates import (
    Carried,
    Plan,
    ShiftRows,
    Strata,
    certified_interval,
    every_third,
    every_third_of_class,
    known_prior_interval,
    shift_rows,
)
from distfreeuq.monitoring.performance.exponential_bound import (
    bernstein_exponents,
    two_sided_log_term,
)
from distfreeuq.monitoring.performance.indicator_functions import one_hot

K = 3


def psi(x):
    """-ln(1 - x) - x by its series, whose terms are all positive."""
    return sum(x**k / k for k in range(2, 400)) if x < 1 else math.inf


@pytest.mark.parametrize("load", [1e-9, 1e-6, 9e-6, 2e-5, 0.1, 0.5, 0.8, 1.0, 3.0])
def test_exponents_by_hand(load):
    """Weight q, reach c, n rows and sum of squares S: psi(l q c / n) S / c^2."""
    found = bernstein_exponents(
        np.array([0.5]), np.array([40.0]), np.array([3.0]), np.array([2.0]), 40.0 * load
    )
    assert found[0] == pytest.approx(psi(load) * 3.0 / 4.0, rel=1e-9)


def test_strata_without_spread_or_rows_have_no_exponent():
    found = bernstein_exponents(
        np.ones(3),
        np.array([4.0, 0.0, 4.0]),
        np.array([0.0, 1.0, 1.0]),
        np.ones(3),
        1.0,
    )
    assert found.tolist() == [0.0, 0.0, pytest.approx(psi(0.25))]


def mean_exponential(values, probs, a, reach, speed, part=1.0):
    """E exp(l (z - E z) / c - part psi(l) (z - a)^2 / c^2)."""
    x = np.array(values) / reach
    mean = float(np.dot(probs, x))
    exponent = speed * (x - mean) - part * psi(speed) * (x - a / reach) ** 2
    return float(np.dot(probs, np.exp(exponent)))


numbers = st.floats(0.0, 1.0)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(numbers, st.floats(0.01, 1.0)), min_size=1, max_size=4),
    numbers,
    st.floats(0.01, 0.95),
)
def test_the_inequality_holds_for_values_above_a_less_the_reach(atoms, a, speed):
    values, masses = zip(*atoms, strict=True)
    probs = np.array(masses) / sum(masses)
    reach = max(a - min(values), 0.0)
    if reach > 1e-3:
        assert mean_exponential(values, probs, a, reach, speed) <= 1.0 + 1e-9


def test_half_of_psi_would_not_do():
    assert mean_exponential([0.0, 1.0], [0.5, 0.5], 0.5, 0.5, 0.4, part=0.5) > 1.01


def test_both_sides_share_delta():
    assert two_sided_log_term(0.1) == pytest.approx(math.log(20.0))
    assert two_sided_log_term(0.0) == math.inf


STRATA = Strata(
    counts=np.array([10.0, 20.0, 50.0]),
    means=np.array([0.3, -0.1, 0.4]),
    squares=np.array([1.0, 2.0, 3.0]),
    centers=np.array([0.2, 0.0, 0.5]),
    low=np.array([-1.0, -0.5, 0.0]),
    high=np.array([0.5, 1.0, 1.0]),
)


def end_by_hand(caps, side, speed, used, log_term):
    """The largest of side (sum_j q_j mean_j + mean_h) + (exponents + log) / speed."""
    s = STRATA
    reach = s.high - s.centers if side > 0 else s.centers - s.low
    shares = [*caps, 1.0]
    parts = [
        psi(speed * q * c / n) * square / c**2
        for q, c, n, square in zip(shares, reach, s.counts, s.squares, strict=True)
    ]
    values = [
        side * s.means[j] + parts[j] / caps[j] / speed
        if used[j]
        else (s.high[j] if side > 0 else -s.low[j])
        for j in range(2)
    ]
    least = max(0.0, 1.0 - caps[1]), min(1.0, caps[0])
    worst = max(q * values[0] + (1.0 - q) * values[1] for q in least)
    return side * (worst + side * s.means[2] + (log_term + parts[2]) / speed)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("caps", [(0.7, 0.6), (1.0, 0.25)])
@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True)])
def test_ends_by_hand(side, caps, used):
    plan = Plan(4.0, np.array(used))
    found = STRATA.end(np.array(caps), side, plan, 1.5)
    assert found == pytest.approx(end_by_hand(caps, side, 4.0, used, 1.5))


@pytest.mark.parametrize("side", [1, -1])
def test_ends_of_many_speeds_are_those_of_each(side):
    caps = np.array([0.7, 0.6])
    speeds = np.array([[0.5], [4.0], [9.0]])
    used = np.array([[True, True], [True, False], [False, False]])
    found = STRATA.ends(caps, side, speeds, used, 1.5)
    expected = [
        end_by_hand(caps, side, speed, of, 1.5)
        for speed, of in zip(speeds[:, 0], used, strict=True)
    ]
    np.testing.assert_allclose(found, expected)


def test_infinite_values_without_a_share_do_not_matter():
    caps = PriorCaps(np.array([0.6, 0.5, 1.0]))
    values = np.array([[np.inf, np.inf, 0.0], [3.0, 2.0, -np.inf], [1.0, 5.0, 2.0]])
    assert caps.largest_of_rows(values).tolist() == [np.inf, 0.6 * 3 + 0.4 * 2, 3.5]
    caps = PriorCaps(np.array([1.0, 1.0]))
    assert caps.largest_of_rows(np.array([[np.inf, np.inf]])).tolist() == [np.inf]


def rows_of(seed=0, n=200, m=130, delta=0.1):
    rng = np.random.default_rng(seed)
    labels = rng.choice(K, p=[0.5, 0.3, 0.2], size=n)
    said = np.where(rng.random(n) < 0.8, labels, rng.integers(K, size=n))
    new = rng.integers(K, size=m)
    probs, probs_new = (0.7 * one_hot(x, K) + 0.1 for x in (said, new))
    losses = rng.random(n) * (said == labels)
    return (
        losses,
        labels,
        said,
        new,
        shift_rows(probs, labels, probs_new, said, new, delta),
    )


def test_a_fifth_of_delta_is_for_the_caps():
    _, labels, said, new, rows = rows_of(delta=0.1)
    joint = np.zeros((K, K), dtype=np.int64)
    np.add.at(joint, (said, labels), 1)
    counted = Confusion(joint, np.bincount(new, minlength=K), 200, 130, False)
    np.testing.assert_array_equal(rows.caps, prior_caps(counted, 0.02).high)
    assert rows.log_term == pytest.approx(math.log(2.0 / 0.08))


def test_every_third_row_fits_and_the_others_bound():
    labels = np.array([0, 0, 1, 0, 1, 1, 0, 0, 0])
    assert every_third_of_class(labels).tolist() == [
        False, False, False, True, False, True, False, False, True,
    ]  # fmt: skip
    assert every_third(7).tolist() == [False, False, True, False, False, True, False]


def test_sums_of_the_rows_that_bound():
    losses, labels, _, _, rows = rows_of()
    source, target = rows.outputs[0]
    carried = Carried(losses, source, target, np.array([0.2, -0.1, 0.4]), 0.0, 1.0)
    strata = carried.strata(rows)
    centers = carried.planned(rows).centers
    for j in range(K):
        own = (labels == j) & ~rows.fits
        z = losses[own] - source[own] @ carried.coefficients
        assert strata.counts[j] == own.sum()
        assert strata.means[j] == pytest.approx(z.mean())
        assert strata.squares[j] == pytest.approx(((z - centers[j]) ** 2).sum())
        assert (strata.low[j], strata.high[j]) == pytest.approx((-0.4, 1.1))
    h = target[~rows.fits_target] @ carried.coefficients
    assert strata.counts[K] == h.size == (~rows.fits_target).sum()
    assert strata.means[K] == pytest.approx(h.mean())
    assert strata.squares[K] == pytest.approx(((h - centers[K]) ** 2).sum())
    assert (strata.low[K], strata.high[K]) == pytest.approx((-0.1, 0.4))


@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_what_is_missing_are_mirrored(seed):
    losses, labels, *_, rows = rows_of(seed)
    low, high = certified_interval(losses, 0.0, 1.0, rows)
    others = certified_interval(1.0 - losses, 0.0, 1.0, rows)
    np.testing.assert_allclose(others, (1.0 - high, 1.0 - low), atol=1e-9)
    prior = np.array([0.2, 0.3, 0.5])
    low, high = known_prior_interval(losses, 0.0, 1.0, labels, prior, 0.1)
    others = known_prior_interval(1.0 - losses, 0.0, 1.0, labels, prior, 0.1)
    np.testing.assert_allclose(others, (1.0 - high, 1.0 - low), atol=1e-9)


def test_a_mean_below_caps_takes_the_largest_values_first():
    caps = PriorCaps(np.array([0.3, 0.5, 0.4]))
    assert caps.largest(np.array([1.0, 5.0, 2.0])) == pytest.approx(2.5 + 0.8 + 0.1)


def test_the_interval_shrinks_with_the_rows_that_bound_and_not_with_delta_zero():
    losses, *_, rows = rows_of(n=400, m=400)
    low, high = certified_interval(losses, 0.0, 1.0, rows)
    without = ShiftRows(
        rows.labels, rows.fits, rows.fits_target, rows.outputs, rows.caps,
        rows.planned_caps, math.inf,
    )  # fmt: skip
    assert 0.0 < high - low < 1.0
    assert certified_interval(losses, 0.0, 1.0, without) == (0.0, 1.0)
