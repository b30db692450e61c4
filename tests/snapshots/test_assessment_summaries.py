"""What assessments and comparisons print, word for word."""

import numpy as np

import distfreeuq as dfu
from distfreeuq import metrics

from .snapshot import assert_matches

N = 120
NAMES = ["benign", "malignant", "unknown"]


def rows(sharpness=1.0):
    """Return probabilities and labels that do not depend on a random generator."""
    i, k = np.indices((N, 3))
    powers = np.exp(sharpness * ((7 * i + 5 * k * k + 4 * i * k + i * i) % 17) / 6.0)
    return powers / powers.sum(axis=1, keepdims=True)


PROBS, SHARP = rows(), rows(3.0)
LABELS = [
    NAMES[k]
    for k in np.where(
        np.arange(N) % 5 < 3, PROBS.argmax(axis=1), (np.arange(N) // 5) % 3
    )
]
WEIGHTS = 1.0 + np.arange(N) % 4


def test_assessment():
    result = dfu.assess(PROBS, LABELS, classes=NAMES, n_bins=5, rng=0)
    assert_matches("assessment", str(result))


def test_assessment_with_intervals():
    result = dfu.assess(SHARP, LABELS, classes=NAMES, n_bins=5, n_boot=200, rng=0)
    assert_matches("assessment_with_intervals", str(result))


def test_assessment_near_zero_with_intervals():
    result = dfu.assess(PROBS, LABELS, classes=NAMES, n_bins=5, n_boot=200, rng=0)
    assert_matches("assessment_near_zero", str(result))


def test_assessment_of_weighted_predictions_without_a_test():
    result = dfu.assess(
        SHARP.max(axis=1),
        LABELS,
        predicted=[NAMES[k] for k in SHARP.argmax(axis=1)],
        classes=NAMES,
        n_bins=5,
        sample_weight=WEIGHTS,
        n_sim=0,
    )
    assert_matches("assessment_of_weighted_predictions", str(result))


def test_comparison():
    result = dfu.compare(
        SHARP,
        PROBS,
        LABELS,
        names=["raw", "scaled"],
        classes=NAMES,
        n_bins=5,
        n_boot=200,
        rng=0,
    )
    assert_matches("comparison", str(result))


def test_comparison_without_intervals():
    result = dfu.compare(
        {"raw": SHARP, "scaled": PROBS}, LABELS, classes=NAMES, n_bins=5, n_boot=0
    )
    assert_matches("comparison_without_intervals", str(result))


def test_reliability_table():
    confidence = SHARP.max(axis=1)
    correct = np.array(LABELS) == np.array(NAMES)[SHARP.argmax(axis=1)]
    plain = metrics.reliability(confidence, correct, n_bins=5)
    weighted = metrics.reliability(confidence, correct, n_bins=5, sample_weight=WEIGHTS)
    equal_mass = metrics.reliability(
        confidence, correct, n_bins=3, scheme="uniform-mass"
    )
    assert_matches("reliability", "\n\n".join(map(str, (plain, weighted, equal_mass))))


def test_one_line():
    lines = [
        repr(dfu.assess(PROBS, LABELS, classes=NAMES, n_sim=0)),
        repr(dfu.compare(PROBS, SHARP, LABELS, classes=NAMES, n_boot=0)),
        repr(metrics.reliability([0.9, 0.7], [1, 0])),
    ]
    assert_matches("assessment_one_line", "\n".join(lines))
