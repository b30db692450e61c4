"""Label-shift conformal sets: weights known, estimated, and within a region."""

import itertools
import warnings

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds, label_shift_conformal, scenarios
from distfreeuq.conformal.pac_thresholds import stratified_pac_threshold
from distfreeuq.conformal.thresholds import label_shift_thresholds, union_thresholds
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference.prior_distance import (
    coverage_with_weights,
    total_variation,
    total_variation_bound,
    total_variation_of_counts,
)

SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
LABELS = np.array([0, 1, 0, 1, 0, 1, 0, 1])


@pytest.fixture(scope="module")
def toy():
    scenario = scenarios.three_gaussians()
    x, labels = scenario.sample(600, "source", rng=0)
    x_target, labels_target = scenario.sample(600, "target", rng=0)
    probs, probs_target = scenario.posterior(x), scenario.posterior(x_target)
    return scenario, probs, labels, probs_target, labels_target


@pytest.fixture(scope="module")
def estimate(toy):
    _, probs, labels, probs_target, _ = toy
    return dfu.bbse(probs, labels, probs_target)


@pytest.mark.parametrize("scale", [1.0, 0.1, 1e-300, 1e300, 3.7])
def test_equal_weights_are_split_conformal_bit_for_bit(toy, scale):
    _, probs, labels, _, _ = toy
    for alpha in (0.05, 0.1, 1 / 3):
        plain = dfu.split_conformal(probs, labels, alpha=alpha, rng=1)
        shifted = label_shift_conformal(
            probs, labels, np.full(3, scale), alpha=alpha, rng=1
        )
        np.testing.assert_array_equal(shifted.thresholds, plain.thresholds)
        np.testing.assert_allclose(
            shifted.p_values(probs), plain.p_values(probs), rtol=1e-12
        )


def test_scale_of_the_weights_is_irrelevant(toy):
    scenario, probs, labels, _, _ = toy
    reference = label_shift_conformal(probs, labels, scenario.label_weight, rng=1)
    for scale in (2.0, 1e-250, 1e250):
        weights = scale * scenario.label_weight
        scaled = label_shift_conformal(probs, labels, weights, rng=1)
        np.testing.assert_array_equal(scaled.thresholds, reference.thresholds)


def test_sets_are_p_values_above_alpha(toy):
    scenario, probs, labels, probs_target, _ = toy
    weights = scenario.label_weight
    for w in (weights, weights * [1, 0, 1]):
        fit = label_shift_conformal(probs, labels, w, alpha=0.2, rng=1)
        expected = fit.p_values(probs_target) > 0.2
        np.testing.assert_array_equal(fit.predict(probs_target).mask, expected)


def test_class_that_the_source_lacks_is_in_every_set(toy):
    _, probs, labels, probs_target, _ = toy
    seen = labels != 2
    fit = label_shift_conformal(probs[seen], labels[seen], [1, 1, np.inf], rng=1)
    assert fit.predict(probs_target).mask[:, 2].all()
    assert (fit.p_values(probs_target)[:, 2] == 1).all()
    without = label_shift_conformal(probs[seen], labels[seen], [1, 1, 0], rng=1)
    np.testing.assert_array_equal(fit.thresholds[:2], without.thresholds[:2])
    with pytest.raises(dfu.InputError, match="'label_weight' parameter"):
        label_shift_conformal(probs, labels, [1, 1, np.inf])


def test_all_calibration_rows_of_one_class(toy):
    _, probs, labels, _, _ = toy
    only = labels == 1
    fit = label_shift_conformal(probs[only], labels[only], [1, 1, 1], rng=1)
    assert np.isfinite(fit.thresholds).all()
    with pytest.warns(dfu.SmallCalibrationWarning, match="0, 1, 2"):
        fit = label_shift_conformal(probs[only], labels[only], [1, 0, 1], rng=1)
    assert np.isinf(fit.thresholds).all()


def test_own_mass_is_counted(toy):
    # eight rows of weight one; class 1 weighs 2.001 > alpha / (1 - alpha) * 8 = 2
    weights = np.array([1.0, 2.001])
    thresholds = label_shift_thresholds(SCORES, np.zeros(8, int), weights, 0.2)
    assert thresholds.tolist() == [0.8, np.inf]


@pytest.mark.parametrize(
    "weights",
    [[1, 1], [1, 1, -1], [1, np.nan, 1], [0, 0, 0], "abc", [[1, 1, 1]], None],
)
def test_bad_weights_are_refused(toy, weights):
    _, probs, labels, _, _ = toy
    with pytest.raises(dfu.InputError, match="'label_weight' parameter"):
        label_shift_conformal(probs, labels, weights)


