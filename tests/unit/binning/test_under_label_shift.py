"""Bins under label shift and with sample weights."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq.binning.target_error import largest_error


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 2, 0.7], size=1500)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    return probs, labels


@pytest.fixture(scope="module")
def target():
    """Rows of the same classes, more of class 0 and fewer of class 1."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([1, 2, 0.7], size=6000)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    return probs[rng.random(6000) < np.array([1.0, 0.3, 0.6])[labels]]


# ------------------------------------------------------------------- label shift


def test_reweighted_frequencies_by_hand():
    """Eight rows in a bin: (4, 3, 1) of each label, weights (1, 2, 4)."""
    probs = np.tile([0.4, 0.3, 0.3], (8, 1))
    fit = dfu.histogram_binning(
        probs,
        [0, 0, 0, 0, 1, 1, 1, 2],
        n_bins=1,
        scheme=lambda p: np.zeros(len(p), dtype=int),
    )
    shifted = fit.under_label_shift([1, 2, 4])
    np.testing.assert_allclose(shifted.frequencies, [[4 / 14, 6 / 14, 4 / 14]])
    np.testing.assert_allclose(shifted.fallback, [4 / 14, 6 / 14, 4 / 14])
    assert shifted.shift.kappa == 4
    # all of what may move goes from the labels of the largest weight to the first
    pi, budget = np.array([4.0, 3.0, 1.0]) / 8, fit.radius[0] / 2
    taken = min(budget, 1 / 8)
    moved = pi + np.array([budget, taken - budget, -taken])
    down = moved * [1, 2, 4] / (moved @ [1, 2, 4])
    assert shifted.radius[0] >= np.abs(down - shifted.frequencies[0]).sum()
    assert shifted.radius[0] <= min(2.0, 4 * fit.radius[0] / (14 / 8))
    np.testing.assert_array_equal(shifted.counts, fit.counts)
    scaled = fit.under_label_shift([0.1, 0.2, 0.4])
    np.testing.assert_allclose(scaled.radius, shifted.radius)


def test_known_weights_have_one_term(source):
    fit = dfu.histogram_binning(*source, n_bins=4)
    w = np.array([2.0, 0.5, 1.0])
    shifted = fit.under_label_shift(w)
    general = 2 * fit.radius / (fit.frequencies @ w)
    exact = largest_error(fit.frequencies, fit.radius, w)
    np.testing.assert_allclose(shifted.radius, exact, rtol=1e-12)
    assert (shifted.radius < general).all()
    np.testing.assert_array_equal(shifted.shift.source_radius, shifted.radius)
    assert (shifted.shift.weight_radius == 0).all() and shifted.shift.delta == 0
    assert shifted.guarantee.confidence == 0.9 and shifted.guarantee.finite_sample
    same = dfu.label_weights([0.25, 0.5, 0.25], [0.5, 0.25, 0.25])
    by_result = fit.under_label_shift(same)
    np.testing.assert_allclose(by_result.frequencies, shifted.frequencies)
    assert by_result.shift.weights_from == "known"


def test_no_shift_changes_nothing_for_known_weights(source):
    for mode in ("canonical", "classwise", "top-label"):
        fit = dfu.histogram_binning(*source, n_bins=4, mode=mode)
        same = fit.under_label_shift([1, 1, 1])
        np.testing.assert_allclose(same.frequencies, fit.frequencies)
        np.testing.assert_allclose(same.fallback, fit.fallback)


def test_region_of_weights_adds_a_term(source):
    fit = dfu.histogram_binning(*source, n_bins=4)
    w, low, high = [1.0, 2.0, 0.5], [0.9, 1.8, 0.4], [1.1, 2.2, 0.6]
    shifted = fit.under_label_shift(w, region=dfu.Box(low, high, True), delta=0.03)
    table = fit.frequencies
    part = 2.2 * fit.radius / (table @ low)
    np.testing.assert_allclose(shifted.shift.source_radius, part)
    weight = np.minimum(
        bounds.label_shift_weight_radius(table, w, low, high),
        bounds.label_shift_tilt_radius(table, w, low, high),
    )
    np.testing.assert_allclose(shifted.shift.weight_radius, weight)
    np.testing.assert_allclose(shifted.radius, part + weight)
    assert shifted.guarantee.confidence == pytest.approx(0.87)
    center = fit.under_label_shift(dfu.Box(low, high, True))
    np.testing.assert_allclose(center.shift.label_weight, [1.0, 2.0, 0.5])
    assert center.shift.weights_from == "given region"


