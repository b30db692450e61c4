"""Theorem 1 of Park et al. (2020) on finite spaces, where both sides are sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from distfreeuq import bounds
from tests.exact.search import assert_caught, assert_holds


class Point(NamedTuple):
    p: int
    q: int
    loss: float
    guess: float


class Space(NamedTuple):
    points: list[Point]
    t: float


POINTS = st.builds(
    Point,
    p=st.integers(1, 20),
    q=st.integers(0, 20),
    loss=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    guess=st.sampled_from([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]),
)
SPACES = st.builds(
    Space,
    points=st.lists(POINTS, min_size=2, max_size=5).filter(
        lambda points: any(point.q for point in points)
    ),
    t=st.sampled_from([0.05, 0.5, 2.0]),
)


def terms_of(space: Space, exact: bool = False) -> bounds.CovariateShiftTerms:
    p = np.array([point.p for point in space.points], dtype=float)
    q = np.array([point.q for point in space.points], dtype=float)
    p, q = p / p.sum(), q / q.sum()
    guess = p / (p + q) if exact else np.array([x.guess for x in space.points])
    loss = [point.loss for point in space.points]
    return bounds.covariate_shift_terms(p, q, loss, guess, t=space.t)


def exceeded(form: str, exact: bool) -> Callable[[Space], bool]:
    def violates(space: Space) -> bool:
        space = space._replace(t=0.5) if form == "printed" else space
        terms = terms_of(space, exact)
        bound = bounds.covariate_shift_bound(
            terms.weighted_error,
            terms.discriminator_error,
            terms.best_discriminator_error,
            upper=terms.upper,
            t=space.t,
            form=form,
        )
        return terms.target_error > bound * (1.0 + 1e-9) + 1e-12

    return violates


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("form", ["sharp", "simple", "printed"])
def test_the_repaired_theorem(form, exact):
    assert_holds(SPACES, exceeded(form, exact), 400)


def test_the_theorem_as_printed_is_refuted():
    """With E_q in place of E_p, even with the exact discriminator."""

    def violates(space: Space) -> bool:
        terms = terms_of(space._replace(t=0.5), exact=True)
        bound = bounds.covariate_shift_bound_printed(terms)
        return terms.target_error > bound + 1e-9

    assert_caught(SPACES, violates, 400)


def test_a_bound_without_the_discriminator_s_error_is_caught():
    def violates(space: Space) -> bool:
        terms = terms_of(space._replace(t=0.05))
        return terms.target_error > terms.weighted_error + 1e-9

    assert_caught(SPACES, violates, 400)