def test_small_calibration_is_warned_of_by_name():
    probs = np.tile([[0.6, 0.4], [0.3, 0.7]], (8, 1))
    names = ["sick", "well"] * 8
    with pytest.warns(dfu.SmallCalibrationWarning, match="hold class 'sick'.*About 18"):
        label_shift_conformal(probs, names, [9.0, 0.1], classes=["sick", "well"], rng=0)


# ------------------------------------------------------------------ estimated


def test_claims_say_how_the_weights_are_known(toy, estimate):
    scenario, probs, labels, _, _ = toy
    known = label_shift_conformal(probs, labels, scenario.label_weight, rng=1)
    assert known.guarantee.finite_sample and known.guarantee.lower == 0.9
    share = 1 / (1 + 600 * scenario.label_weight.min() / scenario.label_weight.max())
    assert known.guarantee.upper == pytest.approx(0.9 + share)
    priors = dfu.label_weights(scenario.source_prior, scenario.target_prior)
    from_priors = label_shift_conformal(probs, labels, priors, rng=1)
    np.testing.assert_array_equal(from_priors.thresholds, known.thresholds)
    assert from_priors.guarantee.finite_sample

    plug_in = label_shift_conformal(probs, labels, estimate, rng=1)
    assert not plug_in.guarantee.finite_sample
    assert "asymptotic" in str(plug_in)
    declared = label_shift_conformal(probs, labels, estimate, independent=True, rng=1)
    assert declared.guarantee.finite_sample
    assert 0.0 <= declared.guarantee.lower < 0.9
    robust = label_shift_conformal(probs, labels, estimate, robust=True, rng=1)
    assert robust.guarantee.finite_sample
    assert robust.guarantee.lower == pytest.approx(0.89)


def test_robust_thresholds_are_the_largest_over_the_region(toy, estimate):
    _, probs, labels, _, _ = toy
    region = estimate.region(0.01)
    robust = label_shift_conformal(probs, labels, region, robust=True, rng=1)
    rng = np.random.default_rng(0)
    inside = []
    ranges = region.ranges()
    while len(inside) < 50:
        w = rng.uniform(ranges.low, ranges.high)
        if region.contains(w):
            inside.append(w)
    for w in [*inside, estimate.label_weight]:
        plug_in = label_shift_conformal(probs, labels, w, rng=1)
        assert (plug_in.thresholds <= robust.thresholds).all()
    with pytest.raises(dfu.InputError, match="union and directional sets have no p"):
        robust.p_values(probs)


def test_union_over_a_box_is_the_largest_over_its_corners():
    rng = np.random.default_rng(0)
    for _ in range(40):
        scores, labels = rng.random(25).round(1), rng.integers(0, 3, 25)
        low = rng.uniform(0.1, 1, 3)
        high = low + rng.uniform(0, 2, 3)
        corners = itertools.product(*zip(low, high, strict=True))
        largest = np.max(
            [label_shift_thresholds(scores, labels, np.array(w), 0.2) for w in corners],
            axis=0,
        )
        union = union_thresholds(scores, labels, dfu.Box(low, high, True), 0.2)
        np.testing.assert_array_equal(union, largest)


def test_a_point_region_is_plug_in(toy):
    scenario, probs, labels, _, _ = toy
    w = scenario.label_weight
    plug_in = label_shift_conformal(probs, labels, w, rng=1)
    point = dfu.Box(w, w, True)
    robust = label_shift_conformal(probs, labels, point, robust=True, rng=1)
    np.testing.assert_array_equal(robust.thresholds, plug_in.thresholds)


def test_an_empty_region_gives_every_label(toy):
    _, probs, labels, probs_target, _ = toy
    empty = dfu.Box([2, 2, 2], [1, 1, 1], True)
    with pytest.warns(dfu.DistFreeWarning, match="label shift is contradicted"):
        fit = label_shift_conformal(probs, labels, empty, robust=True, rng=1)
    assert fit.predict(probs_target).mask.all()


def test_what_does_not_combine_is_refused(toy, estimate):
    scenario, probs, labels, _, _ = toy
    w = scenario.label_weight
    with pytest.raises(dfu.InputError, match="'confidence' parameter"):
        label_shift_conformal(probs, labels, estimate, robust=True, confidence=0.9)
    with pytest.raises(dfu.InputError, match="'groups' parameter"):
        label_shift_conformal(probs, labels, estimate, confidence=0.9, groups=labels)
    with pytest.raises(dfu.InputError, match="'label_weight' parameter"):
        label_shift_conformal(probs, labels, w, robust=True)
    with pytest.raises(dfu.InputError, match="'label_weight' parameter"):
        label_shift_conformal(probs, labels, dfu.Box(w, w, True))
    with pytest.raises(dfu.InputError, match="'label_weight' parameter"):
        label_shift_conformal(probs, labels, dfu.Box([1, 1], [1, 1], True), robust=True)


