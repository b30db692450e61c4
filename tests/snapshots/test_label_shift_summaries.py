"""What tables of label weights print, word for word."""

import numpy as np
import pytest

import distfreeuq as dfu

from .snapshot import assert_matches

NAMES = ["benign", "malignant", "unknown"]


def rows(n, prior, start):
    """Return labels of fixed shares and probabilities, without a generator.

    They are rounded, so that equal ones are equal to the last bit on every machine.
    """
    labels = np.repeat(np.arange(3), np.round(n * np.array(prior)).astype(int))
    i, k = np.indices((labels.size, 3))
    noise = ((start + 7 * i + 5 * k * k + 4 * i * k + i * i) % 17) / 6.0
    odds = np.exp(noise + 2.0 * np.eye(3)[labels])
    # rounded, so that rows that tie do so on every processor
    probs = np.round(odds / odds.sum(axis=1, keepdims=True), 9)
    return probs, [NAMES[label] for label in labels]


PROBS, LABELS = rows(240, (0.5, 0.3, 0.2), 0)
TARGET, _ = rows(160, (0.2, 0.3, 0.5), 3)
DATA = (PROBS, LABELS, TARGET)


def test_bbse():
    assert_matches("label_shift_bbse", str(dfu.bbse(*DATA, classes=NAMES)))


def test_bbse_with_labels():
    some = [NAMES[i % 3] if i < 40 else None for i in range(160)]
    fit = dfu.bbse(*DATA, classes=NAMES, labels_target=some)
    assert_matches("label_shift_bbse_with_labels", str(fit))


def test_soft_bbse():
    fit = dfu.bbse(*DATA, classes=NAMES, soft=True)
    assert_matches("label_shift_soft_bbse", str(fit))


def test_bbse_without_weights():
    never = PROBS[:, 2] < PROBS.max(axis=1)
    labels = [label for label, kept in zip(LABELS, never, strict=True) if kept]
    with pytest.warns(dfu.IdentificationWarning):
        fit = dfu.bbse(PROBS[never], labels, TARGET, classes=NAMES)
    assert_matches("label_shift_not_identified", str(fit))


def test_rlls():
    fit = dfu.rlls(*DATA, classes=NAMES, regularization=0.05)
    assert_matches("label_shift_rlls", str(fit))


def test_mlls():
    assert_matches("label_shift_mlls", str(dfu.mlls(*DATA, classes=NAMES)))


def test_mlls_after_no_bias_vector_scaling():
    fit = dfu.mlls(*DATA, classes=NAMES, calibrate="nbvs")
    assert_matches("label_shift_mlls_no_bias", str(fit))


def test_mlls_without_calibration():
    fit = dfu.mlls(*DATA, classes=NAMES, calibrate=None, prior="labels")
    assert_matches("label_shift_mlls_as_it_is", str(fit))


def test_known_priors():
    fit = dfu.label_weights([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], classes=NAMES)
    assert_matches("label_shift_known", str(fit))


def test_one_line_each():
    fits = [
        dfu.bbse(*DATA, classes=NAMES),
        dfu.rlls(*DATA, classes=NAMES),
        dfu.mlls(*DATA, classes=NAMES),
        dfu.label_weights([0.5, 0.5], [0.2, 0.8]),
    ]
    assert_matches("label_shift_one_line", "\n".join(repr(fit) for fit in fits))
