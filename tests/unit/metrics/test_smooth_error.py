"""Smooth ECE: against its definition, with weights, at the ends of the interval."""

import numpy as np
import pytest
from scipy.stats import norm

import distfreeuq as dfu
from distfreeuq import metrics

GRID = (np.arange(20_000) + 0.5) / 20_000


def by_definition(p, hits, weights, bandwidth):
    """Return the integral of the absolute smoothed residuals, images and all."""
    total = np.zeros_like(GRID)
    for f, residual in zip(p, weights * (hits - p) / weights.sum(), strict=True):
        for k in (-2, 0, 2):
            for image in (f + k, -f + k):
                total += residual * norm.pdf(GRID, image, bandwidth)
    return np.abs(total).mean()


@pytest.mark.parametrize("bandwidth", [0.01, 0.07, 0.4])
def test_it_is_the_integral_of_smoothed_residuals(bandwidth):
    rng = np.random.default_rng(0)
    p = np.append(rng.random(40), [0.0, 1.0, 1.0, 0.5])
    hits, weights = (rng.random(44) < p**2).astype(int), rng.exponential(size=44)
    found = metrics.smooth_ece(
        p, hits, event="class-1", sample_weight=weights, bandwidth=bandwidth
    )
    assert found == pytest.approx(by_definition(p, hits, weights, bandwidth), abs=3e-6)


@pytest.mark.parametrize("power", [1.0, 2.5])
def test_its_bandwidth_equals_it(power):
    rng = np.random.default_rng(1)
    p = rng.random(500)
    hits = (rng.random(500) < p**power).astype(int)
    own = metrics.smooth_ece(p, hits, event="class-1")
    again = metrics.smooth_ece(p, hits, event="class-1", bandwidth=own)
    assert own == pytest.approx(again, abs=1e-9)


def test_limits_by_hand():
    # one confidence: the mean gap, whatever the bandwidth
    assert metrics.smooth_ece([0.6] * 5, [1, 0, 0, 1, 0], event="class-1") == (
        pytest.approx(0.2)
    )
    # so wide that only the mean of all residuals is left
    p, hits = [0.1, 0.9, 0.4], [1, 0, 0]
    wide = metrics.smooth_ece(p, hits, event="class-1", bandwidth=10.0)
    assert wide == pytest.approx(abs(np.mean(np.subtract(hits, p))))
    assert metrics.smooth_ece([0.0, 1.0], [0, 1], event="class-1") < 1e-3


def test_rows_twice_are_rows_of_weight_two():
    rng = np.random.default_rng(2)
    probs, labels = rng.dirichlet(np.ones(3), 60), rng.integers(3, size=60)
    twice = metrics.smooth_ece(np.tile(probs, (2, 1)), np.tile(labels, 2))
    weighted = metrics.smooth_ece(probs, labels, sample_weight=np.full(60, 2.0))
    assert (
        twice
        == pytest.approx(weighted)
        == pytest.approx(
            metrics.smooth_ece(
                probs.max(axis=1),
                labels,
                predicted=probs.argmax(axis=1),
                classes=range(3),
            )
        )
    )


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, "a", 11])
def test_a_bandwidth_is_checked(bandwidth):
    with pytest.raises(dfu.InputError, match="'bandwidth' parameter of smooth_ece"):
        metrics.smooth_ece([0.5], [1], bandwidth=bandwidth)
