"""Platt scaling against closed forms, statsmodels and scikit-learn."""

import math

import numpy as np
import pytest

import distfreeuq as dfu

SCORES = np.array([-1.0] * 8 + [2.0] * 8)
LABELS = np.array([1] * 2 + [0] * 6 + [1] * 5 + [0] * 3)


def logit(p):
    return math.log(p / (1 - p))


def test_two_scores_have_a_closed_form():
    """Saturated: sigmoid(slope s + intercept) is the frequency at either score."""
    fit = dfu.platt_scaling(SCORES, LABELS)
    slope = (logit(5 / 8) - logit(2 / 8)) / 3.0
    assert fit.slope == pytest.approx(slope, rel=1e-10)
    assert fit.intercept == pytest.approx(logit(2 / 8) + slope, rel=1e-10)
    np.testing.assert_allclose(fit.predict([-1.0, 2.0])[:, 1], [2 / 8, 5 / 8])


def test_platt_targets_by_hand():
    """N_1 = 7, N_0 = 9: targets 8/9 and 1/11; saturated again."""
    fit = dfu.platt_scaling(SCORES, LABELS, smoothing=True)
    at_low = (2 * 8 / 9 + 6 / 11) / 8
    at_high = (5 * 8 / 9 + 3 / 11) / 8
    np.testing.assert_allclose(
        fit.predict([-1.0, 2.0])[:, 1], [at_low, at_high], rtol=1e-10
    )


def test_smoothing_does_not_depend_on_the_scale_of_weights():
    one, ten = (
        dfu.platt_scaling(SCORES, LABELS, sample_weight=[w] * 16, smoothing=True)
        for w in (1.0, 10.0)
    )
    assert one.slope == pytest.approx(ten.slope, rel=1e-14)


def test_smoothing_keeps_separable_scores_finite():
    labels = (SCORES > 0).astype(int)
    fit = dfu.platt_scaling(SCORES, labels, smoothing=True)
    assert np.isfinite(fit.slope)
    with pytest.warns(dfu.FitAtBoundWarning):
        bare = dfu.platt_scaling(SCORES, labels)
    assert np.isfinite(bare.slope)
    assert np.isnan(bare.std_err).all()


def test_standard_errors_are_those_of_statsmodels():
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, 500)
    labels = (0.7 * scores - 0.5 + rng.logistic(size=500) > 0).astype(int)
    weights = rng.exponential(size=500)
    fit = dfu.platt_scaling(scores, labels, sample_weight=weights)
    other = sm.GLM(
        labels,
        np.column_stack([scores, np.ones(500)]),
        family=sm.families.Binomial(),
        var_weights=weights,
    ).fit(cov_type="HC0", tol=1e-12)
    np.testing.assert_allclose([fit.slope, fit.intercept], other.params, rtol=1e-6)
    np.testing.assert_allclose(fit.std_err, other.bse, rtol=1e-5)


