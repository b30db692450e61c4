"""Noise of weights' mean over the labels, by Bernstein's inequality written out."""

import math

import pytest

from distfreeuq.label_shift.inference.prior_distance import _bernstein, noise_of_labels


def test_both_sides_share_delta():
    """log(2 / delta); terms at most max(w, 1) / n, of variance (E w^2 - 1) / n."""
    log, n = math.log(2.0 / 0.1), 50
    linear = log * (4.0 / n) / 3.0
    expected = linear + math.sqrt(linear**2 + 2.0 * log * (2.5 - 1.0) / n)
    assert noise_of_labels(n, 2.5, 4.0, 0.1) == pytest.approx(expected)


def test_equal_weights_have_no_variance():
    log, n = math.log(2.0 / 0.2), 30
    expected = 2.0 * log / (3.0 * n)
    assert noise_of_labels(n, 1.0, 0.5, 0.2) == pytest.approx(expected)


def test_the_end_solves_bernstein_s_equation():
    """exp(-t^2 / (2 (v + b t / 3))) = exp(-4) at the t that is returned."""
    t = _bernstein(4.0, 0.03, 0.2)
    assert t**2 / (2.0 * (0.03 + 0.2 * t / 3.0)) == pytest.approx(4.0)
