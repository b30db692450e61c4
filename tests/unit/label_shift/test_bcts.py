"""Bias-corrected temperature scaling, as MLLS applies it."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood
from tests.unit.label_shift.three_classes import draw


def test_calibration_is_applied_to_both_samples():
    rng = np.random.default_rng(5)
    truth = np.array([0.25, 0.5, 3.5])
    probs, labels = draw(rng, 20_000, [0.4, 0.4, 0.2])
    target, _ = draw(rng, 20_000, [0.1, 0.2, 0.7])

    def distort(f):
        sharp = f**2.5 * [1.0, 2.0, 0.5]
        return sharp / sharp.sum(axis=1, keepdims=True)

    fit = dfu.mlls(distort(probs), labels, distort(target))
    assert fit.calibration.slope == pytest.approx(1 / 2.5, rel=0.05)
    assert (np.abs(fit.label_weight - truth) < 4 * fit.std_err).all()
    assert (fit.std_err < 0.1).all()
    # what a peer does: the prior of calibrated rows, the likelihood of raw ones
    wrong = maximize_likelihood(distort(target), fit.source_prior).prior
    assert (np.abs(wrong / fit.source_prior - truth) > 8 * fit.std_err).any()


def test_bcts_makes_mean_predictions_the_label_frequencies(data):
    by_predictions = dfu.mlls(*data)
    by_labels = dfu.mlls(*data, prior="labels")
    frequencies = np.bincount(data[1]) / 900
    np.testing.assert_allclose(by_predictions.source_prior, frequencies, atol=1e-7)
    np.testing.assert_allclose(by_labels.source_prior, frequencies)
    np.testing.assert_allclose(by_predictions.raw, by_labels.raw, rtol=1e-5)
    np.testing.assert_allclose(by_predictions.std_err, by_labels.std_err, rtol=1e-5)
