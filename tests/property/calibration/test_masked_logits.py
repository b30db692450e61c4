"""-inf as the logit of a masked class: the fit is that of the classes that are left.

The twin is slow and plain: each row is a short vector of the logits that are there, and
one dimension of scipy.optimize finds the inverse temperature.
"""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

import distfreeuq as dfu

BOUNDS = (0.05, 20.0)
several = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
losses = st.sampled_from(["nll", "brier"])

pytestmark = pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")


def masked_rows(seed, n=60, dtype=np.float64):
    """Logits of which each row has its own masked classes, never the label's."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    scale = 10.0 ** rng.uniform(-1.0, 1.0)
    logits = (scale * rng.normal(size=(n, k))).astype(dtype)
    noisy = logits / (scale * rng.uniform(0.3, 2.0)) + rng.gumbel(size=(n, k))
    labels = noisy.argmax(axis=1)
    masked = rng.random((n, k)) < rng.uniform(0.05, 0.7)
    masked[np.arange(n), labels] = False
    masked[0, (labels[0] + 1) % k] = True  # one at least
    weights = rng.uniform(0.1, 1.0, n) if rng.random() < 0.5 else np.ones(n)
    return np.where(masked, dtype(-np.inf), logits), labels, weights, masked


def left(logits, labels):
    """Each row's logits that are there, and where its label is among them."""
    for row, label in zip(logits.astype(np.float64), labels, strict=True):
        there = np.flatnonzero(row > -np.inf)
        yield row[there], int(np.flatnonzero(there == label)[0])


def row_losses(logits, labels, alpha, loss):
    """Loss, slope and curvature in alpha of every row, (n, 3), by its own softmax."""
    found = []
    for z, y in left(logits, labels):
        p = special.softmax(alpha * z)
        mean = p @ z
        if loss == "nll":
            value, slope = -special.log_softmax(alpha * z)[y], mean - z[y]
            curvature = p @ z**2 - mean**2
        else:
            own = np.eye(z.size)[y]
            d1 = p * (z - mean)
            d2 = d1 * (z - mean) - p * (p @ z**2 - mean**2)
            value, slope = ((p - own) ** 2).sum(), 2.0 * ((p - own) @ d1)
            curvature = 2.0 * (d1 @ d1 + (p - own) @ d2)
        found.append((value, slope, curvature))
    return np.array(found)


def slow_fit(logits, labels, weights, loss):
    """The best alpha within the bounds: a fine grid, then Brent's method."""

    def mean_loss(alpha):
        value = row_losses(logits, labels, alpha, loss)[:, 0]
        return float(weights @ value / weights.sum())

    grid = np.geomspace(*BOUNDS, 40)
    at = int(np.argmin([mean_loss(alpha) for alpha in grid]))
    ends = grid[max(at - 1, 0)], grid[min(at + 1, 39)]
    found = optimize.minimize_scalar(
        mean_loss, bounds=ends, method="bounded", options={"xatol": 1e-10}
    )
    return min((mean_loss(alpha), alpha) for alpha in (*ends, float(found.x)))


