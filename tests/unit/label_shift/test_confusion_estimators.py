"""BBSE and RLLS by hand, and where the confusion matrix says little."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.delta_method import hard_covariance

# ------------------------------------------------------------------------------ BBSE


def test_standard_errors_are_the_numerical_delta_method():
    joint = np.array([[60.0, 20, 4], [20, 160, 20], [5, 20, 91]])
    target, m = np.array([70.0, 90.0, 140.0]), 300
    n = int(joint.sum())
    w = np.linalg.solve(joint / n, target / m)
    cells, step = joint.ravel() / n, 1e-6

    def weights(cell_probs, mu):
        return np.linalg.solve(cell_probs.reshape(3, 3), mu)

    by_cell = np.array(
        [(weights(cells + step * e, target / m) - w) / step for e in np.eye(9)]
    ).T
    by_mu = np.linalg.inv(joint / n)
    source = (np.diag(cells) - np.outer(cells, cells)) / n
    mu = target / m
    noise = (np.diag(mu) - np.outer(mu, mu)) / m
    want = by_cell @ source @ by_cell.T + by_mu @ noise @ by_mu.T
    got = hard_covariance(Confusion(joint, target, n, m, False), w)
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_kappa_and_effective_sample_size_by_hand():
    # C = diag(.5, .25, .25), mu = (.25, .75, 0): w = (.5, 3, 0)
    probs, labels = np.eye(3)[[0, 0, 1, 2]], [0, 0, 1, 2]
    fit = dfu.bbse(probs, labels, np.eye(3)[[0, 1, 1, 1]])
    np.testing.assert_allclose(fit.label_weight, [0.5, 3.0, 0.0])
    assert fit.kappa == 6.0
    assert fit.ess == pytest.approx(4.0**2 / (2 * 0.25 + 9.0))
    assert fit.condition_number == pytest.approx(2.0)


def test_ties_go_to_the_first_class():
    fit = dfu.bbse([[0.5, 0.5], [0.2, 0.8]], [0, 1], [[0.5, 0.5]])
    np.testing.assert_array_equal(fit.confusion.joint, np.eye(2))
    np.testing.assert_array_equal(fit.confusion.target, [1, 0])


def test_negative_solutions_are_noted():
    rng = np.random.default_rng(0)
    guesses = np.where(
        rng.random(400) < 0.8, np.arange(400) % 2, 1 - np.arange(400) % 2
    )
    fit = dfu.bbse(np.eye(2)[guesses], np.arange(400) % 2, np.eye(2)[np.ones(50, int)])
    assert fit.raw[0] < 0 == fit.label_weight[0]
    assert "class 0" in fit.notes[-1]
    assert "Note" in str(fit)
    np.testing.assert_array_equal(fit.confint(0.05)[0], [0.0, fit.confint(0.05)[0, 1]])


def test_a_never_predicted_class_is_named():
    probs = [[0.7, 0.2, 0.1]] * 5 + [[0.2, 0.7, 0.1]] * 5
    labels = list("aabacbbbcb")
    target = [[0.2, 0.7, 0.1]] * 4
    with pytest.warns(dfu.IdentificationWarning, match="class 'c' never predicted"):
        fit = dfu.bbse(probs, labels, target, classes=["a", "b", "c"])
    assert fit.singular
    assert fit.raw is None
    assert fit.condition_number == np.inf
    for attribute in ("label_weight", "target_prior", "kappa", "ess"):
        with pytest.raises(dfu.InputError, match="singular"):
            getattr(fit, attribute)
    with pytest.raises(dfu.InputError, match="singular"):
        fit.adapt(probs)
    ends = fit.confint()
    np.testing.assert_array_equal(ends[:, 0], 0.0)  # up to the whole target
    assert (ends[:, 1] > 1 / fit.source_prior).all()
    assert not fit.region(0.05).is_empty
    frame = fit.to_frame()
    assert frame["weight"].isna().all()
    assert np.isfinite(frame["low"]).all()
    assert "not identified" in str(fit)
    assert fit.plot() is not None
    assert dfu.rlls(probs, labels, target, classes=["a", "b", "c"]).singular


def test_a_class_without_source_rows_but_predicted_is_noted():
    probs, labels = np.eye(3)[[0, 1, 0, 1]], [0, 1, 0, 1]
    target = np.eye(3)[[0, 2, 2]]
    with pytest.warns(dfu.IdentificationWarning, match="class 2 without source rows"):
        fit = dfu.bbse(probs, labels, target)
    assert any("no source row" in note for note in fit.notes)


def test_dependent_columns_are_called_by_their_cause():
    probs, labels = np.eye(2)[[0, 1, 0, 1]], [0, 0, 1, 1]
    with pytest.warns(dfu.IdentificationWarning, match="tell some classes apart"):
        dfu.bbse(probs, labels, np.eye(2)[[0, 1, 1]])


def test_a_weak_confusion_matrix_is_noted(data):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([5, 5, 5], size=900)
    fit = dfu.bbse(probs, data[1], probs[:500])
    assert "nearly singular" in str(fit)
    assert "nearly singular" not in str(dfu.bbse(*data))


# ------------------------------------------------------------------------------ RLLS


def test_rlls_is_bbse_then_no_shift_as_regularisation_grows(data):
    plain = dfu.bbse(*data)
    np.testing.assert_allclose(
        dfu.rlls(*data, regularization=0.0).label_weight, plain.label_weight
    )
    np.testing.assert_array_equal(dfu.rlls(*data, regularization=9.0).label_weight, 1.0)
    sizes = [
        np.linalg.norm(dfu.rlls(*data, regularization=r).raw - 1.0)
        for r in np.linspace(0.0, 0.5, 30)
    ]
    assert (np.diff(sizes) <= 1e-9).all()


def test_rlls_solves_a_singular_problem():
    probs, labels = np.eye(3)[[0, 1, 0, 1]], [0, 1, 0, 1]
    fit = dfu.rlls(probs, labels, np.eye(3)[[0, 0, 0, 1]])
    assert fit.singular
    np.testing.assert_allclose(fit.label_weight, [1.5, 0.5, 1.0], rtol=1e-9)
    np.testing.assert_array_equal(fit.std_err, np.inf)
    assert "rest on the regulariser" in str(fit)


@pytest.mark.parametrize("value", [-0.1, np.inf, np.nan, "x", True])
def test_bad_regularisers_are_refused(data, value):
    with pytest.raises(dfu.InputError, match="regularization"):
        dfu.rlls(*data, regularization=value)
