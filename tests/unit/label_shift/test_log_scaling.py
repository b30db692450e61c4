"""Temperature, vector and no-bias vector scaling before MLLS."""

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.hausman_test import compare_estimates
from distfreeuq.label_shift.scalings.log_scaling import (
    LogScaling,
    fit_log_scaling,
    scaling_sums,
)
from tests.unit.label_shift.three_classes import draw

KINDS = ("ts", "vs", "nbvs")


def spoilt(probs):
    """Return probabilities with a scale and a bias for each class."""
    logs = np.log(probs)
    logs -= logs.mean(axis=1, keepdims=True)
    return special.softmax(logs * [1.5, 2.0, 1.2] + [0.3, -0.4, 0.1], axis=1)


def test_two_classes_by_hand():
    # c = (h, -h) with h half the log-odds, and "ts" halves what was doubled
    probs = np.array([[0.8, 0.2], [0.5, 0.5]])
    scaling = LogScaling("ts", np.array([0.5, 0.5]), np.zeros(2))
    np.testing.assert_allclose(
        scaling.apply(probs), [[2 / 3, 1 / 3], [0.5, 0.5]], rtol=1e-12
    )
    # scales (1, 0): the log-odds are h, half of what they were
    one = LogScaling("nbvs", np.array([1.0, 0.0]), np.zeros(2))
    np.testing.assert_allclose(one.apply(probs)[0], [2 / 3, 1 / 3], rtol=1e-12)
    # four rows of log-odds 1, three of class 0: one temperature makes 3/4 of them
    rows = np.repeat([[special.expit(1.0), special.expit(-1.0)]], 4, axis=0)
    fit = fit_log_scaling("ts", rows, np.array([0, 0, 0, 1]))
    assert fit.slope == pytest.approx(np.log(3.0), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_derivatives_are_those_of_the_loss(kind):
    rng = np.random.default_rng(0)
    probs, labels = draw(rng, 50, [0.4, 0.4, 0.2])
    weight = rng.integers(0, 3, 50).astype(float)
    at = rng.normal(1.0, 0.3, 6)

    def sums(x):
        return scaling_sums(RowsInMemory.of(probs, labels, weight), x[:3], x[3:])

    for i, step in enumerate(1e-5 * np.eye(6)):
        up, down = sums(at + step), sums(at - step)
        slope = (up.loss - down.loss) / 2e-5
        assert sums(at).gradient[i] == pytest.approx(slope, abs=1e-8)
        curve = (up.gradient - down.gradient) / 2e-5
        np.testing.assert_allclose(sums(at).hessian[i], curve, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_the_fit_is_stationary(kind):
    probs, labels = draw(np.random.default_rng(1), 3000, [0.4, 0.4, 0.2])
    fit = fit_log_scaling(kind, spoilt(probs), labels)
    sums = scaling_sums(RowsInMemory.of(spoilt(probs), labels), fit.scale, fit.bias)
    gradient = fit.from_parameters().T @ sums.gradient
    assert np.abs(gradient).max() <= 1e-7
    if kind == "vs":  # its bias makes mean predictions the labels' frequencies
        mean = fit.apply(spoilt(probs)).mean(axis=0)
        np.testing.assert_allclose(mean, np.bincount(labels) / 3000, atol=1e-6)
        assert fit.bias.sum() == pytest.approx(0.0, abs=1e-9)


def test_vector_scaling_is_that_of_centred_logs():
    probs, labels = draw(np.random.default_rng(2), 2000, [0.4, 0.4, 0.2])
    logs = np.log(spoilt(probs))
    logs -= logs.mean(axis=1, keepdims=True)
    ours = fit_log_scaling("vs", spoilt(probs), labels)
    theirs = dfu.vector_scaling(logs, labels)
    np.testing.assert_allclose(ours.scale, theirs.scale, rtol=1e-4)
    np.testing.assert_allclose(ours.bias, theirs.bias, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_beside_the_authors_package(kind):
    module = pytest.importorskip("abstention.calibration")
    probs, labels = draw(np.random.default_rng(3), 2000, [0.4, 0.4, 0.2])
    theirs = {
        "ts": module.TempScaling(),
        "vs": module.VectorScaling(),
        "nbvs": module.NoBiasVectorScaling(),
    }[kind](spoilt(probs), np.eye(3)[labels], posterior_supplied=True)
    ours = fit_log_scaling(kind, spoilt(probs), labels).apply(spoilt(probs))
    np.testing.assert_allclose(ours, theirs(spoilt(probs)), atol=2e-3)
    rows = np.arange(len(labels))
    loss, other = (-np.log(p[rows, labels]).mean() for p in (ours, theirs(probs * 1)))
    assert loss <= -np.log(theirs(spoilt(probs))[rows, labels]).mean() + 1e-9
    assert loss < other  # of rows that it was not fitted to


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_calibrated_probabilities(kind, data):
    probs, labels, target = data
    fit = dfu.mlls(spoilt(probs), labels, spoilt(target), calibrate=kind)
    by_hand = dfu.mlls(
        fit.calibration.apply(spoilt(probs)),
        labels,
        fit.calibration.apply(spoilt(target)),
        calibrate=None,
    )
    np.testing.assert_allclose(fit.label_weight, by_hand.label_weight, rtol=1e-6)
    rows = fit.adapt(spoilt(target[:5]))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    name = kind.upper()
    assert f"Calibration after {name}" in str(fit)


@pytest.mark.parametrize("kind", KINDS)
def test_one_precision_and_memory_order_as_good_as_another(kind, data):
    probs, labels, target = data
    fit = dfu.mlls(probs, labels, target, calibrate=kind)
    single = dfu.mlls(
        np.asfortranarray(probs.astype(np.float32)),
        labels,
        target.astype(np.float32),
        calibrate=kind,
    )
    np.testing.assert_allclose(single.label_weight, fit.label_weight, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_without_rows_gets_nothing(kind):
    probs, labels = draw(np.random.default_rng(4), 300, [0.5, 0.5, 0.0])
    with pytest.warns(dfu.IdentificationWarning, match="lacks class 2"):
        fit = dfu.mlls(probs, labels, probs[:100], calibrate=kind)
    assert fit.label_weight[2] == 0.0
    assert (fit.calibration.apply(probs)[:, 2] == 0).all()
    assert np.isfinite(fit.likelihood_covariance[:2, :2]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_few_classes_of_many_are_fitted_by_themselves(kind):
    rng = np.random.default_rng(5)
    few, labels = draw(rng, 200, [0.4, 0.4, 0.2])
    many = np.zeros((200, 600))
    many[:, [5, 100, 599]] = few
    names = np.array([5, 100, 599])
    wide = fit_log_scaling(kind, many, names[labels])
    fit = fit_log_scaling(kind, few, labels)
    np.testing.assert_allclose(wide.scale[names], fit.scale, rtol=1e-6)
    np.testing.assert_allclose(wide.apply(many)[:, names], fit.apply(few), rtol=1e-6)
    assert wide.apply(many).sum() == pytest.approx(200)


@pytest.mark.parametrize("kind", KINDS)
def test_certain_and_separated_rows_have_finite_fits(kind):
    labels = np.repeat([0, 1, 2], 20)
    certain = np.eye(3)[labels]
    fit = dfu.mlls(certain, labels, certain[10:50], calibrate=kind)
    assert np.isfinite(fit.calibration.scale).all()
    np.testing.assert_allclose(
        fit.target_prior, np.bincount(labels[10:50]) / 40, atol=1e-3
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_of_other_labels_is_that_of_their_own_fit(kind):
    # in the first order, which is how drawn labels are treated
    rng = np.random.default_rng(6)
    probs, labels = draw(rng, 8000, [0.4, 0.4, 0.2])
    target, _ = draw(rng, 800, [0.1, 0.2, 0.7])
    fit = dfu.mlls(probs, labels, target, calibrate=kind)
    w, old = fit.label_weight, fit.calibration
    g = old.apply(probs)
    labels = (g.cumsum(axis=1) < rng.random((len(g), 1))).sum(axis=1)
    other = Samples(probs, labels, target).rows
    new = fit_log_scaling(kind, probs, labels)
    found = compare_estimates(other.calibrated(old.apply), old, w).gap
    want = compare_estimates(other.calibrated(new.apply), new, w).gap
    without = compare_estimates(other.calibrated(old.apply), None, w).gap
    np.testing.assert_allclose(found, want, atol=0.3 * abs(without - want).max())


def test_other_names_are_refused(data):
    with pytest.raises(dfu.InputError, match=r"'bcts', 'ts', 'vs', 'nbvs'"):
        dfu.mlls(*data, calibrate="vector")