@several
@given(seeds, losses)
def test_a_fit_is_that_of_a_twin_without_the_masked_classes(seed, loss):
    logits, labels, weights, masked = masked_rows(seed)
    given_before = logits.copy()
    fit = dfu.temperature_scaling(
        logits, labels, sample_weight=weights, loss=loss, bounds=BOUNDS
    )
    np.testing.assert_array_equal(logits, given_before)
    least, alpha = slow_fit(logits, labels, weights, loss)
    assert fit.loss_after == pytest.approx(least, rel=1e-9, abs=1e-12)
    before = row_losses(logits, labels, 1.0, loss)[:, 0]
    assert fit.loss_before == pytest.approx(weights @ before / weights.sum(), rel=1e-12)
    if fit.at_bound is None:
        assert fit.inverse_temperature == pytest.approx(alpha, rel=1e-4)
        terms = row_losses(logits, labels, fit.inverse_temperature, loss)
        of_alpha = np.sqrt(weights**2 @ terms[:, 1] ** 2) / (weights @ terms[:, 2])
        std_err = of_alpha / fit.inverse_temperature**2
        assert fit.std_err == pytest.approx(std_err, rel=1e-6)

    probs = fit.predict(logits)
    assert (probs[masked] == 0.0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    for p, row in zip(probs, logits, strict=True):
        there = row > -np.inf
        expected = special.softmax(fit.inverse_temperature * row[there])
        np.testing.assert_allclose(p[there], expected, rtol=1e-12, atol=1e-300)


FITS = {
    "temperature": dfu.temperature_scaling,
    "class-wise": dfu.classwise_temperature_scaling,
    "tied": functools.partial(dfu.classwise_temperature_scaling, gamma=0.3),
}


@several
@given(seeds, losses, st.sampled_from(sorted(FITS)), st.integers(-30, 28))
def test_a_masked_column_changes_nothing(seed, loss, name, exponent):
    """All default bounds too: they follow the scale of the logits that are there."""
    rng = np.random.default_rng(seed)
    n, k = 80, int(rng.integers(2, 5))
    logits = 3.0 * rng.normal(size=(n, k))
    labels = (logits / 2.0 + rng.gumbel(size=(n, k))).argmax(axis=1)
    logits = np.clip(logits, -9.0, 9.0) * 10.0**exponent
    column = int(rng.integers(k + 1))
    wider = np.insert(logits, column, -np.inf, axis=1)
    moved = labels + (labels >= column)
    plain = FITS[name](logits, labels, loss=loss)
    fit = FITS[name](wider, moved, loss=loss)
    assert fit.bounds == plain.bounds
    assert (fit.loss_before, fit.loss_after) == pytest.approx(
        (plain.loss_before, plain.loss_after), rel=1e-12
    )
    # confidences are those of the last pass, a step of at most 2e-7 from the end
    np.testing.assert_allclose(fit.bins_after, plain.bins_after, rtol=1e-6)
    if name == "temperature":
        found, expected = fit.inverse_temperature, plain.inverse_temperature
    else:
        found = np.delete(fit.inverse_temperatures, column)
        expected = plain.inverse_temperatures
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    probs = fit.predict(wider)
    assert (probs[:, column] == 0.0).all()
    expected_probs = plain.predict(logits)
    np.testing.assert_allclose(
        np.delete(probs, column, axis=1), expected_probs, rtol=1e-7, atol=1e-300
    )
    if name == "temperature":  # a fit without masks takes rows with them
        hidden = np.where(np.arange(k) == 0, -np.inf, logits)
        given = plain.predict(hidden)
        assert (given[:, 0] == 0.0).all()
        np.testing.assert_allclose(given.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_small_floats_are_masked_alike(dtype):
    logits, labels, _, masked = masked_rows(3, n=200, dtype=dtype)
    fit = dfu.temperature_scaling(logits, labels)
    exact = dfu.temperature_scaling(logits.astype(np.float64), labels)
    assert fit.temperature == pytest.approx(exact.temperature, rel=1e-6)
    probs = fit.predict(logits)
    assert (probs[masked] == 0.0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-6)


@several
@given(seeds)
def test_rows_in_blocks_and_in_groups(seed):
    logits, labels, _, masked = masked_rows(seed)
    whole = dfu.temperature_scaling(logits, labels)

    def blocks():
        for start in range(0, 60, 17):
            rows = slice(start, start + 17)
            yield logits[rows], labels[rows]

    fit = dfu.temperature_scaling(blocks)
    assert fit.bounds == whole.bounds
    assert fit.loss_after == pytest.approx(whole.loss_after, rel=1e-12)
    assert str(fit.guarantee) == str(whole.guarantee)

    half = np.arange(60) % 2
    grouped = dfu.groupwise_calibration(
        "temperature", logits, labels, groups=half, min_rows=1
    )
    probs = grouped.predict(logits, groups=half)
    assert (probs[masked] == 0.0).all()
    for code, one in enumerate(grouped.fits):
        own = half == grouped.names[code]
        np.testing.assert_array_equal(probs[own], one.predict(logits[own]))
