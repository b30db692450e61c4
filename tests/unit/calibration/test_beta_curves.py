"""Beta calibration: known curves, the constraint, and what is left alone."""

import numpy as np
import pytest
from scipy import optimize, special

import distfreeuq as dfu


def rows(n=400, seed=0, a=2.0, b=0.5, c=0.3):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    log_odds = a * np.log(p) - b * np.log(1 - p) + c
    return p, (rng.random(n) < special.expit(log_odds)).astype(int)


def loss(coef, p, y, weights):
    z = coef[0] * np.log(p) - coef[1] * np.log(1 - p) + coef[2]
    return float(weights @ (np.logaddexp(0.0, z) - y * z))


@pytest.mark.parametrize("truth", [(2.0, 0.5, 0.3), (-1.0, 1.0, 0.0), (1.0, -1.0, 0.0)])
def test_the_constrained_optimum(truth):
    p, y = rows(a=truth[0], b=truth[1], c=truth[2])
    weights = np.random.default_rng(1).random(400)
    fit = dfu.beta_calibration(p, y, sample_weight=weights)
    found = optimize.minimize(
        loss,
        [1.0, 1.0, 0.0],
        (p, y, weights),
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    np.testing.assert_allclose(fit.coef[0], found.x, atol=2e-4)
    at_bound = fit.coef[0] == 0.0
    np.testing.assert_array_equal(np.isnan(fit.std_err[0]), at_bound)
    assert ("at its bound" in str(fit)) == at_bound.any()
    assert (np.diff(fit.predict(np.linspace(0, 1, 50))[:, 1]) >= 0.0).all()


def test_standard_errors_are_those_of_the_sandwich():
    import statsmodels.api as sm

    p, y = rows(2000)
    design = np.column_stack([np.log(p), -np.log(1 - p), np.ones(2000)])
    peer = sm.Logit(y, design).fit(disp=0, cov_type="HC0")
    fit = dfu.beta_calibration(p, y)
    np.testing.assert_allclose(fit.coef[0], peer.params, rtol=1e-5)
    np.testing.assert_allclose(fit.std_err[0], peer.bse, rtol=1e-5)


def test_several_classes_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = np.array([rng.choice(3, p=p) for p in probs])
    fit = dfu.beta_calibration(probs, labels)
    predicted = fit.predict(probs)
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0)
    assert fit.coef.shape == (3, 3)
    assert list(fit.to_frame()["parameter"].unique()) == ["a", "b", "intercept"]
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.predict(probs), predicted)
    assert str(again) == str(fit)
    assert fit.plot() is not None
    assert fit.plot(kind="parameters") is not None


def test_probabilities_of_zero_and_one():
    p, y = rows(100)
    fit = dfu.beta_calibration([0.0, 1.0, *p], [0, 1, *y])
    assert np.isfinite(fit.predict([0.0, 1.0])).all()


def test_a_class_without_rows_keeps_its_probability():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 80)
    with pytest.warns(dfu.IdentificationWarning):
        fit = dfu.beta_calibration(probs, rng.integers(0, 2, 80))
    assert fit.coef[2].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(fit.std_err[2]).all()


def test_separated_classes_are_warned_of():
    with pytest.warns(dfu.FitAtBoundWarning):
        fit = dfu.beta_calibration([0.1, 0.2, 0.3, 0.8, 0.9], [0, 0, 0, 1, 1])
    assert np.isfinite(fit.coef).all()
    assert np.isnan(fit.std_err).all()


def test_groups_may_use_it():
    probs, labels = rows(80)
    matrix = np.column_stack([1 - probs, probs])
    fit = dfu.groupwise_calibration("beta", matrix, labels)
    np.testing.assert_allclose(fit.predict(matrix).sum(axis=1), 1.0)


def test_bad_input_is_refused():
    with pytest.raises(dfu.InputError, match="'probs'"):
        dfu.beta_calibration([0.2, 1.3], [0, 1])


def test_a_curve_that_would_fall_on_either_side_is_flat():
    """Labels against the scores: a = b = 0, and c is the log-odds of class 1."""
    score = np.linspace(0.05, 0.95, 60)
    labels = (score < 0.5).astype(int)
    labels[::7] = 1 - labels[::7]
    fit = dfu.beta_calibration(score, labels)
    share = labels.mean()
    np.testing.assert_allclose(fit.coef[0, :2], 0.0, atol=1e-12)
    assert fit.coef[0, 2] == pytest.approx(np.log(share / (1.0 - share)), abs=1e-6)