def test_polytope_is_used_beyond_its_intervals(source, target):
    fit = dfu.histogram_binning(*source, n_bins=4)
    estimate = dfu.bbse(*source, target)
    by_polytope = fit.under_label_shift(estimate, delta=0.1)
    box = estimate.region(0.1).ranges()
    by_box = fit.under_label_shift(estimate.label_weight, region=box, delta=0.1)
    np.testing.assert_array_equal(by_polytope.frequencies, by_box.frequencies)
    smaller = by_box.shift.source_radius - by_polytope.shift.source_radius
    assert smaller.min() > -1e-9 and smaller.max() > 1e-3
    assert by_polytope.shift.weights_from == "BBSE"
    assert by_polytope.guarantee.finite_sample
    assert "weight estimation up to" in " ".join(str(by_polytope).split())


def test_asymptotic_region_makes_an_asymptotic_claim(source, target):
    fit = dfu.histogram_binning(*source, n_bins=4)
    shifted = fit.under_label_shift(dfu.mlls(*source, target))
    assert not shifted.guarantee.finite_sample
    assert "asymptotic" in str(shifted)


def test_two_classes_are_exact():
    rng = np.random.default_rng(2)
    scores = rng.random(2000)
    labels = (rng.random(2000) < scores).astype(int)
    fit = dfu.histogram_binning(scores, labels, n_bins=5)
    shifted = fit.under_label_shift([0.4, 1.6])
    low = bounds.binary_label_shift(fit.low[:, 1], 4.0)
    high = bounds.binary_label_shift(fit.high[:, 1], 4.0)
    np.testing.assert_allclose(shifted.low[:, 1], low)
    np.testing.assert_allclose(shifted.high[:, 1], high)
    p = shifted.frequencies[:, 1]
    np.testing.assert_allclose(shifted.radius, 2 * np.maximum(p - low, high - p))
    # never wider than the general bound
    general = bounds.label_shift_source_radius(
        fit.radius, 1.6, fit.frequencies @ [0.4, 1.6]
    )
    assert (shifted.radius <= general + 1e-12).all()
    box = dfu.Box([0.3, 1.5], [0.5, 1.7], True)
    wide = fit.under_label_shift([0.4, 1.6], region=box)
    np.testing.assert_allclose(
        wide.low[:, 1], bounds.binary_label_shift(fit.low[:, 1], 1.5 / 0.5)
    )
    np.testing.assert_allclose(
        wide.high[:, 1], bounds.binary_label_shift(fit.high[:, 1], 1.7 / 0.3)
    )
    np.testing.assert_allclose(
        wide.radius, wide.shift.source_radius + wide.shift.weight_radius
    )


def test_class_absent_from_the_target():
    rng = np.random.default_rng(3)
    scores = rng.random(400)
    labels = (rng.random(400) < scores).astype(int)
    fit = dfu.histogram_binning(scores, labels, n_bins=4)
    only_one = fit.under_label_shift([0.0, 1.0])
    assert (only_one.frequencies == [0.0, 1.0]).all() and (only_one.radius == 0).all()
    only_zero = fit.under_label_shift([1.0, 0.0])
    assert (only_zero.frequencies == [1.0, 0.0]).all()
    assert (only_zero.radius == 0).all()


def test_bin_without_any_class_of_the_target():
    """Bin 0 holds label 1 alone, whose weight is zero: nothing is known of it."""
    probs = [[0.8, 0.1, 0.1]] * 6 + [[0.1, 0.1, 0.8]] * 6
    labels = [1] * 6 + [0, 1, 2, 0, 1, 2]
    fit = dfu.histogram_binning(
        probs, labels, n_bins=2, scheme=lambda p: (p[:, 0] < 0.5).astype(int)
    )
    shifted = fit.under_label_shift([2, 0, 1])
    assert np.isnan(shifted.frequencies[0]).all() and shifted.radius[0] == 2
    np.testing.assert_allclose(shifted.frequencies[1], [2 / 3, 0, 1 / 3])
    assert shifted.low[0].tolist() == [0, 0, 0] and shifted.high[0].tolist() == [1] * 3
    with pytest.warns(dfu.EmptyBinWarning, match="of a class that the target has"):
        new = shifted.predict(probs)
    np.testing.assert_allclose(new[0], [2 / 3, 0, 1 / 3])  # the target's prior
    np.testing.assert_allclose(new.sum(axis=1), 1)