def draws(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, n_classes))
    coef = 0.6 * np.eye(n_classes) + rng.normal(0, 0.2, (n_classes, n_classes))
    truth = logits @ coef.T + rng.normal(0, 0.5, n_classes)
    return logits, (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_multinomial_equals_scikit_learn(weighted):
    linear_model = pytest.importorskip("sklearn.linear_model")
    logits, labels = draws(600, 4, 1)
    weights = np.random.default_rng(2).exponential(size=600) if weighted else None
    fit = dfu.platt_scaling(logits, labels, sample_weight=weights)
    other = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    other.fit(logits, labels, sample_weight=weights)
    np.testing.assert_allclose(
        fit.predict(logits), other.predict_proba(logits), atol=1e-6
    )
    # of all equivalent maps, the one whose change of the logits sums to zero
    np.testing.assert_allclose(fit.coef.sum(axis=0), 1.0, rtol=1e-9)
    assert fit.bias.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_multinomial_standard_errors_are_the_sandwich(weighted):
    logits, labels = draws(400, 3, 3)
    weights = np.random.default_rng(4).exponential(size=400) if weighted else None
    fit = dfu.platt_scaling(logits, labels, sample_weight=weights)
    weights = np.ones(400) if weights is None else weights
    features = np.column_stack([logits, np.ones(400)])
    probs = fit.predict(logits)
    residual = probs - np.eye(3)[labels]
    hessian = np.zeros((12, 12))
    meat = np.zeros((12, 12))
    for x, p, r, w in zip(features, probs, residual, weights, strict=True):
        hessian += w * np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
        score = w * np.kron(r, x)
        meat += np.outer(score, score)
    bread = np.linalg.pinv(hessian, rcond=1e-10)
    variances = np.diag(bread @ meat @ bread).reshape(3, 4)
    np.testing.assert_allclose(fit.std_err**2, variances, rtol=1e-6)


def test_ridge_is_the_penalised_optimum():
    """At the optimum, gradient plus ridge times the change is zero."""
    logits, labels = draws(300, 3, 4)
    ridge = 0.05
    fit = dfu.platt_scaling(logits, labels, ridge=ridge)
    residual = fit.predict(logits) - np.eye(3)[labels]
    gradient = residual.T @ np.column_stack([logits, np.ones(300)]) / 300
    change = np.column_stack([fit.coef - np.eye(3), fit.bias])
    np.testing.assert_allclose(gradient + ridge * change, 0.0, atol=1e-9)
    still = dfu.platt_scaling(logits, labels, ridge=1e9)
    np.testing.assert_allclose(still.coef, np.eye(3), atol=1e-6)


def test_more_parameters_than_newton_takes():
    """33 classes: 1122 parameters, by L-BFGS and without standard errors."""
    logits, labels = draws(500, 33, 5)
    fit = dfu.platt_scaling(logits, labels, ridge=0.1)
    assert np.isnan(fit.std_err).all()
    residual = fit.predict(logits) - np.eye(33)[labels]
    gradient = residual.T @ np.column_stack([logits, np.ones(500)]) / 500
    change = np.column_stack([fit.coef - np.eye(33), fit.bias])
    np.testing.assert_allclose(gradient + 0.1 * change, 0.0, atol=1e-6)
    assert "no standard errors" in str(fit)


def test_a_class_without_rows():
    logits, labels = draws(300, 4, 6)
    labels[labels == 3] = 0
    with pytest.warns(dfu.FitAtBoundWarning, match=r"1 of 4 classes \(3\)"):
        fit = dfu.platt_scaling(logits, labels)
    assert np.isnan(fit.std_err[3]).all()
    assert np.isfinite(fit.std_err[:3]).all()
    assert fit.predict(logits)[:, 3].max() < 1e-10


def test_slope_is_for_two_classes():
    fit = dfu.platt_scaling(*draws(100, 3, 7), ridge=0.1)
    with pytest.raises(AttributeError, match="slope is for two classes"):
        _ = fit.slope


def test_smoothing_is_for_two_classes():
    with pytest.raises(dfu.InputError, match="False for more than two classes"):
        dfu.platt_scaling(*draws(100, 3, 7), smoothing=True)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_the_unit_of_the_logits_does_not_matter(size):
    rng = np.random.default_rng(21)
    logits = rng.normal(0.0, 2.0, (400, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fit = dfu.platt_scaling(logits, labels)
    other = dfu.platt_scaling(size * logits, labels)
    probs = other.predict(size * logits)
    np.testing.assert_allclose(probs, fit.predict(logits), atol=1e-7)
    assert other.loss_after == pytest.approx(fit.loss_after, abs=1e-10)


def test_huge_logits_that_tell_nothing():
    """Three values, 1e4 apart: curvature near the start is lost in rounding."""
    rng = np.random.default_rng(22)
    logits = rng.choice([-1e4, 0.0, 1e4], (100, 3))
    fit = dfu.platt_scaling(logits, rng.integers(0, 3, 100))
    assert np.isfinite(fit.coef).all()
    assert fit.loss_after <= np.log(3.0)
    assert np.isfinite(fit.predict(logits)).all()


def test_coefficients_that_the_rows_do_not_determine_say_so():
    # an ordered logit: the rows lie on a curve
    x = np.random.default_rng(0).normal(size=300)
    below = 1 / (1 + np.exp(x[:, None] - np.array([-1.0, 1.0])))
    probs = np.diff(below, axis=1, prepend=0.0, append=1.0)
    labels = (np.random.default_rng(1).random(300)[:, None] > below).sum(axis=1)
    fit = dfu.platt_scaling(dfu.to_logits(probs), labels)
    assert np.isnan(fit.std_err).any()
    assert "do not determine a parameter" in str(fit)
    assert "1000 parameters" not in str(fit)
    settled = dfu.platt_scaling(dfu.to_logits(probs), labels, ridge=1e-3)
    assert np.isfinite(settled.std_err).all()
    assert "Note" not in str(settled)
