"""Dirichlet scaling: the penalised optimum, by another optimiser."""

import numpy as np
import pytest
from scipy import optimize, special

import distfreeuq as dfu

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0.0, 2.0, (300, 3))
TRUTH = LOGITS * [0.5, 1.0, 1.3] + [0.3, 0.0, -0.3]
LABELS = (TRUTH + RNG.gumbel(size=TRUTH.shape)).argmax(axis=1)
WEIGHTS = RNG.random(300)


@pytest.mark.parametrize(("ridge", "ridge_bias"), [(0.01, None), (0.1, 1.0)])
def test_the_optimum(ridge, ridge_bias):
    fit = dfu.dirichlet_scaling(
        LOGITS, LABELS, ridge=ridge, ridge_bias=ridge_bias, sample_weight=WEIGHTS
    )
    z = special.log_softmax(LOGITS, axis=1)
    off = ~np.eye(3, dtype=bool)
    of_bias = ridge if ridge_bias is None else ridge_bias

    def loss(theta):
        coef, bias = theta.reshape(3, 4)[:, :3], theta.reshape(3, 4)[:, 3]
        log_probs = special.log_softmax(z @ coef.T + bias, axis=1)
        nll = -np.average(log_probs[np.arange(300), LABELS], weights=WEIGHTS)
        return nll + ridge * (coef[off] ** 2).mean() + of_bias * (bias**2).mean()

    found = optimize.minimize(loss, np.eye(3, 4).ravel(), options={"gtol": 1e-8})
    mine = np.column_stack([fit.coef, fit.bias])
    assert loss(mine.ravel()) <= found.fun + 1e-10
    np.testing.assert_allclose(mine.ravel(), found.x, atol=1e-3)
    probs = special.softmax(z @ fit.coef.T + fit.bias, axis=1)
    np.testing.assert_allclose(fit.predict(LOGITS), probs, atol=1e-12)


def test_constants_in_a_row_change_nothing():
    moved = LOGITS + RNG.normal(size=(300, 1))
    one, other = (dfu.dirichlet_scaling(rows, LABELS) for rows in (LOGITS, moved))
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-8)
    np.testing.assert_allclose(one.predict(LOGITS), other.predict(moved), atol=1e-8)


def test_a_large_ridge_leaves_a_scale_per_class():
    fit = dfu.dirichlet_scaling(LOGITS, LABELS, ridge=1e9)
    off = ~np.eye(3, dtype=bool)
    assert np.abs(fit.coef[off]).max() < 1e-6
    assert np.abs(fit.bias).max() < 1e-6
    assert (np.diag(fit.coef) > 0.3).all()


def test_a_class_without_rows_is_finite():
    with np.errstate(all="raise"):
        fit = dfu.dirichlet_scaling(LOGITS, LABELS % 2)
    assert np.isfinite(fit.bias).all()


def test_two_classes_saved_and_loaded(tmp_path):
    fit = dfu.dirichlet_scaling(LOGITS[:, 0], (LABELS == 0).astype(int))
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(
        again.predict(LOGITS[:, 0]), fit.predict(LOGITS[:, 0])
    )
    assert str(again) == str(fit)
    assert len(fit.to_frame()) == 6


@pytest.mark.parametrize("options", [{"ridge": 0.0}, {"ridge_bias": -1.0}])
def test_bad_options_are_refused(options):
    with pytest.raises(dfu.InputError, match=next(iter(options))):
        dfu.dirichlet_scaling(LOGITS, LABELS, **options)
