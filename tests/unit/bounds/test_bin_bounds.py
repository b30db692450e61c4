"""Bounds of binning: by hand, against each other, and at their ends."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from distfreeuq import bounds
from distfreeuq.binning.radii import (
    binomial_radii,
    largest_radius,
    multinomial_radii,
    smallest_bound,
)
from distfreeuq.bounds import unchecked

SETTINGS = {"n_bins": 4, "alpha": 0.1}


def subset_radius_by_enumeration(row, n_bins, alpha):
    """Twice the largest excess over all 2^K - 2 subsets, one scipy call each."""
    n, n_classes = sum(row), len(row)
    level = alpha / (n_bins * (2**n_classes - 2))
    largest = 0.0
    for size in range(1, n_classes):
        for subset in itertools.combinations(row, size):
            k = sum(subset)
            low = stats.beta.ppf(level, k, n - k + 1) if k else 0.0
            largest = max(largest, k / n - low)
    return 2 * largest


@pytest.mark.parametrize(
    "row",
    [
        [3, 2],
        [5, 0],
        [2, 3, 4],
        [9, 0, 0, 0],
        [1, 1, 1, 1, 1],
        [0, 7, 1, 0, 2, 0, 0, 5],
        [40, 1, 0, 3, 2, 9, 11],
    ],
)
def test_subset_bound_equals_enumeration(row):
    got = bounds.subset_clopper_pearson([row], **SETTINGS)[0]
    assert got == pytest.approx(subset_radius_by_enumeration(row, **SETTINGS))
    n = sum(row)
    assert got <= bounds.binning_weissman(n, 4, len(row), 0.1)


def test_subset_bound_of_large_bins_is_rounded_up_a_little():
    rng = np.random.default_rng(0)
    for n, n_classes in [(600, 8), (5000, 7), (800, 9)]:
        for concentration in (0.1, 1.0, 10.0):
            prior = rng.dirichlet(np.full(n_classes, concentration))
            row = rng.multinomial(n, prior)
            got = bounds.subset_clopper_pearson([row], **SETTINGS)[0]
            exact = subset_radius_by_enumeration(row.tolist(), **SETTINGS)
            assert exact * (1 - 1e-9) <= got <= exact * 1.0021


def test_bin_of_two_classes_has_the_clopper_pearson_interval():
    """Two subsets at alpha / 2M each are one two-sided interval at alpha / M."""
    counts = np.array([[7, 3], [0, 9], [50, 50]])
    radii = multinomial_radii(counts, 3, 0.1, "clopper-pearson")
    low, high = bounds.clopper_pearson(counts[:, 1], counts.sum(axis=1), 0.1 / 3)
    np.testing.assert_allclose(radii.low[:, 1], low, rtol=1e-9)
    np.testing.assert_allclose(radii.high[:, 1], high, rtol=1e-9)
    np.testing.assert_allclose(radii.low[:, 0], 1 - high, atol=1e-12)
    p = counts[:, 1] / counts.sum(axis=1)
    np.testing.assert_allclose(radii.radius, 2 * np.maximum(p - low, high - p))
    one = binomial_radii(counts[:, 1], counts.sum(axis=1), 3, 0.1, "clopper-pearson")
    np.testing.assert_allclose(one.radius, radii.radius / 2)


@pytest.mark.parametrize("bound", ["auto", "clopper-pearson", "hoeffding", "mcdiarmid"])
def test_radii_never_exceed_the_trivial_ones(bound):
    counts = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1], [3, 4, 5]])
    radii = multinomial_radii(counts, 4, 0.01, bound)
    assert (radii.radius <= 2).all() and radii.radius[0] == 2
    assert radii.low[0].tolist() == [0, 0, 0] and radii.high[0].tolist() == [1, 1, 1]
    assert (radii.low <= radii.high).all()
    one = binomial_radii(counts[:, 0], counts.sum(axis=1), 4, 0.01, bound)
    assert (one.radius <= 1).all() and one.radius[0] == 1
    assert one.radius[3] < 1
    assert largest_radius(np.array([1.0, 0.2, 0.3]), np.array([0, 5, 7])) == 0.3
    assert largest_radius(np.array([1.0]), np.array([0])) == 1


@pytest.mark.parametrize(
    "function",
    [bounds.binning_hoeffding, bounds.binning_weissman, bounds.binning_mcdiarmid],
)
def test_radii_shrink_as_one_over_the_root_of_n(function):
    one, four = function([100, 400], 10, 3, 0.1)
    assert one == pytest.approx(2 * four)


def test_subset_radius_shrinks_about_as_one_over_the_root_of_n():
    shares = np.array([4, 3, 2, 1])
    small, large = bounds.subset_clopper_pearson([100 * shares, 1600 * shares], 1, 0.1)
    assert small / large == pytest.approx(4, rel=0.02)


def test_many_classes_neither_overflow_nor_underflow():
    counts = np.ones((1, 2000), dtype=int)
    exact = bounds.subset_clopper_pearson(counts, 10, 0.1)
    assert exact == bounds.binning_weissman(2000, 10, 2000, 0.1)
    assert multinomial_radii(counts, 10, 0.1, "clopper-pearson").bound == "weissman"
    assert smallest_bound(10, 2000, 0.1) == "mcdiarmid"
    assert smallest_bound(10, 10, 0.1) == "clopper-pearson"
    smallest = bounds.binning_smallest(2000, 10, 2000, 0.1)
    assert smallest == bounds.binning_mcdiarmid(2000, 10, 2000, 0.1)


def test_unit_weights_give_weissman_and_bernstein():
    n = np.array([0, 50, 400])
    weighted = bounds.weighted_hoeffding(n, np.ones(3), 1.0, 5, 3, 0.1)
    np.testing.assert_array_equal(weighted, bounds.binning_weissman(n, 5, 3, 0.1))
    hits = np.array([0.0, 10.0, 4.0])
    radius = bounds.weighted_bernstein(n, (hits, n), (hits, n), 1.0, 0.05)
    assert radius[0] == np.inf
    for k, size, got in zip(hits[1:], n[1:], radius[1:], strict=True):
        values = np.r_[np.ones(int(k)), np.zeros(size - int(k))]
        # the numbers 1{event} - q have the variance of 1{event}, whatever q
        assert got == pytest.approx(bounds.empirical_bernstein(values, 0.05))


def test_weighted_bernstein_ends_solve_its_inequality():
    rng = np.random.default_rng(1)
    w, event = rng.uniform(0.2, 2.0, 300), rng.random(300) < 0.1
    radius = bounds.weighted_bernstein(
        [300], ([w @ event], [w.sum()]), ([w**2 @ event], [w @ w]), 2.0, 0.05
    )[0]
    frequency = w @ event / w.sum()

    def gap(q):
        numbers = w * (event - q)
        return abs(numbers.mean()) - unchecked.empirical_bernstein(numbers, 0.05, 2.0)

    ends = [frequency - radius, frequency + radius]
    assert min(abs(gap(q)) for q in ends) < 1e-9
    assert all(gap(q) < 1e-9 for q in np.linspace(*ends, 9)[1:-1])
    assert all(gap(q) > -1e-9 for q in (frequency - 2 * radius, frequency + 2 * radius))


def test_chernoff_ends_solve_their_equation_and_are_within_hoeffding():
    n, share, mean = np.array([50, 50, 400, 400]), [0.0, 0.4, 0.4, 1.0], [1, 1.5, 1, 2]
    low, high = bounds.weighted_chernoff(n, share, mean, 2.0, 0.05)
    radius = bounds.weighted_hoeffding(n, mean, 2.0, 1, 2, 0.05) / 2
    assert (share - low <= radius).all() and (high - share <= radius).all()
    assert low[0] == 0 and high[3] == pytest.approx(1) and (low <= high).all()
    for i, end in [(0, high[0]), (1, low[1]), (1, high[1]), (2, high[2]), (3, low[3])]:
        average = end + mean[i] / 2 * (share[i] - end)
        entropy = stats.entropy([average, 1 - average], [end, 1 - end])
        assert entropy == pytest.approx(math.log(2 / 0.05) / n[i])
    nothing = bounds.weighted_chernoff([0, 5], [np.nan, np.nan], [np.nan, 0], 2.0, 0.05)
    assert nothing[0].tolist() == [0, 0] and nothing[1].tolist() == [1, 1]


def test_weights_do_not_depend_on_their_scale():
    args = ([300], ([20.0], [250.0]), ([25.0], [310.0]), 2.0, 0.05)
    scaled = ([300], ([60.0], [750.0]), ([225.0], [2790.0]), 6.0, 0.05)
    np.testing.assert_allclose(
        bounds.weighted_bernstein(*args), bounds.weighted_bernstein(*scaled)
    )


def l1(p, q):
    return np.abs(p - q).sum()


def tilt(p, w):
    return p * w / (p @ w)


def test_weight_radii_hold_for_every_corner_and_one_is_attained():
    p, w = np.array([0.5, 0.3, 0.2]), np.array([1.0, 2.0, 0.5])
    low, high = w * [0.9, 0.8, 0.7], w * [1.1, 1.3, 1.2]
    worst = max(
        l1(tilt(p, w), tilt(p, np.where(corner, high, low)))
        for corner in itertools.product([False, True], repeat=3)
    )
    for function in (bounds.label_shift_weight_radius, bounds.label_shift_tilt_radius):
        assert worst <= function(p, w, low, high)
    # two classes with probabilities at the point where the tilt moves most: sharp
    ratio = 4.0
    p = np.array([1, math.sqrt(ratio)]) / (1 + math.sqrt(ratio))
    w, true = np.array([1.0, 1.0]), np.array([ratio, 1.0])
    moved = l1(tilt(p, w), tilt(p, true))
    radius = bounds.label_shift_tilt_radius(p, w, true, true)
    assert moved == pytest.approx(radius)
    assert radius == pytest.approx(2 * math.tanh(math.log(4) / 4))


def test_weight_radii_at_the_ends():
    p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    w, low, high = np.array([1.0, 2.0, 0.0]), [0.5, 1.0, 0.0], [2.0, 3.0, np.inf]
    box = bounds.label_shift_weight_radius(p, w, low, high)
    assert box[0] == pytest.approx(2 * 1.0 / 1.5)  # the class without rows is no matter
    assert box[1] == np.inf and box[2] == np.inf
    ratio = bounds.label_shift_tilt_radius(p[:2], w, low, high)
    assert ratio[0] == pytest.approx(2 * math.tanh(math.log(4) / 4)) and ratio[1] == 2
    # a class that is certainly absent is no matter either
    absent = bounds.label_shift_tilt_radius(p[:2], w, [1.0, 2.0, 0.0], [1.0, 2.0, 0.0])
    assert absent.tolist() == [0, 0]
    none = bounds.label_shift_source_radius([0.1, 0.1], 2.0, [0.5, 0.0])
    assert none.tolist() == [0.4, np.inf]


def test_binary_shift_at_the_ends():
    shift = bounds.binary_label_shift
    assert shift([0.0, 0.2, 1.0], 1.0).tolist() == [0.0, 0.2, 1.0]
    assert shift([0.2, 1.0], np.inf).tolist() == [1.0, 1.0]
    assert shift([0.0, 0.2], 0.0).tolist() == [0.0, 0.0]
    assert np.isnan(shift([0.0, 1.0], [np.inf, 0.0])).all()


def test_repaired_bound_is_at_most_half_of_the_printed_first_term():
    rng = np.random.default_rng(2)
    for _ in range(200):
        w = rng.uniform(0.1, 5, 4)
        p, q = rng.dirichlet(np.ones(4), 2)
        repaired = bounds.label_shift_source_radius(l1(p, q), w.max(), p @ w)
        assert l1(tilt(p, w), tilt(q, w)) <= repaired * (1 + 1e-12)
        assert 2 * repaired <= bounds.theorem4_printed(l1(p, q), w) * (1 + 1e-12)


@pytest.mark.parametrize("weight", [1.0, 1.0041627667227284, 0.1, 1e5 / 3])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_chernoff_of_weights_at_their_bound_is_that_of_equal_rows(weight, share):
    """The mean of ten equal weights may round to more than the weight itself."""
    mean = np.sum(np.full(10, weight)) / 10
    low, high = bounds.weighted_chernoff([10], [share], [mean], weight, 0.15)
    plain = bounds.weighted_chernoff([10], [share], [1.0], 1.0, 0.15)
    assert np.allclose([low, high], plain, atol=1e-9)
    assert high[0] - low[0] == pytest.approx(1.0 - 0.075**0.1, abs=1e-9)
    beyond = bounds.weighted_chernoff(
        [10], [share], [weight * (1 + 4e-16)], weight, 0.15
    )
    assert np.allclose(beyond, plain, atol=1e-9)
