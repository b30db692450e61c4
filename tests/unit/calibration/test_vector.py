"""Vector scaling against closed forms, finite differences, and an outside optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

import distfreeuq as dfu
from distfreeuq.calibration import vector


def draws(n, n_classes, seed, scale=1.0, bias=0.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, (n, n_classes))
    truth = logits * scale + bias
    return logits, (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)


def mean_nll(theta, logits, labels, weights):
    """Loss and gradient from the definition, in NumPy."""
    n_classes = logits.shape[1]
    scores = logits * theta[:n_classes] + theta[n_classes:]
    scores = scores - scores.max(axis=1, keepdims=True)
    sums = np.exp(scores).sum(axis=1)
    rows = np.arange(len(labels))
    residual = np.exp(scores) / sums[:, None] - np.eye(n_classes)[labels]
    share = weights / weights.sum()
    loss = share @ (np.log(sums) - scores[rows, labels])
    return loss, np.concatenate([share @ (residual * logits), share @ residual])


def reference(logits, labels, weights):
    n_classes = logits.shape[1]
    start = np.repeat([1.0, 0.0], n_classes)
    found = minimize(
        mean_nll, start, args=(logits, labels, weights), jac=True, tol=1e-12
    )
    scale, bias = found.x.reshape(2, n_classes)
    return scale, bias - bias.mean()


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_optimum_of_a_general_optimiser(weighted):
    logits, labels = draws(
        800, 4, 0, scale=[0.4, 1.0, 1.3, 0.7], bias=[0.5, 0, -0.5, 0]
    )
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=800) if weighted else np.ones(800)
    fit = dfu.vector_scaling(
        logits, labels, sample_weight=weights if weighted else None
    )
    scale, bias = reference(logits, labels, weights)
    np.testing.assert_allclose(fit.scale, scale, rtol=1e-6)
    np.testing.assert_allclose(fit.bias, bias, atol=1e-6)
    assert fit.bias.sum() == pytest.approx(0.0, abs=1e-12)


def test_a_saturated_fit_gives_the_frequencies_back():
    """Two kinds of rows, two classes: every frequency can be fitted."""
    logits = np.repeat([[2.0, 0.0], [0.0, 2.0]], 8, axis=0)
    labels = np.array([0] * 5 + [1] * 3 + [0] * 2 + [1] * 6)
    fit = dfu.vector_scaling(logits, labels)
    probs = fit.predict([[2.0, 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(probs, [[5 / 8, 3 / 8], [2 / 8, 6 / 8]], rtol=1e-9)


def test_many_rows_start_from_a_sample():
    """More than 3 * 25 * 2K rows: the fit of a sample comes first, same optimum."""
    logits, labels = draws(3000, 3, 2, scale=[0.5, 1.0, 2.0])
    fit = dfu.vector_scaling(logits, labels)
    scale, bias = reference(logits, labels, np.ones(3000))
    np.testing.assert_allclose(fit.scale, scale, rtol=1e-6)
    np.testing.assert_allclose(fit.bias, bias, atol=1e-6)


def test_standard_errors_are_the_sandwich():
    """H by differences of the gradient, meat from the definition of the scores."""
    logits, labels = draws(300, 3, 3)
    weights = np.random.default_rng(4).exponential(size=300)
    fit = dfu.vector_scaling(logits, labels, sample_weight=weights)
    theta = np.concatenate([fit.scale, fit.bias])
    step = 1e-5
    hessian = np.array(
        [
            mean_nll(theta + step * e, logits, labels, weights)[1]
            - mean_nll(theta - step * e, logits, labels, weights)[1]
            for e in np.eye(6)
        ]
    ) / (2 * step)
    scores = fit.predict(logits) - np.eye(3)[labels]
    scores = np.hstack([scores * logits, scores]) * (weights / weights.sum())[:, None]
    bread = np.linalg.pinv(hessian, rcond=1e-8)
    variances = np.diag(bread @ scores.T @ scores @ bread)
    np.testing.assert_allclose(fit.std_err.ravel() ** 2, variances, rtol=1e-5)


def test_standard_errors_match_repeated_fits():
    estimates, errors = [], []
    for seed in range(200):
        logits, labels = draws(400, 3, seed, scale=[0.5, 1.0, 1.5])
        fit = dfu.vector_scaling(logits, labels)
        estimates.append(np.concatenate([fit.scale, fit.bias]))
        errors.append(fit.std_err.ravel())
    ratio = np.std(estimates, axis=0, ddof=1) / np.mean(errors, axis=0)
    # a standard deviation of 200 draws is known to about 5 %
    assert (np.abs(ratio - 1) < 0.25).all()


def test_decisions_that_change_are_counted():
    logits, labels = draws(500, 3, 5, bias=[2.0, 0.0, -2.0])
    fit = dfu.vector_scaling(logits, labels)
    changed = fit.predict(logits).argmax(axis=1) != logits.argmax(axis=1)
    assert fit.n_changed == changed.sum() > 0


def test_a_class_without_rows_is_told_and_stays_finite():
    logits, labels = draws(400, 4, 6)
    keep = labels != 2
    with pytest.warns(dfu.FitAtBoundWarning, match=r"1 of 4 classes \(2\)"):
        fit = dfu.vector_scaling(logits[keep], labels[keep])
    assert np.isfinite(fit.scale).all()
    assert np.isfinite(fit.bias).all()
    assert np.isnan(fit.std_err[:, 2]).all()
    assert np.isfinite(np.delete(fit.std_err, 2, axis=1)).all()
    assert fit.predict(logits)[:, 2].max() < 1e-15
    # the others as if the class did not exist
    three = dfu.vector_scaling(
        np.delete(logits[keep], 2, axis=1),
        np.unique(labels[keep], return_inverse=True)[1],
    )
    np.testing.assert_allclose(np.delete(fit.scale, 2), three.scale, rtol=1e-6)
    np.testing.assert_allclose(np.delete(fit.bias, 2), three.bias, atol=1e-6)


def test_separable_rows_stay_finite_with_a_warning():
    logits = np.vstack([np.eye(3), 2 * np.eye(3)])
    with pytest.warns(dfu.FitAtBoundWarning, match="3 of 3 classes"):
        fit = dfu.vector_scaling(logits, [0, 1, 2, 0, 1, 2])
    assert np.isfinite(fit.scale).all()
    assert fit.loss_after < 1e-6
    assert np.isfinite(fit.predict(logits)).all()
    ridged = dfu.vector_scaling(logits, [0, 1, 2, 0, 1, 2], ridge=0.01)
    assert 0.05 < ridged.loss_after < ridged.loss_before


def test_a_large_ridge_changes_nothing():
    logits, labels = draws(200, 3, 7, scale=0.2)
    fit = dfu.vector_scaling(logits, labels, ridge=1e8)
    np.testing.assert_allclose(fit.scale, 1.0, atol=1e-6)
    np.testing.assert_allclose(fit.bias, 0.0, atol=1e-6)


def test_collinear_logits_leave_parameters_undetermined():
    """Centred logits of two classes: only the sum of the scales matters."""
    score = np.random.default_rng(8).normal(0, 2, 300)
    labels = (score + np.random.default_rng(9).logistic(size=300) > 0).astype(int)
    fit = dfu.vector_scaling(np.column_stack([-score / 2, score / 2]), labels)
    assert np.isnan(fit.std_err[0]).all()
    assert np.isfinite(fit.std_err[1]).all()
    # the least departure from (1, 1): equal scales
    assert fit.scale[0] == pytest.approx(fit.scale[1], rel=1e-6)
    platt = dfu.platt_scaling(score, labels)
    assert fit.scale.mean() == pytest.approx(platt.slope, rel=1e-6)


@pytest.mark.parametrize(("n_classes", "n"), [(201, 1200), (501, 600)])
def test_many_classes(n_classes, n):
    """Beyond 500, without a Hessian and without standard errors."""
    logits, labels = draws(n, n_classes, 10, scale=0.7)
    ridge = 0.01
    fit = dfu.vector_scaling(logits, labels, ridge=ridge)
    residual = fit.predict(logits) - np.eye(n_classes)[labels]
    by_scale = (residual * logits).mean(axis=0) + ridge * (fit.scale - 1.0)
    by_bias = residual.mean(axis=0) + ridge * fit.bias
    np.testing.assert_allclose(np.concatenate([by_scale, by_bias]), 0.0, atol=1e-7)
    known = n_classes == 201
    assert np.isfinite(fit.std_err).all() if known else np.isnan(fit.std_err).all()
    assert ("no standard errors" in str(fit)) != known


def test_without_a_hessian_the_optimum_is_the_same(monkeypatch):
    logits, labels = draws(500, 4, 11, scale=[0.4, 1.0, 1.3, 0.7])
    newton = dfu.vector_scaling(logits, labels)
    monkeypatch.setattr(vector, "MAX_HESSIAN_PARAMETERS", 1)
    lbfgs = dfu.vector_scaling(logits, labels)
    np.testing.assert_allclose(lbfgs.scale, newton.scale, rtol=1e-5)
    np.testing.assert_allclose(lbfgs.bias, newton.bias, atol=1e-5)
    assert lbfgs.bias.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_unit_of_the_logits_does_not_matter(size):
    """Far from scale 1 the optimum is the same, and found as well."""
    logits, labels = draws(3000, 20, 12, scale=np.linspace(0.5, 1.5, 20))
    fit = dfu.vector_scaling(logits, labels)
    other = dfu.vector_scaling(size * logits, labels)
    np.testing.assert_allclose(size * other.scale, fit.scale, rtol=1e-9)
    np.testing.assert_allclose(other.bias, fit.bias, atol=1e-9)
    np.testing.assert_allclose(size * other.std_err[0], fit.std_err[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("n", "n_classes"), [(400, 3), (3000, 3), (600, 30)], ids=["few", "sample", "wide"]
)
def test_the_gradient_vanishes_to_rounding(n, n_classes):
    logits, labels = draws(n, n_classes, 13, scale=0.5)
    weights = np.random.default_rng(14).exponential(size=n)
    fit = dfu.vector_scaling(logits, labels, sample_weight=weights)
    theta = np.concatenate([fit.scale, fit.bias])
    np.testing.assert_allclose(
        mean_nll(theta, logits, labels, weights)[1], 0, atol=1e-13
    )


@pytest.mark.parametrize("ridge", [-1.0, np.inf, np.nan, None])
def test_bad_ridge_is_told(ridge):
    with pytest.raises(dfu.InputError, match="'ridge' parameter of vector_scaling"):
        dfu.vector_scaling(*draws(20, 3, 0), ridge=ridge)


def test_classes_without_rows_take_no_part_in_the_matrices():
    # a class of such low logits that it changes nothing: the fit is that of the others
    rng = np.random.default_rng(8)
    logits = rng.normal(0.0, 2.0, (400, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    wide = np.column_stack([logits, np.full((400, 40), -60.0)])
    few = dfu.vector_scaling(logits, labels)
    with pytest.warns(dfu.exceptions.FitAtBoundWarning):
        many = dfu.vector_scaling(wide, labels)
    np.testing.assert_allclose(many.scale[:3], few.scale, rtol=1e-8)
    np.testing.assert_allclose(many.bias[:3], few.bias, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(many.std_err[:, :3], few.std_err, rtol=1e-8)
    assert np.isnan(many.std_err[:, 3:]).all()
