"""Sets for all target priors below caps: robust=True and confidence= with estimates."""

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import label_shift_conformal, scenarios
from distfreeuq.bounds import stratified_chernoff
from distfreeuq.conformal.under_label_shift.capped_priors import (
    capped_pac_threshold,
    capped_threshold,
)
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps, prior_caps


@pytest.fixture(scope="module")
def toy():
    scenario = scenarios.three_gaussians()
    x, labels = scenario.sample(600, "source", rng=0)
    x_target, _ = scenario.sample(600, "target", rng=0)
    return scenario, scenario.posterior(x), labels, scenario.posterior(x_target)


def test_caps_by_hand():
    # class 0: 8 of 10 rows predicted right; class 1: none of 5; class 2: no rows
    predicted = np.repeat([0, 1, 2], [8, 2, 5])
    labels = np.repeat([0, 0, 1], [8, 2, 5])
    confusion = hard_confusion(predicted, labels, np.repeat([0, 1], [1, 19]), 3)
    caps = prior_caps(confusion, 0.06)
    upper = stats.beta(2, 19).ppf(0.99)  # of 1 prediction in 20 target rows
    lower = stats.beta(8, 3).ppf(0.01)  # of 8 right ones in 10
    np.testing.assert_allclose(caps.high, [upper / lower, 1.0, 1.0])
    assert caps.densest(np.array([10.0, 5.0, 0.0])) == 0.2


def test_the_threshold_by_hand():
    # q = (3/4, 1/4), class 0 has scores 1, 2, 3 and class 1 has 4: the share up to t is
    # 3/4 N_0 / 4 + 1/4 N_1 / 2
    scores, labels = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 0, 1])
    caps = PriorCaps(np.array([0.75, 0.25]))
    for level, t in ((0.1875, 1.0), (0.375, 2.0), (0.5625, 3.0), (0.6875, 4.0)):
        assert capped_threshold(scores, labels, caps, 1.0 - level) == t
        assert capped_threshold(scores, labels, caps, 1.0 - level - 1e-9) > t


def test_classes_without_rows_do_not_raise_the_threshold():
    scores, labels = np.arange(40.0), np.zeros(40, dtype=np.int64)
    alone = capped_threshold(scores, labels, PriorCaps(np.ones(1)), 0.1)
    assert alone == capped_threshold(scores, labels, PriorCaps(np.ones(2)), 0.1) == 36.0


def test_the_share_solves_its_equation():
    for alpha, densest, delta in ((0.1, 0.001, 0.05), (0.3, 0.01, 0.001)):
        s = stratified_chernoff(alpha, densest, delta)
        bound = np.exp(-(s * np.log(s / alpha) - s + alpha) / densest)
        assert bound == pytest.approx(delta, rel=1e-6)
        # a Poisson law of rows of equal weight has that tail
        assert stats.poisson(alpha / densest).cdf(s / densest) <= delta
    assert stratified_chernoff(0.1, 0.05, 0.05) < 0  # too few rows to say anything
    scores, labels = np.arange(20.0), np.zeros(20, dtype=np.int64)
    assert capped_pac_threshold(scores, labels, PriorCaps(np.ones(1)), 0.1, 0.05) == (
        np.inf
    )


def test_robust_sets_are_the_same_for_all_estimators_of_one_classifier(toy):
    _, probs, labels, target = toy
    estimates = [
        dfu.bbse(probs, labels, target),
        dfu.bbse(probs, labels, target, soft=True),
        dfu.rlls(probs, labels, target),
        dfu.mlls(probs, labels, target),
    ]
    for options in ({"robust": True}, {"confidence": 0.9}):
        fits = [
            label_shift_conformal(probs, labels, one, rng=1, **options)
            for one in estimates
        ]
        for fit in fits:
            np.testing.assert_array_equal(fit.thresholds, fits[0].thresholds)
            assert fit.guarantee.finite_sample


def test_the_smallest_of_three_sets_is_taken_for_the_draw_at_hand(toy):
    _, probs, labels, target = toy
    estimate = dfu.bbse(probs, labels, target)
    fit = label_shift_conformal(probs, labels, estimate, confidence=0.9, rng=1)
    assert fit.pac_method == "a threshold per class"
    by_class = dfu.label_conditional_conformal(probs, labels, confidence=0.97, rng=1)
    np.testing.assert_array_equal(fit.thresholds, by_class.thresholds)


def test_classes_of_few_rows_get_one_threshold_for_the_draw_at_hand():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), 40)  # 79 rows of a class are needed otherwise
    probs = 0.9 * np.eye(30)[labels] + 0.1 * rng.dirichlet(np.ones(30), size=1200)
    estimate = dfu.bbse(probs, labels, probs)
    fit = label_shift_conformal(probs, labels, estimate, confidence=0.9, rng=1)
    assert fit.pac_method == "capped priors"
    assert np.isfinite(fit.thresholds).all()
    assert np.unique(fit.thresholds).size == 1
    with pytest.warns(dfu.SmallCalibrationWarning):
        by_class = dfu.label_conditional_conformal(
            probs, labels, confidence=0.95, rng=1
        )
    assert np.isinf(by_class.thresholds).all()


def test_some_prior_is_below_the_caps_of_any_data():
    rng = np.random.default_rng(0)
    for _ in range(50):
        k, n, m = (int(x) for x in rng.integers([2, 1, 1], [5, 30, 30]))
        confusion = hard_confusion(
            rng.integers(0, k, n), rng.integers(0, k, n), rng.integers(0, k, m), k
        )
        assert prior_caps(confusion, 0.5).high.sum() >= 1.0
