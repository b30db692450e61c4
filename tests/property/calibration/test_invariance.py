"""What must not change a calibration, and what must: any rows that hypothesis finds."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.calibration.shared_temperature import NO_ERROR

few = settings(max_examples=40)
CALIBRATORS = {
    "temperature": dfu.temperature_scaling,
    "brier": lambda *a, **k: dfu.temperature_scaling(*a, loss="brier", **k),
    "class-wise": lambda *a, **k: dfu.classwise_temperature_scaling(
        *a, **{"min_rows": 1, **k}
    ),
    "limited": lambda *a, **k: dfu.classwise_temperature_scaling(*a, gamma=0.1, **k),
    "vector": lambda *a, **k: dfu.vector_scaling(*a, ridge=0.01, **k),
    "platt": lambda *a, **k: dfu.platt_scaling(*a, ridge=0.01, **k),
}
each = pytest.mark.parametrize("name", CALIBRATORS)


@st.composite
def rows(draw, n_classes=None):
    """Draw logits, labels that mostly follow them, and positive weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(6, 40)), n_classes or draw(st.integers(2, 5))
    logits = draw(st.sampled_from([0.5, 2.0, 10.0])) * rng.standard_normal((n, k))
    noisy = draw(st.sampled_from([0.2, 0.5, 1.0])) * logits + rng.gumbel(size=(n, k))
    return logits, noisy.argmax(axis=1), rng.choice([0.5, 1.0, 2.0], n)


def fit_quietly(name, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.FitAtBoundWarning)
        warnings.simplefilter("ignore", dfu.IdentificationWarning)
        return CALIBRATORS[name](*arguments, **options)


def same_maps(one, other, logits, tolerance=1e-6):
    np.testing.assert_allclose(
        one.predict(logits), other.predict(logits), rtol=tolerance, atol=tolerance
    )
    assert one.loss_after == pytest.approx(other.loss_after, rel=1e-7, abs=1e-9)


@each
@few
@given(data=rows(), factor=st.sampled_from([1e-9, 0.3, 7.0, 1e12]))
def test_the_scale_of_weights_changes_nothing(name, data, factor):
    logits, labels, weights = data
    one = fit_quietly(name, logits, labels, sample_weight=weights)
    other = fit_quietly(name, logits, labels, sample_weight=factor * weights)
    same_maps(one, other, logits)
    np.testing.assert_allclose(one.std_err, other.std_err, rtol=1e-3, atol=1e-9)


@each
@few
@given(data=rows())
def test_a_row_twice_is_a_row_of_weight_two(name, data):
    logits, labels, _ = data
    weights = np.ones(len(labels))
    weights[::3] = 2.0
    twice = np.repeat(np.arange(len(labels)), weights.astype(int))
    one = fit_quietly(name, logits, labels, sample_weight=weights)
    other = fit_quietly(name, logits[twice], labels[twice])
    same_maps(one, other, logits)