def test_class_absent_from_source_rows_and_target_of_that_class_alone():
    fit = dfu.histogram_binning(
        [[0.5, 0.3, 0.2]] * 4, [0, 1, 0, 1], n_bins=1, scheme=lambda p: np.zeros(4, int)
    )
    shifted = fit.under_label_shift([0, 0, 1])
    assert np.isnan(shifted.frequencies).all()
    np.testing.assert_allclose(shifted.fallback, [0, 0, 1])


def test_unbounded_region_makes_the_trivial_claim(source):
    fit = dfu.histogram_binning(*source, n_bins=4)
    region = dfu.Box([0.0, 0.0, 0.0], [np.inf] * 3, True)
    shifted = fit.under_label_shift([1, 1, 1], region=region)
    assert (shifted.radius == 2).all()
    with pytest.raises(dfu.InputError, match="finite ends"):
        fit.under_label_shift(region)


def test_empty_region_contradicts_label_shift(source):
    fit = dfu.histogram_binning(*source, n_bins=4)
    region = dfu.Box([2.0, 2.0, 2.0], [1.0, 1.0, 1.0], True)
    with pytest.warns(dfu.DistFreeWarning, match="contradicted"):
        shifted = fit.under_label_shift([1, 1, 1], region=region)
    assert not shifted.guarantee and (shifted.radius == 2).all()


def test_events_need_the_counts_of_all_labels():
    """Class-wise, the rest does not keep its composition under label shift."""
    probs = np.tile([0.5, 0.3, 0.2], (10, 1))
    labels = [0] * 4 + [1] * 4 + [2] * 2
    w = np.array([1.0, 0.0, 3.0])
    fit = dfu.histogram_binning(probs, labels, mode="classwise", scheme=[0.9])
    shifted = fit.under_label_shift(w)
    np.testing.assert_allclose(shifted.frequencies[0], [0.4, 0.0, 0.6])
    top = dfu.histogram_binning(probs, labels, mode="top-label", scheme=[0.9])
    assert top.under_label_shift(w).frequencies[0] == pytest.approx(0.4)


def test_event_radius_by_hand():
    rng = np.random.default_rng(4)
    probs = rng.dirichlet([1, 1, 1], size=800)
    labels = rng.integers(0, 3, 800)
    fit = dfu.histogram_binning(probs, labels, mode="top-label", scheme=[0.6])
    box = dfu.Box([0.9, 1.9, 0.5], [1.1, 2.1, 0.5], True)
    shifted = fit.under_label_shift([1.0, 2.0, 0.5], region=box)
    rows = fit.label_counts.sum(axis=1)
    n = rows.sum(axis=1)
    plain = np.sqrt(np.log(2 * 2 / 0.1) / (2 * n))  # Hoeffding, two bins, two sides
    table = rows / n[:, None]
    expected = 2.1 * plain / (table @ box.low)
    np.testing.assert_allclose(shifted.shift.source_radius, expected)
    weight = np.minimum(
        bounds.label_shift_weight_radius(table, [1, 2, 0.5], box.low, box.high),
        bounds.label_shift_tilt_radius(table, [1, 2, 0.5], box.low, box.high),
    )
    np.testing.assert_allclose(shifted.shift.weight_radius, weight / 2)


@pytest.mark.parametrize(
    "weights, options, message",
    [
        ([1.0, 2.0], {}, "of length 3"),
        ([1.0, 2.0, np.inf], {}, "finite"),
        ([0.0, 0.0, 0.0], {}, "some are positive"),
        ([1.0, -2.0, 1.0], {}, "non-negative"),
        ([1.0, 2.0, 1.0], {"delta": 2}, "'delta'"),
        ([1.0, 2.0, 1.0], {"region": [0, 1]}, "a Box, a Polytope or None"),
        ([1.0, 2.0, 1.0], {"region": dfu.Box([1, 1], [1, 1], True)}, "of 3 classes"),
    ],
)
def test_bad_weights_are_told(source, weights, options, message):
    fit = dfu.histogram_binning(*source, n_bins=4)
    with pytest.raises(dfu.InputError, match=message):
        fit.under_label_shift(weights, **options)


