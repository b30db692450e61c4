"""Calibration with known weights: order, scale and copies of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu

NAMES = ("temperature", "vector", "platt", "isotonic")


def rows(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 1.5, (n, n_classes))
    noise = 2.0 * rng.gumbel(size=logits.shape)
    weights = rng.gamma(2.0, 0.5, n)
    return logits, (logits + noise).argmax(axis=1), weights


def probabilities(calibrator, logits, labels, weights, new):
    options = {"ridge": 1e-2} if calibrator in ("vector", "platt") else {}
    fit = dfu.covariate_shift_calibration(
        logits,
        labels,
        None,
        None,
        ratio=weights,
        calibrator=calibrator,
        calibrator_options=options,
        classes=range(logits.shape[1]),
    )
    return fit.predict(new)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No row is labelled")
@pytest.mark.parametrize("calibrator", NAMES)
@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 31]), st.floats(-6.0, 6.0))
def test_order_and_scale_do_not_matter(calibrator, seed, n_classes, log_scale):
    logits, labels, weights = rows(seed, 120, n_classes)
    new, _, _ = rows(seed + 1, 20, n_classes)
    plain = probabilities(calibrator, logits, labels, weights, new)
    order = np.random.default_rng(seed).permutation(120)
    again = probabilities(
        calibrator,
        logits[order],
        labels[order],
        10.0**log_scale * weights[order],
        new,
    )
    np.testing.assert_allclose(again, plain, atol=2e-6)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_rows_without_weight_do_not_count(seed):
    logits, labels, weights = rows(seed, 80, 3)
    new, _, _ = rows(seed + 1, 20, 3)
    weights[::3] = 0.0
    counted = weights > 0.0
    for calibrator in ("temperature", "isotonic"):
        np.testing.assert_allclose(
            probabilities(calibrator, logits, labels, weights, new),
            probabilities(
                calibrator, logits[counted], labels[counted], weights[counted], new
            ),
            atol=1e-9,
        )
