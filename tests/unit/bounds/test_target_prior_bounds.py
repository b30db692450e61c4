"""Intervals of weights by elimination."""

import numpy as np

import distfreeuq as dfu
from distfreeuq import bounds


def test_without_noise_elimination_solves():
    c = np.array([[0.35, 0.05, 0.02], [0.05, 0.25, 0.03], [0.05, 0.05, 0.15]])
    w = np.array([0.5, 1.0, 2.5])
    low, high = bounds.interval_elimination(c, c, c @ w, c @ w)
    np.testing.assert_allclose(low, w)
    np.testing.assert_allclose(high, w)


def test_it_encloses_the_exact_region():
    rng = np.random.default_rng(0)
    for _ in range(30):
        c = 0.3 * np.eye(3) + 0.02 * rng.random((3, 3))
        w = rng.uniform(0.0, 2.0, 3)
        wide = 0.004 * rng.random((3, 3)), 0.01 * rng.random(3)
        lower, upper = np.maximum(c - wide[0], 0.0), c + wide[0]
        mu = c @ w
        low, high = bounds.interval_elimination(
            lower, upper, np.maximum(mu - wide[1], 0.0), np.minimum(mu + wide[1], 1.0)
        )
        exact = dfu.Polytope(
            lower, upper, np.maximum(mu - wide[1], 0.0), mu + wide[1], True
        )
        ranges, around = exact.ranges(), exact.enclosure()
        assert (low <= ranges.low + 1e-9).all() and (ranges.high <= high + 1e-9).all()
        assert (around.low <= ranges.low + 1e-9).all()
        assert (ranges.high <= around.high + 1e-9).all()


def test_a_matrix_that_may_be_singular_says_nothing():
    c = np.array([[0.2, 0.2], [0.3, 0.3]])
    low, high = bounds.interval_elimination(c, c + 0.01, [0.4, 0.5], [0.5, 0.6])
    assert low.tolist() == [0.0, 0.0] and np.isinf(high).all()
