"""Labels of some target rows beside outputs, in every estimator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import beta

import distfreeuq as dfu
from distfreeuq._numerics.gram_sums import gram
from distfreeuq.exceptions import InputError
from distfreeuq.label_shift.class_matrix import TakingPart
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.data import Samples, TargetLabels
from distfreeuq.label_shift.inference import likelihood_delta_method
from distfreeuq.label_shift.inference.moments.counted_moments import (
    covariance_of_counts,
    moments_of_counts,
)
from distfreeuq.label_shift.inference.proportion_caps import prior_caps
from distfreeuq.label_shift.inference.score_intervals import Labelled, score_ends
from distfreeuq.label_shift.labelled_shares import weigh_labels, with_shares
from distfreeuq.label_shift.likelihood_solution import solve_likelihood
from distfreeuq.label_shift.maximum_likelihood import _curvature_and_spread
from distfreeuq.label_shift.scalings import BiasCorrectedTemperature, fit_scaling
from distfreeuq.theorems.label_shift.carried_losses import P, Q, rows

EYE = np.eye(3)

ESTIMATES = {
    "BBSE": dfu.bbse,
    "soft BBSE": partial(dfu.bbse, soft=True),
    "RLLS": dfu.rlls,
    "soft RLLS": partial(dfu.rlls, soft=True),
    "MLLS after BCTS": dfu.mlls,
    "MLLS after VS": partial(dfu.mlls, calibrate="vs"),
    "MLLS": partial(dfu.mlls, calibrate=None),
}
AT_RANDOM = "labelled target rows chosen at random"


def samples(n=400, m=300, r=60, seed=0, prior=Q):
    rng = np.random.default_rng(seed)
    said, labels = rows(rng, n, P)
    new, truth = rows(rng, m, prior)
    some = np.full(m, np.nan)
    some[:r] = truth[:r]
    return EYE[said], labels, EYE[new], some


@pytest.fixture(scope="module")
def data():
    return samples()


@pytest.fixture(scope="module")
def fit(data):
    *both, some = data
    return dfu.bbse(*both, labels_target=some)


def test_it_combines_two_independent_estimates(data, fit):
    probs, labels, target, some = data
    alone = dfu.bbse(probs, labels, target[60:])
    shares = np.bincount(some[:60].astype(int), minlength=3) / 60
    weight = fit.labelled.weight
    want = (1 - weight) * alone.raw + weight * shares / fit.source_prior
    assert fit.raw == pytest.approx(want)
    assert ((weight > 0) & (weight < 1)).all()
    assert (fit.m, fit.labelled.r, fit.moments.m) == (300, 60, 240)
    # what the tests are made of has all target rows
    every = dfu.bbse(probs, labels, target)
    assert fit.test().p_value == every.test().p_value
    assert fit.goodness_of_fit().p_value == every.goodness_of_fit().p_value


def test_weights_of_least_variance_by_hand():
    # a classifier without errors: the other rows' predictions are as good as labels
    said = np.repeat([0, 1], 5000)
    confusion = hard_confusion(said, said, np.repeat([0, 1], 150), 2)
    moments = moments_of_counts(confusion)
    found = weigh_labels(np.array([50, 50]), moments)
    assert found.weight == pytest.approx([0.25, 0.25], abs=0.002)


def test_no_other_weights_have_less_variance():
    # of few source rows and many of the target: most of the noise is the source's
    rng = np.random.default_rng(5)
    said, labels = rows(rng, 200, P)
    new, truth = rows(rng, 20_000, Q)
    confusion = hard_confusion(said, labels, new[150:], 3)
    moments, alone = moments_of_counts(confusion), covariance_of_counts(confusion)
    found = weigh_labels(np.bincount(truth[:150], minlength=3), moments)
    assert ((found.weight > 0.05) & (found.weight < 0.95)).all()

    def variances(factor):
        weight = np.clip(factor * found.weight, 0.0, 1.0)
        return np.diag(with_shares(replace(found, weight=weight), alone, moments))

    for factor in (0.7, 1.0 / 0.7):
        assert (variances(factor) > variances(1.0)).all()


def test_no_wider_than_without_labels_and_than_labels_alone():
    *both, some = samples(4000, 4000, 400)
    fit = dfu.bbse(*both, labels_target=some)
    every = dfu.bbse(*both)
    q, p = fit.target_prior, fit.source_prior
    by_label = q * (1 - q) / 400 / p**2 + fit.label_weight**2 * (1 - p) / p / 4000
    assert (fit.std_err < every.std_err).all()
    assert (fit.std_err < np.sqrt(by_label)).all()
    widths = [np.ptp(f.confint(), axis=1) for f in (fit, every)]
    assert (widths[0] < widths[1]).all()


def test_the_covariance_is_that_of_simulations():
    rng = np.random.default_rng(1)
    drawn, claimed = [], []
    for _ in range(800):
        said, labels = rows(rng, 1500, P)
        new, truth = rows(rng, 1500, Q)
        confusion = hard_confusion(said, labels, new[150:], 3)
        moments = moments_of_counts(confusion)
        found = weigh_labels(np.bincount(truth[:150], minlength=3), moments)
        drawn.append(found.beside.combined(moments.prior) / moments.source_prior)
        alone = covariance_of_counts(confusion)
        claimed.append(with_shares(found, alone, moments))
    want, got = np.cov(np.array(drawn).T), np.mean(claimed, axis=0)
    assert np.diag(got) == pytest.approx(np.diag(want), rel=0.15)
    assert got == pytest.approx(want, abs=0.1 * want.max())
    assert np.mean(drawn, axis=0) == pytest.approx(Q / P, abs=0.03)


def test_a_class_that_is_not_told_has_the_interval_of_its_labels():
    # predictions say nothing: Wilson's interval, and the noise of p_k
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=100_000)
    said = rng.integers(2, size=100_000)
    moments = moments_of_counts(hard_confusion(said, labels, said[:500], 2))
    found = weigh_labels(np.array([10, 30]), moments)
    low, high = score_ends(moments, 0.05, found.beside).T
    # statsmodels.stats.proportion.proportion_confint(10, 40, method="wilson")
    assert low[0] * moments.source_prior[0] == pytest.approx(0.14187, abs=2e-3)
    assert high[0] * moments.source_prior[0] == pytest.approx(0.40194, abs=2e-3)


def test_a_class_that_is_hardly_told_has_the_interval_of_its_labels():
    # a variance that is known, and so large that phi_k may be off by more than one
    said, labels = np.repeat([0, 1, 0, 1], [28, 22, 22, 28]), np.repeat([0, 1], 50)
    moments = moments_of_counts(hard_confusion(said, labels, said[20:70], 2))
    found = weigh_labels(np.array([10, 30]), moments)
    assert (found.weight < 1.0).all()
    ends = score_ends(moments, 0.05, found.beside)
    by_labels = Labelled(40, found.shares, np.ones(2))
    assert ends == pytest.approx(score_ends(moments, 0.05, by_labels))
    # at a low level, at which it is told
    some = score_ends(moments, 0.6, found.beside)
    assert np.abs(some - score_ends(moments, 0.6, by_labels)).max() > 0.01


def test_the_box_of_soft_predictions_and_labels_has_half_of_delta_for_either():
    *both, some = samples(n=40_000, m=20_000, r=500)
    labels = both[1]
    fit = dfu.bbse(*both, labels_target=some, soft=True)
    box, ball = (
        f.region(d) for f, d in ((fit, 0.2), (dfu.bbse(*both, soft=True), 0.1))
    )
    # Clopper and Pearson for three shares of either sample, each at .1 / 6
    tail, counts = 0.1 / 12, np.bincount(labels, minlength=3)
    known = np.bincount(some[:500].astype(int), minlength=3)
    p = (
        beta.ppf(tail, counts, 40_001 - counts),
        beta.isf(tail, counts + 1, 40_000 - counts),
    )
    q = beta.ppf(tail, known, 501 - known), beta.isf(tail, known + 1, 500 - known)
    assert np.isfinite(ball.high).all()
    assert box.low == pytest.approx(np.maximum(ball.low, q[0] / p[1]))
    assert box.high == pytest.approx(np.minimum(ball.high, q[1] / p[0]))


def test_the_region_has_the_cells_counted_by_hand(data, fit):
    _, labels, target, some = data
    # three classes: 9 cells, 3 predictions, 3 shares of the source's labels and 3 of
    # the target's, each at delta / 18
    region = fit.region(0.18)
    assert region.lower.shape == (6, 3)
    counts = np.bincount(labels, minlength=3)
    known = np.bincount(some[:60].astype(int), minlength=3)
    tail = 0.01 / 2
    assert np.diag(region.lower[3:]) == pytest.approx(
        beta.ppf(tail, counts, 400 - counts + 1)
    )
    assert np.diag(region.upper[3:]) == pytest.approx(
        beta.isf(tail, counts + 1, 400 - counts)
    )
    assert region.mu_low[3:] == pytest.approx(beta.ppf(tail, known, 60 - known + 1))
    assert region.mu_high[3:] == pytest.approx(beta.isf(tail, known + 1, 60 - known))
    said = target.sum(axis=0)
    assert region.mu_low[:3] == pytest.approx(beta.ppf(tail, said, 300 - said + 1))
    ends = fit.confint(0.18, "finite-sample")
    box = region.ranges()
    assert np.array_equal(ends, np.column_stack([box.low, box.high]))


def test_labels_count_where_predictions_say_nothing():
    # class 2 is never predicted
    probs, labels, target, some = samples()
    probs, target = (np.roll(x, 1, axis=1)[:, [1, 2, 0]] for x in (probs, target))
    probs[:, 1] += probs[:, 2]
    target[:, 1] += target[:, 2]
    probs[:, 2] = target[:, 2] = 0.0
    fit = dfu.bbse(probs, labels, target, labels_target=some)
    assert fit.labelled.weight[2] == 1.0
    by_labels = np.bincount(some[:60].astype(int), minlength=3) / 60
    assert fit.raw[2] == pytest.approx(by_labels[2] / fit.source_prior[2])
    assert not fit.singular
    assert "do not identify the weights" in fit.notes[0]
    truth = Q / P
    for method in ("finite-sample", "asymptotic"):
        low, high = fit.confint(0.01, method).T
        assert ((low <= truth) & (truth <= high)).all()
        assert high[2] < 1 / P[2]
    # their standard error: of a share of 60 rows, and of p_k
    q, p = by_labels[2], fit.source_prior[2]
    error = (q * (1 - q) / 60 + (q / p) ** 2 * p * (1 - p) / 400) ** 0.5 / p
    assert fit.std_err[2] == pytest.approx(error, rel=0.05)
    assert str(fit.summary())


def test_a_class_without_source_rows_has_no_weight_from_labels(data):
    probs, labels, target, some = data
    rest = labels != 2
    with pytest.warns(dfu.IdentificationWarning):
        fit = dfu.bbse(probs[rest], labels[rest], target, labels_target=some)
    assert fit.singular
    with pytest.raises(
        InputError, match=r"source rows of every class \(region\(\) holds"
    ):
        _ = fit.label_weight
    assert fit.confint()[2].tolist() == [0.0, np.inf]
    kept = dfu.rlls(probs[rest], labels[rest], target, labels_target=some)
    assert np.isfinite(kept.label_weight).all()


def test_a_doubtful_fit_recommends_no_interval_that_it_refuses():
    rng = np.random.default_rng(0)
    said, labels, new = rng.integers(2, size=(3, 200))
    data = np.eye(2)[said], labels, np.eye(2)[new]
    some = [0, 1, *[None] * 198]
    notes = dfu.bbse(*data, labels_target=some).notes
    assert any("nearly singular" in note for note in notes)
    assert not any("anderson" in note or "bootstrap" in note for note in notes)
    assert any("anderson" in note for note in dfu.bbse(*data).notes)


def test_without_any_label_it_is_the_fit_without(data):
    *both, _ = data
    missing = dfu.bbse(*both, labels_target=[None] * 300)
    assert missing.labelled is None
    assert str(missing.summary()) == str(dfu.bbse(*both).summary())


def test_names_and_missing_ones_of_any_kind(data, fit):
    probs, labels, target, some = data
    names = np.array(["a", "b", "c"])
    given = [None if np.isnan(y) else names[int(y)] for y in some]
    named = dfu.bbse(
        probs, names[labels], target, labels_target=given, classes=list(names)
    )
    assert np.array_equal(named.raw, fit.raw)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels_target": [0] * 300}, "missing .* for one target row at least"),
        ({"labels_target": [0, None]}, "for each of the 300 target rows"),
        ({"labels_target": [7] + [None] * 299}, "labels_target"),
    ],
)
def test_bad_labels_are_told(data, options, message):
    for estimate in ESTIMATES.values():
        with pytest.raises(InputError, match=message):
            estimate(*data[:3], **options)


def test_tallies_and_blocks_have_no_labels_of_some_rows(data):
    probs, labels, target, some = data
    with pytest.raises(InputError, match="must be None where rows come"):
        dfu.bbse(dfu.tally(probs, labels), None, target, labels_target=some)

    def blocks():
        yield {"probs_target": target[:100]}
        yield {"probs_target": target[100:]}

    for name in ("soft BBSE", "soft RLLS", "MLLS", "MLLS after VS"):
        with pytest.raises(InputError, match="must be None where target rows come"):
            ESTIMATES[name](probs, labels, blocks, labels_target=some)


@pytest.mark.parametrize("method", ["bootstrap", "anderson-rubin"])
def test_intervals_that_do_not_know_of_labels_are_refused(fit, method):
    with pytest.raises(InputError, match="for a fit with labels_target"):
        fit.confint(method=method)


# ------------------------------------------------------------------- every estimator

TOY = dfu.scenarios.three_gaussians()


@pytest.fixture(scope="module")
def toy():
    x, labels = TOY.sample(1500, "source", rng=0)
    new, truth = TOY.sample(1500, "target", rng=1)
    some = np.full(1500, np.nan)
    some[:150] = truth[:150]
    return TOY.posterior(x), labels, TOY.posterior(new), some


@pytest.fixture(scope="module", params=ESTIMATES)
def both(request, toy):
    """A fit with labels and one without."""
    estimate = ESTIMATES[request.param]
    return estimate(*toy[:3], labels_target=toy[3]), estimate(*toy[:3])


def test_labels_narrow_what_every_estimator_says(both):
    fit, without = both
    assert (np.ptp(fit.confint(), axis=1) < np.ptp(without.confint(), axis=1)).all()
    assert (fit.std_err < without.std_err).all()
    boxes = [f.region(0.1).ranges() for f in both]
    assert (boxes[0].high <= boxes[1].high).mean() > 0.6
    assert np.isfinite(boxes[0].high).all()
    assert fit.region(0.1).contains(TOY.label_weight)
    low, high = fit.confint(0.01).T
    assert ((low <= TOY.label_weight) & (TOY.label_weight <= high)).all()
    assert AT_RANDOM in fit.guarantee.assumptions
    assert AT_RANDOM not in without.guarantee.assumptions
    assert "Labelled target rows" in str(fit)
    # the tests do not use the labels
    assert fit.test().p_value == without.test().p_value
    assert fit.goodness_of_fit().p_value == without.goodness_of_fit().p_value


def test_a_labelled_row_is_sure_of_its_label_in_the_likelihood(toy):
    probs, labels, target, some = toy
    fit = dfu.mlls(probs, labels, target, labels_target=some, calibrate=None)
    sure = target.copy()
    sure[:150] = EYE[some[:150].astype(int)]
    again = dfu.mlls(probs, labels, sure, calibrate=None)
    assert fit.label_weight == pytest.approx(again.label_weight, abs=1e-8)
    # at the maximum the mean of s = f / (w . f) is p
    s = sure / (sure @ fit.label_weight)[:, None]
    assert s.mean(axis=0) == pytest.approx(fit.source_prior, abs=1e-6)


def test_the_likelihood_s_covariance_is_that_of_simulations():
    drawn, claimed = [], []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        x, labels = TOY.sample(400, "source", rng=rng)
        new, truth = TOY.sample(400, "target", rng=rng)
        known = np.arange(400) < 100
        samples = Samples(TOY.posterior(x), labels, TOY.posterior(new)).rows
        some = TargetLabels(known, truth[:100])
        calibration = fit_scaling("bcts", samples.source)
        solved = solve_likelihood(samples, calibration, "predictions", some)
        every = TakingPart(3, None)
        _, spread = _curvature_and_spread(
            every,
            samples,
            solved,
            gram(solved.calibrated.source.rows.probs),
            calibration,
            "predictions",
            some,
        )
        drawn.append(solved.weight)
        claimed.append(spread)
    want, got = np.cov(np.array(drawn).T), np.mean(claimed, axis=0)
    assert np.diag(got) == pytest.approx(np.diag(want), rel=0.3)
    assert got == pytest.approx(want, abs=0.2 * want.max())


def test_a_calibration_moves_only_what_is_said_of_rows_without_labels(toy, monkeypatch):
    """The derivative by slope and biases, beside differences of the mean of s."""
    probs, labels, target, some = toy
    found = []
    whole = likelihood_delta_method._by_calibration

    def kept(*args):
        found.append((args[1], args[2], whole(*args)))
        return found[-1][2]

    monkeypatch.setattr(likelihood_delta_method, "_by_calibration", kept)
    some = some.copy()
    some[150:900] = some[np.arange(750) % 150]
    dfu.mlls(probs, labels, target, labels_target=some)
    calibration, weight, derivative = found[0]

    def mean(slope, bias):
        f = BiasCorrectedTemperature(slope, bias).apply(target)
        f[:900] = EYE[some[:900].astype(int)]
        return (f / (f @ weight)[:, None]).mean(axis=0)

    step = 1e-5
    for k in range(4):
        ends = []
        for side in (step, -step):
            bias = calibration.bias + side * (np.arange(3) == k)
            ends.append(mean(calibration.slope + side * (k == 3), bias))
        assert derivative[:, k] == pytest.approx(
            (ends[0] - ends[1]) / (2 * step), abs=1e-6
        )


def test_a_bound_in_one_direction_is_that_of_the_combination(both):
    fit, _ = both
    law, of_prior = fit._limit_law(), fit._limit_law_of_prior()
    shares = fit.labelled.shares
    center = (1 - fit.labelled.weight) * fit.moments.prior
    center = (center + fit.labelled.weight * shares) / fit.moments.source_prior
    assert law.center == pytest.approx(center)
    assert np.diag(law.covariance) == pytest.approx(fit.std_err**2)
    # without the noise of p, what is left is the noise of the combined proportions
    assert (np.diag(of_prior.covariance) > 0).all()
    assert np.linalg.eigvalsh(of_prior.covariance).min() > -1e-10
    assert of_prior.covariance.sum() == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"independent": True},
        {"robust": True},
        {"robust": "directional"},
        {"robust": "directional", "confidence": 0.9},
        {"confidence": 0.9},
    ],
)
def test_sets_take_such_a_fit_and_name_what_it_needs(toy, both, options):
    fit, without = both
    sets = dfu.label_shift_conformal(*toy[:2], fit, rng=0, **options)
    assert AT_RANDOM in sets.guarantee.assumptions
    plain = dfu.label_shift_conformal(*toy[:2], without, rng=0, **options)
    assert AT_RANDOM not in plain.guarantee.assumptions
    assert sets.guarantee.finite_sample == plain.guarantee.finite_sample
    assert 0.85 < sets.predict(toy[2]).sizes.mean() < 3.0


def test_the_choice_of_sets_and_bins_take_such_a_fit(toy, both):
    fit, _ = both
    sets = dfu.prediction_sets(*toy[:2], fit, claim="asymptotic", rng=0)
    assert AT_RANDOM in sets.guarantee.assumptions
    bins = dfu.histogram_binning(*toy[:2], n_bins=3, rng=0).under_label_shift(fit)
    assert np.isfinite(bins.radius).all()


def test_fewer_errors_of_total_variation_with_labels(toy):
    claims = [
        dfu.label_shift_conformal(
            *toy[:2], dfu.bbse(*toy[:3], labels_target=some), independent=True, rng=0
        ).guarantee
        for some in (None, toy[3])
    ]
    assert claims[1].lower > claims[0].lower


def test_caps_have_one_more_bound_per_class(toy):
    fit = dfu.bbse(*toy[:3], labels_target=toy[3])
    counts = fit.labelled.counts
    # nine bounds at .01 each
    by_label = beta.isf(0.01, counts + 1, 150 - counts)
    want = np.minimum(by_label, dfu.bbse(*toy[:3])._prior_caps(0.06).high)
    assert fit._prior_caps(0.09).high == pytest.approx(want)
    # what is in no proportions at all counts for nothing
    none = prior_caps(fit.confusion, 0.5, np.array([0, 0, 4000]))
    assert none.high.sum() >= 1.0


def test_performance_takes_the_labels_themselves(toy, both):
    fit, without = both
    with pytest.raises(InputError, match="the 150 labels that the shift was"):
        dfu.target_performance(*toy[:3], shift=fit)
    result = dfu.target_performance(
        *toy[:3], shift=fit, labels_target=toy[3], metrics="accuracy"
    )
    plain = dfu.target_performance(*toy[:3], shift=without, metrics="accuracy")
    widths = [r.to_frame().eval("high - low")[0] for r in (result, plain)]
    assert widths[0] < widths[1]


def test_it_is_saved_with_its_labels(toy, both, tmp_path):
    fit, _ = both
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again.summary()) == str(fit.summary())
    assert np.array_equal(again.confint(), fit.confint())
    assert np.array_equal(again.labelled.counts, fit.labelled.counts)
    law = again._limit_law()
    assert np.array_equal(law.covariance, fit._limit_law().covariance)


def test_a_single_row_without_a_label(data):
    probs, labels, target, _ = data
    truth = np.random.default_rng(0).choice(3, p=Q, size=300).astype(float)
    truth[7] = np.nan
    fit = dfu.bbse(probs, labels, target, labels_target=truth)
    assert fit.labelled.weight.tolist() == [1.0] * 3
    assert np.isfinite(fit.std_err).all()
    assert np.isfinite(
        dfu.mlls(probs, labels, target, labels_target=truth).std_err
    ).all()


def test_what_scarce_classes_hide_is_added_beside_labels_too():
    joint = np.array([[60, 2, 0], [3, 80, 0], [0, 1, 3]])
    said, labels = np.repeat(np.indices((3, 3)).reshape(2, -1), joint.ravel(), axis=1)
    new = np.repeat([0, 1, 2], [40, 30, 90])
    moments = moments_of_counts(hard_confusion(said, labels, new, 3))
    # labels that count for nothing leave the ends as they are
    for_nothing = Labelled(5, np.array([0.2, 0.2, 0.6]), np.zeros(3))
    alone = score_ends(moments, 0.1)
    assert score_ends(moments, 0.1, for_nothing) == pytest.approx(alone)
