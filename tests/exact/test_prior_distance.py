"""The total variation of estimated proportions, bounded from counted predictions.

The bound is an inequality between numbers once the noise is known, and two statements
about the noise. The first is checked for any law and any sample, the others by
enumerating all counts of a few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from distfreeuq.label_shift.inference.prior_distance import (
    ProportionLimits,
    noise_of_labels,
    noise_of_sets,
    total_variation,
    total_variation_by_noise,
)
from tests.exact.search import assert_caught, assert_holds

# ------------------------------------------------------------------ given the noise


class Case(NamedTuple):
    """A law, and a sample that may be far from it."""

    p: tuple[int, ...]
    q: tuple[int, ...]
    shares: tuple[tuple[int, ...], ...]  # of predictions, by class
    sampled_p: tuple[int, ...]
    sampled_shares: tuple[tuple[int, ...], ...]
    sampled_target: tuple[int, ...]
    used: tuple[int, ...]
    slack: float  # of the limits of p and q, beyond what they must hold


def _cases(k: int) -> st.SearchStrategy[Case]:
    mass = st.tuples(*[st.integers(1, 9)] * k)
    square = st.tuples(*[mass] * k)
    return st.builds(
        Case,
        p=mass,
        q=st.tuples(*[st.integers(0, 9)] * k).filter(any),
        shares=square,
        sampled_p=mass,
        sampled_shares=square,
        sampled_target=mass,
        used=mass,
        slack=st.sampled_from([0.0, 0.0, 0.2, 1.0]),
    )


CASES = st.integers(2, 4).flatmap(_cases)


def shares_of(masses: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Return columns that sum to one: most predictions are right."""
    square = np.array(masses, dtype=float).T + 20.0 * np.eye(len(masses))
    return square / square.sum(axis=0)


def below(
    case: Case, *, noise: float = 1.0, labels: float = 1.0, inside: float = 1.0
) -> bool:
    """Whether the bound is below the total variation, parts of it made smaller."""
    p, q, seen_p, seen, used = (
        np.array(x) / sum(x)
        for x in (case.p, case.q, case.sampled_p, case.sampled_target, case.used)
    )
    law, sample = shares_of(case.shares), shares_of(case.sampled_shares)
    weight, w = used / (used @ seen_p), q / p
    error = (sample * seen_p) @ w - law @ q - (seen - law @ q)
    residual = (sample * seen_p) @ weight - seen
    more, less = 1.0 + case.slack, 1.0 / (1.0 + case.slack)
    limits = ProportionLimits(
        np.minimum(q * more, 1.0),
        np.minimum(p, seen_p) * less,
        np.maximum(p, seen_p) * more,
    )
    bound = total_variation_by_noise(
        inside * np.linalg.inv(sample),
        seen_p,
        weight,
        limits,
        float(np.abs(residual).sum() + noise * np.abs(error).sum()),
        labels * abs(float(seen_p @ w) - 1.0),
    )
    implied = weight * p / (weight @ p)
    return bound < total_variation(implied, q) - 1e-9


def test_no_total_variation_exceeds_the_bound():
    assert_holds(CASES, below, 400)


def test_without_the_noise_it_is_caught():
    assert_caught(CASES, lambda case: below(case, noise=0.0, labels=0.0), 300)


def test_a_third_of_what_the_inverse_lets_through_is_caught():
    assert_caught(CASES, lambda case: below(case, inside=1 / 3, labels=0.0), 600)


# ----------------------------------------------------------------------- the noise


class Sample(NamedTuple):
    """Two classes and few rows; probabilities in tenths."""

    p: int
    q: int
    hits: tuple[int, int]  # of prediction 0 in each class
    n: int
    m: int
    delta: float


SAMPLES = st.builds(
    Sample,
    p=st.integers(1, 9),
    q=st.integers(0, 10),
    hits=st.tuples(st.integers(0, 10), st.integers(0, 10)),
    n=st.integers(1, 7),
    m=st.integers(1, 7),
    delta=st.sampled_from([0.1, 0.3, 0.6]),
)


def tables(n: int, cells: int) -> Iterator[tuple[int, ...]]:
    return (t for t in product(range(n + 1), repeat=cells) if sum(t) == n)


def exceeded(case: Sample, factor: float, *, labels: bool) -> bool:
    """Whether `factor` times the bound of the noise fails too often."""
    p, q = np.array([case.p, 10 - case.p]) / 10, np.array([case.q, 10 - case.q]) / 10
    hits = np.array(case.hits) / 10
    law = np.array([hits, 1.0 - hits])
    w, joint = q / p, law * p
    square, top = float(p @ w**2), float(w.max())
    if labels:
        bound = noise_of_labels(case.n, square, top, case.delta)
    else:
        bound = noise_of_sets(2, case.n, case.m, square, top, case.delta)
    all_source = np.array(list(tables(case.n, 4)))
    chances = stats.multinomial.pmf(all_source, case.n, joint.ravel())
    seen = all_source.reshape(-1, 2, 2) / case.n
    if labels:
        gap = np.abs(seen.sum(axis=1) @ w - 1.0)
        missed = chances[gap > factor * bound + 1e-12].sum()
    else:
        k = np.arange(case.m + 1)
        in_target = stats.binom.pmf(k, case.m, float(law[0] @ q))
        target = np.column_stack([k, case.m - k]) / case.m
        gap = np.abs((seen @ w)[:, None] - target).sum(axis=2)
        missed = chances @ (gap > factor * bound + 1e-12) @ in_target
    return bool(missed > case.delta + 1e-9)


def fails(factor: float, *, labels: bool) -> Callable[[Sample], bool]:
    return lambda case: exceeded(case, factor, labels=labels)


def test_the_noise_of_sets_of_predictions():
    assert_holds(SAMPLES, fails(1.0, labels=False), 150)


def test_the_noise_of_labels():
    assert_holds(SAMPLES, fails(1.0, labels=True), 150)


def test_a_third_of_the_noise_is_caught():
    assert_caught(SAMPLES, fails(1 / 3, labels=False), 300)
    assert_caught(SAMPLES, fails(1 / 3, labels=True), 300)
