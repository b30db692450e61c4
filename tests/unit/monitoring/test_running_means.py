"""Evidence about a running mean, from its two families of processes written out."""

import math

import numpy as np
import pytest

from distfreeuq.monitoring.running_means import (
    log_evidence_above,
    lower_ends,
    running_sums,
    upper_ends,
)


def mean_of_chords(total, n, mean):
    rates = [8.0 * 2.0 ** (-k / 2.0) for k in range(29)]
    terms = [
        math.exp(rate * total - n * math.log(1.0 + mean * (math.exp(rate) - 1.0)))
        for rate in rates
    ]
    return sum(terms) / len(terms)


def mean_of_variances(total, spread, n, mean):
    rates = [2.0 ** (-k / 2.0) for k in range(1, 23)]
    terms = [
        math.exp(rate * (total - n * mean) - spread * (-math.log(1.0 - rate) - rate))
        for rate in rates
    ]
    return sum(terms) / len(terms)


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.6])
def test_evidence_by_hand(mean):
    total, spread, n = 8.5, 1.75, 20
    chord = mean_of_chords(total, n, mean)
    found = log_evidence_above(total, spread, n, mean, binary=True)
    assert float(found) == pytest.approx(math.log(chord))
    both = 0.5 * (chord + mean_of_variances(total, spread, n, mean))
    found = log_evidence_above(total, spread, n, mean, binary=False)
    assert float(found) == pytest.approx(math.log(both))


def test_what_a_row_is_compared_with_was_known_before_it():
    """Sums before it and one half more, over the rows and one more."""
    values = np.array([0.25, 1.0, 0.5])
    totals, spreads = running_sums(values, 1.5, 0.4, 2)
    np.testing.assert_allclose(totals, [1.75, 2.75, 3.25])
    before = np.array([(1.5 + 0.5) / 3, (1.75 + 0.5) / 4, (2.75 + 0.5) / 5])
    np.testing.assert_allclose(spreads, 0.4 + np.cumsum((values - before) ** 2))


def test_ends_are_where_the_evidence_is_enough():
    total, spread, n, alpha = 8.5, 1.75, 20, 0.05
    low = float(lower_ends(total, spread, n, alpha, binary=False))
    high = float(upper_ends(total, spread, n, alpha, binary=False))
    at_low = log_evidence_above(total, spread, n, low, binary=False)
    at_high = log_evidence_above(n - total, spread, n, 1.0 - high, binary=False)
    assert float(at_low) == pytest.approx(math.log(20.0), abs=1e-9)
    assert float(at_high) == pytest.approx(math.log(20.0), abs=1e-9)
    assert 0.0 < low < total / n < high < 1.0
