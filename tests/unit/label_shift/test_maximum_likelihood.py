"""MLLS: what it identifies, and classes or rows that it must leave out."""

import numpy as np
import pytest

import distfreeuq as dfu


def test_mean_predictions_give_the_smaller_standard_errors(data):
    by_predictions = dfu.mlls(*data, calibrate=None)
    by_labels = dfu.mlls(*data, calibrate=None, prior="labels")
    variances = [
        np.diag(fit.likelihood_covariance) for fit in (by_predictions, by_labels)
    ]
    assert (variances[0] < variances[1]).all()
    # those of the moment equations do not depend on it
    np.testing.assert_allclose(by_predictions.std_err, by_labels.std_err, rtol=0.1)


def test_an_uninformative_classifier_is_told_so():
    probs = np.tile([0.5, 0.3, 0.2], (40, 1))
    labels = np.repeat([0, 1, 2], [20, 12, 8])
    with pytest.warns(dfu.IdentificationWarning, match="flat"):
        fit = dfu.mlls(probs, labels, probs[:10], calibrate=None)
    np.testing.assert_allclose(fit.label_weight, 1.0, rtol=1e-12)
    np.testing.assert_array_equal(fit.std_err, np.inf)
    np.testing.assert_array_equal(fit.confint(method="likelihood"), [[0, np.inf]] * 3)
    # a class has at most the whole target: 1 / Wilson's lower end of 20 in 40
    ends = fit.confint()
    np.testing.assert_array_equal(ends[:, 0], 0.0)
    assert ends[0, 1] == pytest.approx(1 / 0.351995, rel=1e-4)
    assert fit.singular
    assert fit.test().df == 0
    assert fit.test().p_value == 1.0


def test_two_classes_that_look_alike_are_named_and_the_third_is_not():
    rng = np.random.default_rng(0)
    f = rng.dirichlet([2, 3], size=400)
    probs = np.column_stack([f[:, 0], 0.5 * f[:, 1], 0.5 * f[:, 1]])
    labels = np.array([rng.choice(3, p=row) for row in probs])
    with pytest.warns(dfu.IdentificationWarning, match="classes 1, 2"):
        fit = dfu.mlls(probs, labels, probs[:200], calibrate=None)
    known = np.isfinite(fit.confint(method="likelihood")[:, 1])
    np.testing.assert_array_equal(known, [True, False, False])
    # without calibration their shares of class 0's equation are anybody's guess
    assert np.isinf(fit.std_err).all()
    assert fit.label_weight[1] == pytest.approx(fit.label_weight[2], rel=1e-4)


@pytest.mark.parametrize("options", [{}, {"calibrate": None, "prior": "labels"}])
def test_a_class_absent_from_the_source_gets_no_weight(data, options):
    probs, labels, target = data
    kept = labels != 2
    with pytest.warns(dfu.IdentificationWarning, match="class 2"):
        fit = dfu.mlls(probs[kept], labels[kept], target, **options)
    assert fit.label_weight[2] == 0.0
    assert fit.target_prior.sum() == pytest.approx(1.0)
    assert np.isinf(fit.std_err[2])
    assert np.isfinite(fit.std_err[:2]).all()
    assert fit.adapt(target)[:, 2].max() == 0.0


def test_rows_that_no_source_class_explains_are_left_out():
    probs = np.eye(3)[[0, 1, 0, 1]] * 0.8 + [0.1, 0.1, 0.0]
    target = np.vstack([probs[:3], [[0.0, 0.0, 1.0]]])
    with pytest.warns(dfu.IdentificationWarning, match="class 2"):
        fit = dfu.mlls(probs, [0, 1, 0, 1], target, calibrate=None)
    assert any("1 of 4 target rows" in note for note in fit.notes)
    assert fit.target_prior[2] == 0.0


def test_exact_zeros_in_the_probabilities_are_no_obstacle():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 600)
    guesses = np.where(rng.random(600) < 0.8, labels, rng.integers(0, 3, 600))
    fit = dfu.mlls(np.eye(3)[guesses], labels, np.eye(3)[guesses[:200]])
    assert np.isfinite(fit.label_weight).all()
    assert np.isfinite(fit.std_err).all()
    # with hard predictions, MLLS solves BBSE's equations
    plain = dfu.bbse(np.eye(3)[guesses], labels, np.eye(3)[guesses[:200]])
    assert fit.label_weight == pytest.approx(plain.label_weight, abs=0.15)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [({"calibrate": "platt"}, "calibrate"), ({"prior": "uniform"}, "prior")],
)
def test_bad_choices_are_refused(data, options, parameter):
    with pytest.raises(dfu.InputError, match=parameter):
        dfu.mlls(*data, **options)