@each
@few
@given(data=rows(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(name, data, seed):
    logits, labels, weights = data
    order = np.random.default_rng(seed).permutation(len(labels))
    one = fit_quietly(name, logits, labels, sample_weight=weights)
    other = fit_quietly(
        name, logits[order], labels[order], sample_weight=weights[order]
    )
    same_maps(one, other, logits)


@pytest.mark.parametrize("name", ["temperature", "brier", "class-wise", "limited"])
@few
@given(data=rows(), seed=st.integers(0, 2**32 - 1))
def test_a_constant_added_to_a_row_changes_nothing(name, data, seed):
    logits, labels, weights = data
    # whole numbers and multiples of 2^-10: the sums are exact, and so no tie is made
    logits = np.round(logits * 1024) / 1024
    shift = np.random.default_rng(seed).integers(-1000, 1000, (len(labels), 1))
    one = fit_quietly(name, logits, labels, sample_weight=weights)
    other = fit_quietly(name, logits + shift, labels, sample_weight=weights)
    np.testing.assert_array_equal(one.predict(logits), other.predict(logits + shift))
    assert one.loss_after == other.loss_after


@each
@few
@given(data=rows())
def test_single_precision_agrees(name, data):
    logits, labels, weights = data
    single = logits.astype(np.float32)
    one = fit_quietly(name, single, labels, sample_weight=weights)
    other = fit_quietly(name, single.astype(np.float64), labels, sample_weight=weights)
    assert one.predict(single).dtype == np.float32
    np.testing.assert_allclose(
        one.predict(single), other.predict(single.astype(np.float64)), atol=1e-5
    )
    for field in ("temperature", "temperatures", "scale", "bias", "coef"):
        if hasattr(one, field):
            np.testing.assert_allclose(
                getattr(one, field), getattr(other, field), rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("loss", ["nll", "brier"])
@few
@given(data=rows())
def test_no_temperature_of_a_fine_grid_is_better(loss, data):
    logits, labels, weights = data
    fit = fit_quietly(
        "temperature" if loss == "nll" else "brier",
        logits,
        labels,
        sample_weight=weights,
    )
    alphas = np.geomspace(1e-3, 1e3, 600)[:, None, None]
    scaled = alphas * (logits - logits.max(axis=1, keepdims=True))
    sums = np.exp(scaled).sum(axis=2)
    of_label = scaled[:, np.arange(len(labels)), labels]
    if loss == "nll":
        losses = np.log(sums) - of_label
    else:
        probs = np.exp(scaled) / sums[:, :, None]
        losses = ((probs - np.eye(logits.shape[1])[labels]) ** 2).sum(axis=2)
    best = (losses @ weights / weights.sum()).min()
    assert fit.loss_after <= best + 1e-12


@few
@given(data=rows(), gamma=st.sampled_from([0.0, 0.01, 0.3, 2.0, np.inf]))
def test_more_freedom_fits_no_worse(data, gamma):
    logits, labels, weights = data
    wide = fit_quietly("class-wise", logits, labels, sample_weight=weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.FitAtBoundWarning)
        warnings.simplefilter("ignore", dfu.IdentificationWarning)
        fit = dfu.classwise_temperature_scaling(
            logits, labels, gamma=gamma, sample_weight=weights, min_rows=1
        )
    plain = fit_quietly("temperature", logits, labels, sample_weight=weights)
    assert fit.loss_after <= plain.loss_after + 1e-10
    if (wide.status != NO_ERROR).all():  # such a class is not at its own optimum
        assert wide.loss_after - 1e-10 <= fit.loss_after
    if gamma == 0.0:
        np.testing.assert_allclose(
            fit.inverse_temperatures, plain.inverse_temperature, rtol=1e-9
        )
    decisions = fit.predict(logits).argmax(axis=1)
    np.testing.assert_array_equal(decisions, logits.argmax(axis=1))


@few
@given(data=rows(n_classes=3), seed=st.integers(0, 2**32 - 1))
def test_vector_scaling_has_a_gradient_of_zero(data, seed):
    logits, labels, weights = data
    fit = dfu.vector_scaling(logits, labels, sample_weight=weights, ridge=0.01)
    residual = (fit.predict(logits) - np.eye(3)[labels]) * weights[:, None]
    total = weights.sum()
    by_scale = (residual * logits).sum(axis=0) / total + 0.01 * (fit.scale - 1.0)
    by_bias = residual.sum(axis=0) / total + 0.01 * fit.bias
    np.testing.assert_allclose(np.concatenate([by_scale, by_bias]), 0.0, atol=1e-8)


@few
@given(data=rows())
def test_isotonic_curves_are_fixed_points(data):
    """Calibrated once more on the same rows, a binary curve stays what it is."""
    logits, labels, weights = data
    hit = (labels == 0).astype(int)
    assume(0 < hit.sum() < hit.size)
    probs = 1.0 / (1.0 + np.exp(-np.clip(logits[:, 0], -30, 30)))
    once = dfu.isotonic_calibration(probs, hit, sample_weight=weights)
    calibrated = once.predict(probs)[:, 1]
    assert (np.diff(calibrated[np.argsort(probs, kind="stable")]) >= -1e-12).all()
    twice = dfu.isotonic_calibration(calibrated, hit, sample_weight=weights)
    np.testing.assert_allclose(twice.predict(calibrated)[:, 1], calibrated, atol=1e-9)
    # the mean over the rows is kept
    assert np.average(calibrated, weights=weights) == pytest.approx(
        np.average(hit, weights=weights)
    )
