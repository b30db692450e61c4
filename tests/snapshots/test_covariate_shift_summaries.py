"""What calibrations under covariate shift print, word for word."""

import numpy as np

import distfreeuq as dfu

from .snapshot import assert_matches

N, M = 160, 120


def rows():
    """Return rows that do not depend on a random number generator."""
    i, j = np.arange(N), np.arange(M)
    source = np.column_stack([(37 * i % N) / N, (61 * i % 83) / 83]) * 4 - 2
    target = np.column_stack([(43 * j % M) / M + 0.2, (29 * j % 71) / 71]) * 4 - 2
    logits = np.column_stack([np.zeros(N), 2 * np.sin(3 * source[:, 0])])
    labels = ((53 * i % N) / N < 1 / (1 + np.exp(-0.6 * logits[:, 1]))).astype(int)
    return logits, labels, source, target


LOGITS, LABELS, SOURCE, TARGET = rows()


def test_weighted_temperature():
    fit = dfu.covariate_shift_calibration(
        LOGITS, LABELS, SOURCE, TARGET, loss="brier", offset=0.5, rng=0
    )
    assert_matches("covariate_shift_temperature", str(fit))


def test_known_weights_and_bins():
    weights = np.exp(0.5 * SOURCE[:, 0])
    fit = dfu.covariate_shift_calibration(
        LOGITS,
        LABELS,
        None,
        None,
        ratio=weights,
        calibrator="binning",
        calibrator_options={"n_bins": 4, "weight_bound": 4.0},
    )
    assert_matches("covariate_shift_binning", str(fit))


def test_no_weights():
    fit = dfu.covariate_shift_calibration(LOGITS, LABELS, SOURCE, TARGET, ratio=None)
    assert_matches("covariate_shift_unweighted", str(fit))


def test_decisions():
    weights = np.minimum(np.exp(0.5 * SOURCE[:, 0]), 4.0)
    decisions = (LOGITS[:, 1] > 1.0).astype(int)
    fit = dfu.decision_calibration(
        LOGITS, LABELS, decisions, sample_weight=weights, weight_bound=4.0
    )
    assert_matches("decision_calibration", str(fit))
    judged = fit.evaluate(LOGITS[::3], LABELS[::3], decisions[::3], n_bins=5)
    assert_matches("decision_evaluation", str(judged))


def test_choice():
    weights = np.minimum(np.exp(0.5 * SOURCE[:, 0]), 4.0)
    choice = dfu.choose_calibration(
        LOGITS, LABELS, None, None, ["temperature", "platt"], ratio=weights, rng=0
    )
    assert_matches("calibration_choice", str(choice))
