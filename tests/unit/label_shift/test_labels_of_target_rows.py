"""Labels of some target rows in BBSE."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

import distfreeuq as dfu
from distfreeuq.exceptions import InputError
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference.delta_method import hard_covariance
from distfreeuq.label_shift.inference.moments.counted_moments import moments_of_counts
from distfreeuq.label_shift.inference.score_intervals import Labelled, score_ends
from distfreeuq.label_shift.labelled_shares import weigh_labels, with_shares
from distfreeuq.label_shift.linear_solution import solve
from distfreeuq.theorems.label_shift.carried_losses import P, Q, rows

EYE = np.eye(3)


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
        p, alone = moments.source_prior, solve(confusion)
        raw = (1 - found.weight) * alone + found.weight * found.shares / p
        drawn.append(raw)
        spread = hard_covariance(confusion, alone)
        claimed.append(with_shares(found, spread, alone, raw, p, 1500))
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
    with pytest.warns(dfu.IdentificationWarning):
        fit = dfu.bbse(probs, labels, target, labels_target=some)
    assert fit.solution is None
    truth = Q / P
    for method in ("finite-sample", "asymptotic"):
        low, high = fit.confint(0.01, method).T
        assert ((low <= truth) & (truth <= high)).all()
        assert high[2] < 1 / P[2]
    assert str(fit.summary())
    with pytest.raises(InputError, match=r"tell the classes apart \(region\(\) holds"):
        _ = fit.label_weight


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
        ({"labels_target": [0] + [None] * 299, "soft": True}, "must be False with"),
    ],
)
def test_bad_labels_are_told(data, options, message):
    with pytest.raises(InputError, match=message):
        dfu.bbse(*data[:3], **options)


def test_tallies_have_no_labels_of_some_rows(data):
    probs, labels, target, some = data
    with pytest.raises(InputError, match="must be None where rows come"):
        dfu.bbse(dfu.tally(probs, labels), None, target, labels_target=some)


@pytest.mark.parametrize("method", ["bootstrap", "anderson-rubin", "likelihood"])
def test_intervals_that_do_not_know_of_labels_are_refused(fit, method):
    with pytest.raises(InputError, match="for a fit with labels_target"):
        fit.confint(method=method)


@pytest.mark.parametrize(
    "use",
    [
        lambda d, fit: dfu.label_shift_conformal(*d[:2], fit),
        lambda d, fit: dfu.label_shift_conformal(*d[:2], fit, robust=True),
        lambda d, fit: dfu.label_shift_conformal(*d[:2], fit, robust="directional"),
        lambda d, fit: dfu.label_shift_conformal(*d[:2], fit, confidence=0.9),
        lambda d, fit: dfu.prediction_sets(*d[:2], shift=fit),
        lambda d, fit: dfu.target_performance(*d[:3], shift=fit),
        lambda d, fit: dfu.histogram_binning(*d[:2]).under_label_shift(fit),
    ],
)
def test_what_carries_errors_further_refuses_it(data, fit, use):
    with pytest.raises(InputError, match="an estimate without labels_target"):
        use(data, fit)


def test_it_is_saved_with_its_labels(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again.summary()) == str(fit.summary())
    assert np.array_equal(again.confint(), fit.confint())
    assert np.array_equal(again.labelled.counts, fit.labelled.counts)


def test_what_scarce_classes_hide_is_added_beside_labels_too():
    joint = np.array([[60, 2, 0], [3, 80, 0], [0, 1, 3]])
    said, labels = np.repeat(np.indices((3, 3)).reshape(2, -1), joint.ravel(), axis=1)
    new = np.repeat([0, 1, 2], [40, 30, 90])
    moments = moments_of_counts(hard_confusion(said, labels, new, 3))
    # labels that count for nothing leave the ends as they are
    for_nothing = Labelled(5, np.array([0.2, 0.2, 0.6]), np.zeros(3))
    alone = score_ends(moments, 0.1)
    assert score_ends(moments, 0.1, for_nothing) == pytest.approx(alone)
