"""The corners of a polytope give the same maxima as linear programs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq import Polytope
from distfreeuq.label_shift.inference.vertices import (
    polytope_vertices,
    support_function,
)


def random_polytope(seed: int, n_classes: int, width: float) -> Polytope:
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(n_classes * n_classes, 0.7)).reshape(n_classes, -1)
    weights = rng.gamma(2.0, size=n_classes)
    mu = joint @ weights / (joint.sum(axis=0) @ weights)
    lower = np.maximum(joint - width * np.sqrt(joint), 1e-4)
    return Polytope(
        lower,
        joint + width * np.sqrt(joint) + 1e-3,
        np.maximum(mu - width, 0.0),
        mu + width,
        True,
    )


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.01, 0.05, 0.2]))
def test_corners_and_linear_programs_agree(seed, n_classes, width):
    region = random_polytope(seed, n_classes, width)
    corners = polytope_vertices(region)
    directions = np.random.default_rng(seed + 1).normal(size=(4, n_classes))
    for direction in [*directions, *np.eye(n_classes), *-np.eye(n_classes)]:
        by_program = region.support(direction)
        if np.isneginf(by_program):
            assert corners.size == 0
        else:
            largest = np.abs(corners).max()
            by_corners = (corners @ direction).max()
            assert by_corners == pytest.approx(by_program, abs=1e-6 * (1 + largest))


def test_unbounded_and_large_regions_are_left_to_linear_programs():
    unbounded = Polytope(
        [[0.3, 0.0], [0.1, 0.0]], [[0.5, 0.1], [0.3, 0.1]], [0.4, 0.1], [0.8, 0.4], True
    )
    assert polytope_vertices(unbounded) is None
    assert support_function(unbounded)(np.array([0.0, 1.0])) == np.inf
    large = random_polytope(0, 12, 0.01)
    assert polytope_vertices(large) is None
