"""Thousands of classes of which few have rows: no matrix by pairs of all of them."""

import tracemalloc

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.monitoring.performance import certificates, indicator_functions

CLASSES = 3000


def rows(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += 6.0
    powers = np.exp(logits)
    return powers / powers.sum(axis=1, keepdims=True), labels


@pytest.mark.filterwarnings("ignore::distfreeuq.exceptions.IdentificationWarning")
def test_memory_grows_with_rows_times_classes():
    probs, labels = rows(60, CLASSES)
    tracemalloc.start()
    try:
        found = dfu.target_performance(probs, labels, probs[::-1], metrics=["accuracy"])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.to_frame().estimate.between(0.0, 1.0).all()
    assert peak < 0.7 * 8 * CLASSES**2


@pytest.mark.parametrize("n", [12, 300])
def test_coefficients_are_the_ridge_solution(n):
    probs, labels = rows(n, 8)
    said = probs.argmax(axis=1)
    both = certificates.shift_rows(probs, labels, probs, said, said, 0.05)
    losses = (said != labels).astype(float)
    found = certificates._candidates(losses, probs, both, none=False)
    fit = both.fits
    here = np.unique(labels[fit])
    design = np.array([probs[fit][labels[fit] == k].mean(axis=0) for k in here])
    wanted = np.array([losses[fit][labels[fit] == k].mean() for k in here])
    assert (len(here) < 8) == (n == 12)
    for penalty, coefficients in zip(certificates._PENALTIES, found, strict=True):
        ridge = design.T @ design / len(here) + penalty / 8 * np.eye(8)
        moment = design.T @ (wanted - wanted.mean()) / len(here)
        expected = wanted.mean() + np.linalg.solve(ridge, moment)
        np.testing.assert_allclose(coefficients, expected, rtol=1e-9)


def test_indicators_of_few_classes_are_those_of_their_columns():
    probs, labels = rows(200, 6)
    few = labels < 4
    found = indicator_functions.class_indicators(probs[few], labels[few], probs, 6)
    assert not found.source[:, 4:].any() and not found.target[:, 4:].any()
    for k in range(4):
        means = [found.source[labels[few] == j, k].mean() for j in range(4)]
        np.testing.assert_allclose(means, np.eye(4)[k], atol=1e-9)
