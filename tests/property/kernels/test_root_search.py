"""Searches find the zeros of increasing functions, and say where there are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from distfreeuq._kernels import _root_search as kernel
from distfreeuq.calibration.inverse_temperature import N_STATE, solve_increasing
from tests import reference_kernels as twin

LOW, HIGH = 1e-3, 1e3


@st.composite
def increasing(draw):
    """Draw groups of sum_j c_j tanh(s_j (x - r_j)) + 1e-6 x - shift, and a start."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups = draw(st.integers(1, 5))
    shape = (n_groups, 3)
    return {
        "heights": rng.random(shape) + 0.1,
        "slopes": 10.0 ** rng.uniform(-2, 1, shape),
        "centres": 10.0 ** rng.uniform(-3, 3, shape),
        "shift": rng.uniform(-3.0, 3.0, n_groups),
        "start": 10.0 ** rng.uniform(-3, 3, n_groups),
    }


def values(functions, x):
    inner = functions["slopes"] * (x[:, None] - functions["centres"])
    f = (functions["heights"] * np.tanh(inner)).sum(axis=1) - functions["shift"]
    f += 1e-6 * x  # losses are strictly convex wherever their gradient is not zero
    with np.errstate(over="ignore"):
        h = functions["heights"] * functions["slopes"] / np.cosh(inner) ** 2
    return f, h.sum(axis=1) + 1e-6


@given(increasing(), st.booleans())
def test_every_zero_is_found(functions, guessed):
    n_groups = functions["start"].size

    def evaluate(x, active):
        assert active.any()
        sums = np.zeros((n_groups, 5))
        sums[:, 1], sums[:, 2] = values(functions, x)
        sums[~active] = np.nan  # what is not asked for is not looked at
        return sums

    guess = functions["start"][::-1].copy() if guessed else None
    found = solve_increasing(evaluate, (LOW, HIGH), functions["start"], guess=guess)
    at_low = values(functions, np.full(n_groups, LOW))[0]
    at_high = values(functions, np.full(n_groups, HIGH))[0]
    for g in range(n_groups):
        if at_low[g] >= 0.0:
            assert (found.alphas[g], found.at_bound[g]) == (LOW, -1)
        elif at_high[g] <= 0.0:
            assert (found.alphas[g], found.at_bound[g]) == (HIGH, 1)
        else:
            assert found.at_bound[g] == 0

            def of_one(x, g=g):
                return values(functions, np.full(n_groups, x))[0][g]

            # a plateau of the gradient is a root as good as another
            assert abs(of_one(found.alphas[g])) <= 1e-5 or found.alphas[
                g
            ] == pytest.approx(optimize.brentq(of_one, LOW, HIGH), rel=1e-5)


@given(st.integers(0, 2**32 - 1))
def test_a_step_is_that_of_the_cubic_through_two_points(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.5, 2.0, 2))
    f = np.array([-rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0)])
    h = rng.uniform(0.2, 3.0, 2)
    state = np.empty((1, N_STATE))
    kernel._start_searches(LOW, HIGH, np.empty((0, 2)), state)
    point, todo = np.array([x[0]]), np.ones(1, np.uint8)
    for i in range(2):
        point[0] = x[i]
        sums = np.array([[0.0, f[i], h[i], 0.0, 0.0]])
        left = kernel._continue_searches(
            LOW, HIGH, 1e-9, 1e-9, np.empty(0), point, sums, state, todo
        )
        assert left == 1
    expected = twin.root_of_two((x[1], f[1], h[1]), (x[0], f[0], h[0]))
    if not x[0] < expected < x[1]:
        expected = np.sqrt(x[0] * x[1])
    assert point[0] == pytest.approx(expected, rel=1e-12)


def test_a_guess_outside_the_bracket_is_ignored():
    def evaluate(x, active):
        f = x - 2.0
        return np.column_stack([0.5 * f**2, f, np.ones(1), f**2, np.zeros(1)])

    for guess in (np.nan, 1e9, -1.0, 1.9):
        found = solve_increasing(
            evaluate, (LOW, HIGH), np.ones(1), guess=np.array([guess])
        )
        assert found.alphas[0] == pytest.approx(2.0, abs=1e-12)
