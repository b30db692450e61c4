"""Quadratic functions over a box with a bounded sum: by hand, and by other solvers."""

import numpy as np
import pytest
from scipy import optimize

from distfreeuq._numerics.convex.box_quadratic import BoxedSum, minimize_boxed


def test_projections_by_hand():
    allowed = BoxedSum(upper=2.0, low=1.0, high=3.0)
    np.testing.assert_allclose(allowed.project(np.array([5.0, -1.0, 0.5])), [2, 0, 0.5])
    # all too small: the same is added to each
    np.testing.assert_allclose(allowed.project(np.array([-1.0, -2.0])), [1.0, 0.0])
    np.testing.assert_allclose(allowed.project(np.zeros(4)), 0.25)
    # too large: 2 is cut at first, and 0.75 is taken from all
    np.testing.assert_allclose(
        allowed.project(np.array([1.5, 1.5, 2.25])), [0.75, 0.75, 1.5]
    )


def test_least_of_a_linear_function_by_hand():
    allowed = BoxedSum(upper=2.0, low=1.0, high=3.0)
    assert allowed.least(np.array([4.0, 5.0])) == 4.0  # as little as is allowed
    assert allowed.least(np.array([-1.0, -3.0, 7.0])) == -7.0  # 2 of one, 1 of the next
    assert allowed.least(np.array([-1.0, 3.0])) == -2.0  # no more than the box


@pytest.mark.parametrize("seed", range(6))
def test_projections_are_the_nearest_points(seed):
    rng = np.random.default_rng(seed)
    point = rng.normal(0.0, 2.0, 5)
    allowed = BoxedSum(*np.array([1.0, 0.5, 1.5]) * rng.uniform(0.5, 2.0))
    found = optimize.minimize(
        lambda b: ((b - point) ** 2).sum(),
        np.full(5, allowed.low / 5),
        jac=lambda b: 2 * (b - point),
        bounds=[(0.0, allowed.upper)] * 5,
        constraints=optimize.LinearConstraint(np.ones(5), allowed.low, allowed.high),
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(allowed.project(point), found.x, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("upper", [0.8, 50.0])
def test_the_minimum_is_that_of_another_solver(seed, upper):
    rng = np.random.default_rng(seed)
    n = 12
    points = rng.normal(size=(n, 2))
    matrix = np.exp(-((points[:, None] - points) ** 2).sum(axis=2)) + 0.1 * np.eye(n)
    vector = 3.0 * rng.random(n)
    low, high = 0.4 * n, 0.7 * n
    allowed = BoxedSum(upper, low, high)
    found = minimize_boxed(matrix, vector, allowed, tolerance=1e-12)
    assert found.gap <= 1e-12
    other = optimize.minimize(
        lambda b: 0.5 * b @ matrix @ b - vector @ b,
        np.full(n, low / n),
        jac=lambda b: matrix @ b - vector,
        bounds=[(0.0, upper)] * n,
        constraints=optimize.LinearConstraint(np.ones(n), low, high),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    np.testing.assert_allclose(found.at, other.x, atol=2e-5)
    own = 0.5 * found.at @ matrix @ found.at - vector @ found.at
    assert own <= other.fun + 1e-10


def test_the_gap_bounds_what_is_missing():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    matrix = np.exp(-((points[:, None] - points) ** 2).sum(axis=2)) + 0.01 * np.eye(40)
    vector = 40 * rng.random(40)
    allowed = BoxedSum(1000.0, 20.0, 60.0)
    value = lambda b: 0.5 * b @ matrix @ b - vector @ b  # noqa: E731
    best = value(minimize_boxed(matrix, vector, allowed, tolerance=1e-12).at)
    for steps in (1, 5, 30, 100):
        short = minimize_boxed(matrix, vector, allowed, tolerance=0.0, max_steps=steps)
        assert short.n_steps == steps
        assert 0.0 <= value(short.at) - best <= short.gap + 1e-9