def test_weights_must_be_for_the_same_classes(toy, estimate):
    _, probs, labels, _, _ = toy
    names = np.array(["a", "b", "c"])
    with pytest.raises(dfu.InputError, match="'label_weight' parameter"):
        label_shift_conformal(probs, names[labels], estimate, classes=names)


def test_weights_in_another_order_of_classes_are_refused(toy):
    _, probs, labels, probs_target, _ = toy
    names = ["a", "b", "c"]
    other = dfu.bbse(probs, np.array(names)[labels], probs_target, classes=names)
    turned = probs[:, ::-1], np.array(names)[labels]
    with pytest.raises(dfu.InputError, match="label_weight"):
        label_shift_conformal(*turned, other, classes=names[::-1], rng=0)
    with pytest.raises(dfu.InputError, match="label_weight"):
        label_shift_conformal(*turned, other, classes=names[::-1], robust=True, rng=0)


def test_with_few_classes_two_bounds_of_the_error_have_half_of_delta_each(
    toy, estimate
):
    _, probs, labels, _, _ = toy
    fit = label_shift_conformal(
        probs, labels, estimate, independent=True, delta=0.3, rng=0
    )
    n, counts = labels.size, np.bincount(labels)
    low, high = bounds.clopper_pearson(counts, n, 0.075 / 3)
    used = estimate.label_weight
    by_region = total_variation_bound(used, estimate.region(0.075), low, high)
    by_counts = total_variation_of_counts(estimate.confusion, used, 0.15)
    cost = min(by_region, by_counts)
    assert 0.0 < cost < 0.9
    assert fit.guarantee.lower == pytest.approx(0.9 - cost, abs=1e-12)
    assert fit.guarantee.confidence == pytest.approx(0.7)


@pytest.mark.parametrize("n_classes", [4, 8])
def test_the_error_of_the_weights_by_hand(n_classes):
    """All predictions right, equal proportions: the inverse is the identity."""
    each, n = 5000, 5000 * n_classes
    labels = np.repeat(np.arange(n_classes), each)
    confusion = hard_confusion(labels, labels, labels, n_classes)
    delta = 0.06
    found = total_variation_of_counts(confusion, np.ones(n_classes), delta)
    p = 1.0 / n_classes
    low, high = (
        float(end) for end in bounds.clopper_pearson(each, n, 0.01 / n_classes)
    )
    right, _ = bounds.clopper_pearson(each, each, 0.01 / n_classes)
    top = high / float(right) / low
    # the largest mean of equal numbers is that number
    log_sets = n_classes * np.log(2.0) + np.log(1 / 0.03)
    linear = log_sets * max(top + 1.0, 2.0) / n / 3.0
    noise = linear + np.sqrt(linear**2 + 2.0 * log_sets * (top / n + 1.0 / n))
    log_labels, linear = np.log(2 / 0.01), np.log(2 / 0.01) * top / n / 3.0
    of_labels = linear + np.sqrt(linear**2 + 2.0 * log_labels * (top - 1.0) / n)
    off = max(high - p, p - low)
    assert found == pytest.approx((noise * (high + off) / p + of_labels) / 2, abs=1e-12)
    assert 0.0 < found < 0.1


def test_nothing_is_known_of_the_error_without_rows_of_a_class():
    labels = np.repeat([0, 1], 5000)
    confusion = hard_confusion(labels, labels, labels, 3)
    assert total_variation_of_counts(confusion, np.array([1.0, 1.0, 0.0]), 0.1) == 1.0
    blind = hard_confusion(np.zeros_like(labels), labels, np.zeros_like(labels), 2)
    assert total_variation_of_counts(blind, np.ones(2), 0.1) == 1.0


def test_known_weights_have_no_upper_side_where_scores_tie(toy):
    _, probs, labels, _, _ = toy
    weights = [1.0, 1.2, 0.9]
    free = label_shift_conformal(probs, labels, weights, rng=np.random.default_rng(0))
    assert free.guarantee.upper < 1.0
    twice = np.r_[probs, probs], np.r_[labels, labels]
    tied = label_shift_conformal(*twice, weights, score="lac")
    assert tied.guarantee.upper is None
    assert "<=" not in tied.guarantee.statement