def test_a_shift_is_made_once_and_from_unweighted_rows(source):
    fit = dfu.histogram_binning(*source, n_bins=4)
    with pytest.raises(dfu.InputError, match="a second shift"):
        fit.under_label_shift([1, 2, 1]).under_label_shift([1, 2, 1])
    weighted = dfu.histogram_binning(*source, sample_weight=np.ones(1500))
    with pytest.raises(dfu.InputError, match="without sample weights"):
        weighted.under_label_shift([1, 2, 1])
    box = dfu.Box([1, 1, 1], [2, 2, 2], True)
    with pytest.raises(dfu.InputError, match="'region' parameter"):
        fit.under_label_shift(box, region=box)
    other = dfu.label_weights([0.5, 0.5], [0.4, 0.6])
    with pytest.raises(dfu.InputError, match="for the classes"):
        fit.under_label_shift(other)


def test_too_many_label_counts_are_not_kept():
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(700), size=60)
    fit = dfu.histogram_binning(probs, rng.integers(0, 700, 60), mode="classwise")
    assert fit.label_counts is None and fit.counts.sum() <= 60 * 700
    with pytest.raises(dfu.InputError, match="fewer classes or bins"):
        fit.under_label_shift(np.ones(700))


# ---------------------------------------------------------------- sample weights


@pytest.mark.parametrize("mode", ["canonical", "classwise", "top-label"])
def test_unit_weights_change_no_frequency(source, mode):
    plain = dfu.histogram_binning(*source, mode=mode, n_bins=4)
    weighted = dfu.histogram_binning(
        *source, mode=mode, n_bins=4, sample_weight=np.ones(1500), weight_bound=1.0
    )
    np.testing.assert_allclose(weighted.frequencies, plain.frequencies)
    np.testing.assert_allclose(weighted.mean_probs, plain.mean_probs)
    np.testing.assert_array_equal(weighted.bin_counts, plain.bin_counts)
    np.testing.assert_allclose(weighted.effective_counts, plain.bin_counts)
    weissman = dfu.histogram_binning(*source, mode=mode, n_bins=4, bound="weissman")
    by_range = dfu.histogram_binning(
        *source,
        mode=mode,
        n_bins=4,
        sample_weight=np.ones(1500),
        weight_bound=1.0,
        bound="hoeffding",
    )
    np.testing.assert_allclose(by_range.radius, weissman.radius)


def test_weighted_frequencies_by_hand():
    scores, labels = [0.1, 0.2, 0.3, 0.8], [0, 1, 1, 1]
    fit = dfu.histogram_binning(
        scores, labels, scheme=[0.5], sample_weight=[3.0, 1.0, 2.0, 5.0]
    )
    assert fit.counts.tolist() == [[3, 3], [0, 5]]
    assert fit.frequencies.tolist() == [[0.5, 0.5], [0, 1]]
    assert fit.bin_counts.tolist() == [3, 1]
    np.testing.assert_allclose(fit.effective_counts, [36 / 14, 1])
    np.testing.assert_allclose(fit.mean_probs[:, 1], [(0.3 + 0.2 + 0.6) / 6, 0.8])
    np.testing.assert_allclose(fit.fallback, [3 / 11, 8 / 11])
    assert not fit.guarantee and "weight_bound" in fit.guarantee.reason
    assert "n_effective" in fit.to_frame()


