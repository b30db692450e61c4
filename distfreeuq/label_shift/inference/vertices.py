"""Vertices of a weight polytope, for few classes: quicker than linear programs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq.label_shift.inference.regions import Box, Polytope

_MAX_CANDIDATES = 20_000

# Corners outside by this much, relatively, are kept, which only enlarges the region.
_TOLERANCE = 1e-9


def polytope_vertices(region: Polytope) -> FloatMatrix | None:
    """Return the corners (V, K) of a bounded polytope; None if unbounded or too many.

    Every corner lies on K of the hyperplanes that bound the region, so that solving for
    each choice of K of them finds it. With three classes these are 84 small systems,
    in place of a linear program for each direction.
    """
    n_classes = region.n_classes
    bounded = (region.lower > 0).any(axis=0).all()  # else some weight has no limit
    matrix = np.vstack([region.lower, -region.upper, -np.eye(n_classes)])
    bound = np.concatenate([region.mu_high, -region.mu_low, np.zeros(n_classes)])
    if not bounded or comb(bound.size, n_classes) > _MAX_CANDIDATES:
        return None
    scale = np.abs(matrix).max(axis=1)
    scale[scale == 0.0] = 1.0
    matrix, bound = matrix / scale[:, None], bound / scale

    chosen = np.array(list(combinations(range(bound.size), n_classes)))
    systems, sides = matrix[chosen], bound[chosen]
    regular = np.abs(np.linalg.det(systems)) > 1e-12
    corners = np.linalg.solve(systems[regular], sides[regular][..., None])[..., 0]
    slack = _TOLERANCE * (1.0 + np.abs(corners).max(axis=1, initial=0.0))
    inside = (corners @ matrix.T <= bound + slack[:, None]).all(axis=1)
    return np.unique(corners[inside], axis=0)


def support_function(region: Box | Polytope) -> Callable[[FloatArray], float]:
    """Return a function of the direction: the largest ``direction @ w`` in a region."""
    corners = polytope_vertices(region) if isinstance(region, Polytope) else None
    if corners is None or corners.size == 0:
        return region._support
    return lambda direction: float((corners @ direction).max())