def test_singular_confusion_matrix_needs_robust(toy):
    _, probs, labels, probs_target, _ = toy
    never = np.array([[0.45, 0.1, 0.45], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]])
    blunt = probs @ never  # class 0 is never predicted
    assert 0 not in blunt.argmax(axis=1)
    with pytest.warns(dfu.DistFreeWarning):
        singular = dfu.bbse(blunt, labels, probs_target @ never)
    with pytest.raises(dfu.InputError, match=r"(?i)rlls|mlls"):
        label_shift_conformal(blunt, labels, singular)
    fit = label_shift_conformal(blunt, labels, singular, robust=True, rng=1)
    assert fit.label_weight is None
    assert np.isfinite(fit.thresholds[1:]).all()
    assert "weight" not in fit.to_frame().columns


# ----------------------------------------------------------------- confidence


def test_pac_method_is_chosen_by_the_priors():
    """Rejection keeps 1 in w_max rows: with a rare class, bounds by class do better."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1], size=5000)
    for rows, priors, by in (
        ([4800, 200], ([0.96, 0.04], [0.9, 0.1]), "rejection"),
        ([4990, 10], ([0.998, 0.002], [0.98, 0.02]), "class-wise bounds"),
    ):
        labels = np.repeat([0, 1], rows)
        weights = dfu.label_weights(*priors)
        for _ in range(3):  # the scores have no say
            probs = rng.permutation(probs)
            fit = label_shift_conformal(probs, labels, weights, confidence=0.9, rng=1)
            assert fit.pac_method.startswith(by)
        # nor have the labels
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.SmallCalibrationWarning)
            others = label_shift_conformal(
                probs, 1 - labels, weights, confidence=0.9, rng=1
            )
        assert others.pac_method.startswith(by)
        assert np.unique(fit.thresholds).size == 1
        assert fit.guarantee.kind == "training-conditional"
        assert "0.9 over the calibration draw" in " ".join(str(fit).split())
        # without the target prior only rejection is there
        ratio = weights.label_weight
        fit = label_shift_conformal(probs, labels, ratio, confidence=0.9, rng=1)
        assert fit.pac_method.startswith("rejection")


def test_stratified_threshold_by_hand():
    # one class, five rows: 5 of 5 has the lower limit delta^(1/5) = 0.1^(1/5) = 0.631
    scores, labels = np.arange(1.0, 6.0), np.zeros(5, int)
    assert stratified_pac_threshold(scores, labels, np.ones(1), 0.4, 0.1) == 5.0
    assert stratified_pac_threshold(scores, labels, np.ones(1), 0.3, 0.1) == np.inf
    # two classes share delta: both have 0.05^(1/5) = 0.549, and so has any mean of them
    scores, labels = np.tile(scores, 2), np.repeat([0, 1], 5)
    prior = np.array([0.3, 0.7])
    assert stratified_pac_threshold(scores, labels, prior, 0.46, 0.1) == 5.0
    assert stratified_pac_threshold(scores, labels, prior, 0.44, 0.1) == np.inf


# ------------------------------------------------------------ total variation


def test_total_variation_golden(golden):
    case = golden("bounds", "tv-coverage")["inputs"]
    bound = coverage_with_weights(
        case["alpha"],
        np.array(case["w_used"]),
        np.array(case["w_true"]),
        np.array(case["p"]),
    )
    assert bound == pytest.approx(0.5)


def test_total_variation_bound_holds_on_the_region():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 9):
        for _ in range(20):
            p = rng.dirichlet(np.ones(n_classes))
            q = rng.dirichlet(np.ones(n_classes))
            used = (q / p) * np.exp(0.2 * rng.normal(size=n_classes))
            true = q / p
            box = dfu.Box(0.8 * true, 1.3 * true, True)
            bound = total_variation_bound(used, box, 0.9 * p, np.minimum(1, 1.1 * p))
            implied = used * p / (used @ p)
            assert total_variation(implied, q) <= bound + 1e-12
    exact = total_variation_bound(true, dfu.Box(true, true, True), p, p)
    assert exact == pytest.approx(0.0, abs=1e-12)


def test_a_region_of_ones_own_shows_how_far_it_is(toy, estimate, capsys):
    _, probs, labels, _, _ = toy
    region = estimate.region(0.01)
    silent = label_shift_conformal(probs, labels, region, robust=True, rng=1)
    assert capsys.readouterr().err == ""
    shown = label_shift_conformal(
        probs, labels, region, robust=True, rng=1, progress=True
    )
    assert "thresholds: 100%" in capsys.readouterr().err
    np.testing.assert_array_equal(shown.thresholds, silent.thresholds)
