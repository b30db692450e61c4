"""Decisions' confidences: what must be right whatever the rows."""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import distfreeuq as dfu


def rows(seed: int, n: int, n_classes: int):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, (n, n_classes))
    labels = rng.integers(0, n_classes, n)
    decisions = rng.integers(0, n_classes, n)
    weights = rng.uniform(0.0, 3.0, n)
    weights[0] = 1.0
    return logits, labels, decisions, weights


def calibrate(logits, labels, decisions, weights, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.FitAtBoundWarning)
        return dfu.decision_calibration(
            logits, labels, decisions, sample_weight=weights, **options
        )


ROWS = st.builds(rows, st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 5))


@given(ROWS, st.sampled_from(["brier", "nll"]), st.integers(0, 10**6))
def test_order_scale_and_shift_of_rows_are_irrelevant(given_rows, loss, seed):
    logits, labels, decisions, weights = given_rows
    plain = calibrate(*given_rows, loss=loss)
    order = np.random.default_rng(seed).permutation(labels.size)
    turned = calibrate(
        logits[order] + 3.0,
        labels[order],
        decisions[order],
        7.0 * weights[order],
        loss=loss,
    )
    np.testing.assert_allclose(turned.loss_after, plain.loss_after, rtol=1e-6)
    np.testing.assert_allclose(turned.accuracy, plain.accuracy, rtol=1e-9)


@given(ROWS, st.floats(0.01, 0.4))
def test_bounds_are_above_what_they_bound_and_grow_with_confidence(given_rows, alpha):
    *data, weights = given_rows
    found = calibrate(*data, weights, weight_bound=3.0, alpha=alpha)
    surer = calibrate(*data, weights, weight_bound=3.0, alpha=alpha / 10)
    assert found.inverse_temperature == surer.inverse_temperature
    assert found.loss_after - 1e-9 <= found.error_bound <= surer.error_bound <= 1.0
    looser = calibrate(*data, weights, weight_bound=6.0, alpha=alpha)
    assert looser.error_bound >= found.error_bound - 1e-9


@given(ROWS)
def test_the_fit_is_no_worse_than_none_and_than_any_of_the_grid(given_rows):
    found = calibrate(*given_rows)
    grid = calibrate(*given_rows, weight_bound=3.0)
    if 1 / 32 <= found.inverse_temperature <= 32:
        assert found.loss_after <= grid.loss_after + 1e-6
    assert found.loss_after <= found.loss_before + 1e-9
    confidence = found.predict(given_rows[0], given_rows[2])
    assert (confidence >= 0).all() and (confidence <= 1).all()
