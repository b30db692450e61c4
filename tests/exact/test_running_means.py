"""Running means, enumerated: every path of losses, whatever their means depend on."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from distfreeuq.monitoring.running_means import (
    first_above,
    log_evidence_above,
    lower_ends,
    running_sums,
    upper_ends,
)
from distfreeuq.theorems.draws.stream_designs import ever_outside

VALUES = np.array([0.0, 0.5, 1.0])
ROWS = 6


def shares(weights, past):
    """Return the law of the next loss, which depends on the last one and on time."""
    last = int(2 * past[-1]) if past else 0
    law = np.array(weights[(last + len(past)) % 3], dtype=float)
    return law / law.sum()


def probability_outside(weights, alpha, values=VALUES, one_look=False):
    """Return P(the running mean is ever below its lower end), over all paths."""
    total = 0.0
    binary = values.size == 2
    for path in product(values, repeat=ROWS):
        mass, means = 1.0, np.empty(ROWS)
        for t in range(ROWS):
            law = shares(weights, path[:t])[: values.size]
            law = law / law.sum()
            means[t] = law @ values
            mass *= law[int(np.flatnonzero(values == path[t])[0])]
        n = np.arange(1, ROWS + 1)
        running = np.minimum(np.cumsum(means) / n, 1.0)
        totals, spreads = running_sums(np.array(path), 0.0, 0.0, 0)
        if one_look:
            out = (stats.binom.sf(totals - 1, n, running) < alpha).any()
        else:
            out = first_above(totals, spreads, n, running, alpha, binary) is not None
        total += mass * out
    return total


LAWS = st.lists(
    st.lists(st.integers(1, 20), min_size=3, max_size=3), min_size=3, max_size=3
)


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(LAWS, st.sampled_from([0.3, 0.6]))
def test_means_that_depend_on_the_past(weights, alpha):
    assert probability_outside(weights, alpha) <= alpha + 1e-12


@settings(max_examples=8, deadline=None)
@given(LAWS, st.sampled_from([0.3, 0.9]))
def test_binary_losses_that_depend_on_the_past(weights, alpha):
    found = probability_outside(weights, alpha, VALUES[[0, 2]])
    assert found <= alpha + 1e-12


def test_exact_bounds_for_one_look_are_not_enough():
    fair = [[1, 1, 1]] * 3
    assert probability_outside(fair, 0.3, VALUES[[0, 2]], one_look=True) > 0.3


@pytest.mark.parametrize("first", [0.02, 0.3])
@pytest.mark.parametrize("second", [0.3, 0.9])
def test_binary_means_that_change(first, second):
    given = {"first": first, "second": second, "change": 60, "n": 150, "alpha": 0.2}
    exact = ever_outside(**given)
    assert 0.0 < exact <= 0.2
    assert ever_outside(**given, factor=30.0) > exact


def test_the_first_row_with_evidence_is_the_first():
    rng = np.random.default_rng(0)
    n = np.arange(1, 2001)
    for binary in (True, False):
        values = rng.random(2000) * 0.8
        values = (values > 0.5).astype(float) if binary else values
        totals, spreads = running_sums(values, 0.0, 0.0, 0)
        evidence = log_evidence_above(totals, spreads, n, 0.3, binary)
        first = int(np.argmax(evidence >= math.log(20.0)))
        assert first > 0 and first_above(totals, spreads, n, 0.3, 0.05, binary) == first
        assert first_above(totals, spreads, n, 0.9, 0.05, binary) is None


def test_ends_are_where_the_evidence_is_enough():
    for binary in (True, False):
        low = float(lower_ends(30.0, 9.0, 100, 0.05, binary))
        high = float(upper_ends(30.0, 9.0, 100, 0.05, binary))
        assert 0.0 < low < 0.3 < high < 1.0
        at_low = log_evidence_above(30.0, 9.0, 100, low, binary)
        at_high = log_evidence_above(70.0, 9.0, 100, 1.0 - high, binary)
        np.testing.assert_allclose([at_low, at_high], math.log(20.0), rtol=1e-9)
    assert lower_ends(0.0, 0.0, 0, 0.05, True) == 0.0
    assert upper_ends(0.0, 0.0, 0, 0.05, True) == 1.0
    assert lower_ends(0.0, 0.0, 50, 0.05, True) == 0.0
    assert upper_ends(50.0, 0.0, 50, 0.05, False) == 1.0


def test_losses_that_hardly_vary_have_narrower_bounds():
    wide = lower_ends(300.0, 0.0, 1000, 0.05, True)
    narrow = lower_ends(300.0, 10.0, 1000, 0.05, False)
    assert narrow > wide + 0.02