def test_known_bounded_weights_make_a_claim(source):
    rng = np.random.default_rng(6)
    weights = rng.uniform(0.5, 2.0, 1500)
    options = {"n_bins": 4, "sample_weight": weights, "weight_bound": 2.0}
    fit = dfu.histogram_binning(*source, **options)
    assert fit.guarantee.confidence == 0.9 and fit.bound == "hoeffding, weighted"
    assert any("true q(x)/p(x)" in need for need in fit.guarantee.assumptions)
    score, hit = source[0][:, 0], (source[1] == 0).astype(int)
    radii = {
        bound: dfu.histogram_binning(score, hit, bound=bound, **options).radius
        for bound in ("auto", "hoeffding", "chernoff", "bernstein", "betting")
    }
    assert (radii["chernoff"] <= radii["hoeffding"]).all()
    np.testing.assert_array_equal(radii["auto"], radii["betting"])
    half = dfu.histogram_binning(score, hit, bound="chernoff", alpha=0.05, **options)
    auto = dfu.histogram_binning(score, hit, **options)
    assert (auto.low >= half.low).all() and (auto.high <= half.high).all()
    # rows split between the points of a grid: nearly the ends of the rows themselves
    edges = {**options, "scheme": [0.25, 0.5, 0.75]}
    auto = dfu.histogram_binning(score, hit, **edges)
    for m in range(4):
        rows = auto.assign(score) == m
        low, high = dfu.bounds.weighted_betting_interval(
            hit[rows] * 1.0, weights[rows], 0.1 / 4, 2.0
        )
        assert 0.0 <= low - auto.low[m, 1] < 1e-3
        assert 0.0 <= auto.high[m, 1] - high < 1e-3
    with pytest.raises(dfu.InputError, match="'bound'"):
        dfu.histogram_binning(*source, bound="bernstein", **options)
    scaled = dfu.histogram_binning(
        score, hit, n_bins=4, sample_weight=10 * weights, weight_bound=20.0
    )
    np.testing.assert_allclose(scaled.radius, radii["auto"])


def test_rows_without_weight_leave_a_bin_undefined():
    fit = dfu.histogram_binning(
        [0.1, 0.2, 0.8], [0, 1, 1], scheme=[0.5], sample_weight=[0.0, 0.0, 1.0]
    )
    assert np.isnan(fit.frequencies[0]).all() and fit.radius[0] == 2
    with pytest.warns(dfu.EmptyBinWarning):
        np.testing.assert_allclose(fit.predict([0.1]), [[0.0, 1.0]])


def test_split_keeps_weights_with_their_rows(source):
    weights = np.arange(1, 1501.0)
    fit = dfu.histogram_binning(
        *source, n_bins=3, sample_weight=weights, split=0.5, rng=0, mode="top-label"
    )
    assert fit.effective_counts.sum() < 750
    one_row = np.where(np.arange(1500) == 0, 1.0, 0.0)
    with pytest.raises(dfu.InputError, match="positive for a row that counts"):
        for seed in range(20):  # in one of them the row is among those that choose
            dfu.histogram_binning(*source, sample_weight=one_row, split=0.5, rng=seed)


def test_a_region_s_own_level_is_kept(source):
    fit = dfu.histogram_binning(*source, n_bins=2, alpha=0.1)
    box = dfu.Box([0.9] * 3, [1.1] * 3, True, 0.2)
    for shifted in (
        fit.under_label_shift([1, 1, 1], region=box, delta=0.05),
        fit.under_label_shift(box, delta=0.05),
    ):
        assert shifted.shift.delta == 0.2
        assert shifted.guarantee.confidence == pytest.approx(0.7)
    declared = dfu.Box([0.9] * 3, [1.1] * 3, True)
    assert fit.under_label_shift(declared, delta=0.05).shift.delta == 0.05


def test_weights_in_another_order_of_classes_are_refused(source, target):
    probs, labels = source
    names = np.array(["a", "b", "c"])
    weights = dfu.bbse(probs, names[labels], target, classes=names)
    turned = dfu.histogram_binning(
        probs[:, ::-1], names[labels], n_bins=2, classes=names[::-1]
    )
    with pytest.raises(dfu.InputError, match="label_weight"):
        turned.under_label_shift(weights)


@pytest.mark.parametrize("mode", ["canonical", "top-label", "classwise"])
def test_rows_on_edges_are_excepted_on_the_target_too(source, mode):
    fit = dfu.histogram_binning(*source, n_bins=3, mode=mode)
    shifted = fit.under_label_shift([1, 2, 1])
    for one in (fit, shifted):
        assert "rows not on an edge" in one.guarantee.statement
    assert set(fit.guarantee.assumptions) < set(shifted.guarantee.assumptions)
