"""Boxes with a bounded sum: projections and minima, whatever the numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from distfreeuq._numerics.convex.box_quadratic import BoxedSum, minimize_boxed

POINTS = arrays(
    np.float64,
    st.integers(1, 8),
    elements=st.floats(-50.0, 50.0, allow_subnormal=False),
)
ENDS = st.tuples(st.floats(0.1, 10.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))


def boxed(n: int, ends: tuple[float, float, float]) -> BoxedSum:
    """Return a set that is not empty: sums are shares of the largest there is."""
    upper, first, second = ends
    low, high = sorted((first * n * upper, second * n * upper))
    return BoxedSum(upper, low, high)


def inside(allowed: BoxedSum, b) -> bool:
    near = 1e-9 * max(1.0, allowed.upper * b.size)
    in_box = b.min() >= 0.0 and b.max() <= allowed.upper
    return in_box and allowed.low - near <= b.sum() <= allowed.high + near


@given(POINTS, ENDS, st.randoms(use_true_random=False))
def test_projections_lie_inside_and_are_nearest(point, ends, random):
    allowed = boxed(point.size, ends)
    nearest = allowed.project(point)
    assert inside(allowed, nearest)
    np.testing.assert_allclose(allowed.project(nearest), nearest, atol=1e-9)
    other = allowed.project(np.array([random.uniform(-50, 50) for _ in point]))
    # the obtuse angle that marks the nearest point of a convex set
    assert (point - nearest) @ (other - nearest) <= 1e-6 * (1 + np.abs(point).max())


@given(POINTS, ENDS, st.randoms(use_true_random=False))
def test_no_point_of_the_set_has_a_smaller_linear_value(slope, ends, random):
    allowed = boxed(slope.size, ends)
    least = allowed.least(slope)
    other = allowed.project(np.array([random.uniform(-50, 50) for _ in slope]))
    assert least <= slope @ other + 1e-7 * (1 + np.abs(slope).sum() * allowed.upper)
    # and it is reached, as far as one can go against the slope
    far = allowed.project(-1e5 * slope)
    apart = np.diff(np.sort(slope)).min(initial=np.inf)
    if min(apart, np.abs(slope).min()) > 1e-3:
        np.testing.assert_allclose(slope @ far, least, rtol=1e-6, atol=1e-6)


@given(POINTS, ENDS, st.integers(0, 10**6))
def test_the_gap_holds_for_every_other_point(vector, ends, seed):
    allowed = boxed(vector.size, ends)
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(vector.size, 2))
    matrix = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    found = minimize_boxed(matrix, vector, allowed, tolerance=1e-3, max_steps=50)
    assert inside(allowed, found.at)
    other = allowed.project(rng.uniform(0, allowed.upper, vector.size))
    values = [0.5 * b @ matrix @ b - vector @ b for b in (found.at, other)]
    scale = 1 + np.abs(vector).sum() * allowed.upper
    assert values[0] <= values[1] + found.gap + 1e-9 * scale
