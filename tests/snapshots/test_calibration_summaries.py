"""What summaries of calibrations print, word for word."""

import numpy as np
import pytest

import distfreeuq as dfu

from .snapshot import assert_matches

N, K = 90, 3
NAMES = ["benign", "malignant", "unknown"]


def rows():
    """Return logits and labels that do not depend on a random number generator."""
    i, k = np.indices((N, K))
    logits = ((7 * i + 5 * k * k + 4 * i * k + i * i) % 17) / 3.0
    labels = np.where(
        np.arange(N) % 3 < 2, logits.argmax(axis=1), np.arange(N) // 3 % K
    )
    return logits, [NAMES[label] for label in labels]


LOGITS, LABELS = rows()
WEIGHTS = 1.0 + np.arange(N) % 4
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def test_temperature():
    fit = dfu.temperature_scaling(LOGITS, LABELS, classes=NAMES)
    assert_matches("temperature", str(fit))


def test_temperature_by_brier_score_with_a_declared_range():
    fit = dfu.temperature_scaling(
        LOGITS,
        LABELS,
        classes=NAMES,
        loss="brier",
        bounds=(0.05, 2.0),
        logit_range=6.0,
        delta=0.1,
    )
    assert_matches("temperature_brier", str(fit))


def test_temperature_at_its_bound():
    with pytest.warns(dfu.FitAtBoundWarning):
        fit = dfu.temperature_scaling(LOGITS, LOGITS.argmax(axis=1))
    assert_matches("temperature_at_bound", str(fit))


def test_classwise_temperatures():
    few = LOGITS[:, 2] == LOGITS.max(axis=1)
    keep = ~few | (np.cumsum(few) < 2)
    labels = [label for label, kept in zip(LABELS, keep, strict=True) if kept]
    fit = dfu.classwise_temperature_scaling(
        LOGITS[keep], labels, classes=NAMES, min_rows=5
    )
    assert_matches("classwise_temperature", str(fit))


def test_classwise_temperatures_near_each_other():
    fit = dfu.classwise_temperature_scaling(LOGITS, LABELS, classes=NAMES, gamma=0.02)
    assert_matches("classwise_temperature_limited", str(fit))


def test_vector_scaling_with_weights():
    fit = dfu.vector_scaling(LOGITS, LABELS, classes=NAMES, sample_weight=WEIGHTS)
    assert_matches("vector_scaling", str(fit))


def test_platt_scaling():
    fit = dfu.platt_scaling(LOGITS, LABELS, classes=NAMES, ridge=0.1)
    assert_matches("platt_scaling", str(fit))


def test_binary_platt_scaling():
    hits = [label == "benign" for label in LABELS]
    fit = dfu.platt_scaling(LOGITS[:, 0], hits, classes=[False, True], smoothing=True)
    assert_matches("platt_scaling_binary", str(fit))


def test_isotonic_calibration():
    fit = dfu.isotonic_calibration(PROBS, LABELS, classes=NAMES)
    assert_matches("isotonic_calibration", str(fit))


def test_beta_calibration():
    fit = dfu.beta_calibration(PROBS, LABELS, classes=NAMES)
    assert_matches("beta_calibration", str(fit))


def test_dirichlet_scaling():
    fit = dfu.dirichlet_scaling(LOGITS, LABELS, classes=NAMES, ridge_bias=0.1)
    assert_matches("dirichlet_scaling", str(fit))


def test_venn_abers():
    fit = dfu.venn_abers(PROBS, LABELS, classes=NAMES)
    assert_matches("venn_abers", str(fit))


def test_venn_abers_of_two_classes_with_weights():
    hits = [label == "benign" for label in LABELS]
    fit = dfu.venn_abers(
        PROBS[:, 0], hits, classes=[False, True], sample_weight=WEIGHTS
    )
    assert_matches("venn_abers_weighted", str(fit))


def test_scaling_binning():
    fit = dfu.scaling_binning(LOGITS, LABELS, classes=NAMES, n_bins=3, rng=0)
    assert_matches("scaling_binning", str(fit))


def test_scaling_binning_by_class_with_weights():
    fit = dfu.scaling_binning(
        PROBS,
        LABELS,
        "beta",
        classes=NAMES,
        n_bins=2,
        mode="classwise",
        split=(0.4, 0.0),
        sample_weight=WEIGHTS,
        weight_bound=4.0,
        rng=0,
    )
    assert_matches("scaling_binning_weighted", str(fit))


def test_calibration_by_groups():
    site = ["north" if i // 5 % 2 else "south" for i in range(N)]
    site[0] = "island"
    fit = dfu.groupwise_calibration(
        "temperature", LOGITS, LABELS, groups=site, classes=NAMES, bounds=(0.1, 2.0)
    )
    assert_matches("groupwise_calibration", str(fit))


def test_groupwise_tied():
    site = np.arange(len(LABELS)) % 3
    fit = dfu.groupwise_calibration(
        "platt", LOGITS, LABELS, groups=site, gamma=[0.1, 0.2], classes=NAMES, ridge=0.1
    )
    assert_matches("groupwise_tied", str(fit))


def test_one_line_each():
    fits = [
        dfu.temperature_scaling(LOGITS, LABELS, classes=NAMES),
        dfu.classwise_temperature_scaling(LOGITS, LABELS, classes=NAMES),
        dfu.vector_scaling(LOGITS, LABELS, classes=NAMES),
        dfu.platt_scaling(LOGITS, LABELS, classes=NAMES),
        dfu.isotonic_calibration(PROBS, LABELS, classes=NAMES),
        dfu.groupwise_calibration("vector", LOGITS, LABELS, classes=NAMES, ridge=0.1),
    ]
    assert_matches("calibration_one_line", "\n".join(repr(fit) for fit in fits))


def test_isotonic_band():
    band = dfu.metrics.isotonic_band(
        np.linspace(0.05, 0.95, 400), np.arange(400) % 7 < np.arange(400) // 58,
        n_blocks=20,
    )  # fmt: skip
    assert_matches("isotonic_band", str(band))


def test_interval_of_the_l2_error():
    found = dfu.metrics.l2_ece_interval(
        np.linspace(0.05, 0.95, 400), np.arange(400) % 7 < np.arange(400) // 58,
        n_bins=5, event="class-1",
    )  # fmt: skip
    assert_matches("l2_ece_interval", f"{found}\n{found!r}")
