"""Estimated label weights, exactly: all samples of few rows enumerated.

Two classes, a classifier with two outputs. The fit depends on counts alone: of (output,
class) in the source, of outputs in the target. The new row is one more of the target.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.label_shift.inference.prior_distance import (
    total_variation,
    total_variation_bound,
)
from distfreeuq.label_shift.inference.regions import Box
from tests.exact.search import assert_caught, assert_holds
from tests.exact.test_pac import multinomial, samples

OUTPUTS = np.array([[0.75, 0.25], [0.375, 0.625]])


class Shift(NamedTuple):
    """P(output 1 | class) and P(class 1), in 12ths."""

    outputs: tuple[int, int]
    source: int
    target: int
    n: int
    m: int
    alpha: Fraction
    delta: Fraction


SHIFTS = st.builds(
    Shift,
    outputs=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    source=st.integers(1, 11),
    target=st.integers(0, 12),
    n=st.integers(1, 4),
    m=st.integers(1, 3),
    alpha=st.sampled_from([Fraction(1, 4), Fraction(1, 2)]),
    delta=st.sampled_from([Fraction(1, 10), Fraction(2, 5)]),
)


def joint(case: Shift, ones: int) -> tuple[int, ...]:
    """Return the masses of (output, class), in 144ths."""
    prior = (12 - ones, ones)
    return tuple(
        prior[k] * (case.outputs[k] if output else 12 - case.outputs[k])
        for output in (0, 1)
        for k in (0, 1)
    )


Sets = Callable[[tuple[int, ...], tuple[int, int], float, float], np.ndarray]


def union_sets(
    source: tuple[int, ...], target: tuple[int, int], alpha: float, delta: float
) -> np.ndarray:
    """Return the sets of the largest threshold over a region of the weights."""
    return robust_sets(source, target, alpha, delta, by_region=True)


def capped_sets(
    source: tuple[int, ...], target: tuple[int, int], alpha: float, delta: float
) -> np.ndarray:
    """Return the sets of the largest threshold over all priors below caps."""
    return robust_sets(source, target, alpha, delta, by_region=False)


@lru_cache(maxsize=100_000)
def robust_sets(
    source: tuple[int, ...],
    target: tuple[int, int],
    alpha: float,
    delta: float,
    by_region: bool,
) -> np.ndarray:
    """Return the sets (2, 2) of both outputs; all is from the same rows."""
    probs = np.repeat(OUTPUTS[[0, 0, 1, 1]], source, axis=0)
    labels = np.repeat([0, 1, 0, 1], source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        estimate = dfu.bbse(
            probs, labels, np.repeat(OUTPUTS, target, axis=0), classes=[0, 1]
        )
        fit = dfu.label_shift_conformal(
            probs,
            labels,
            estimate.region(delta) if by_region else estimate,
            robust=True,
            alpha=alpha,
            delta=delta,
            score="lac",
            classes=[0, 1],
        )
        return np.asarray(fit.predict(OUTPUTS).mask)


@lru_cache(maxsize=100_000)
def unweighted_sets(
    source: tuple[int, ...], target: tuple[int, int], alpha: float, delta: float
) -> np.ndarray:
    """Return the sets of a region that holds equal weights alone."""
    probs = np.repeat(OUTPUTS[[0, 0, 1, 1]], source, axis=0)
    labels = np.repeat([0, 1, 0, 1], source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        fit = dfu.label_shift_conformal(
            probs,
            labels,
            Box(np.ones(2), np.ones(2), True),
            robust=True,
            alpha=alpha,
            delta=delta,
            score="lac",
            classes=[0, 1],
        )
        return np.asarray(fit.predict(OUTPUTS).mask)


def covers_too_little(sets: Sets) -> Callable[[Shift], bool]:
    def violates(case: Shift) -> bool:
        law, new = joint(case, case.source), joint(case, case.target)
        seen = (new[0] + new[1], new[2] + new[3])
        covered = Fraction(0)
        for source in samples(case.n, 4):
            chance = multinomial(source, law)
            if not chance:
                continue
            for target in samples(case.m, 2):
                both = chance * multinomial(target, seen)
                if not both:
                    continue
                mask = sets(source, target, float(case.alpha), float(case.delta))
                held = sum(
                    mass for cell, mass in enumerate(new) if mask[cell // 2, cell % 2]
                )
                covered += both * Fraction(held, 144)
        return covered < 1 - case.alpha - case.delta - Fraction(1, 10**9)

    return violates


def test_union_sets_with_a_region_of_the_same_rows():
    assert_holds(SHIFTS, covers_too_little(union_sets), 60)


def test_sets_for_all_priors_below_caps_of_the_same_rows():
    assert_holds(SHIFTS, covers_too_little(capped_sets), 60)


def test_a_region_that_does_not_hold_the_weights_is_caught():
    assert_caught(SHIFTS, covers_too_little(unweighted_sets), 600)


# ------------------------------------------------------------------- total variation


class Priors(NamedTuple):
    p: tuple[int, ...]
    q: tuple[int, ...]
    used: tuple[int, ...]
    slack: float  # relative width of the region and of the prior's box
    scale: float


def _priors(k: int) -> st.SearchStrategy[Priors]:
    positive = st.tuples(*[st.integers(1, 20)] * k)
    return st.builds(
        Priors,
        p=positive,
        q=st.tuples(*[st.integers(0, 20)] * k).filter(any),
        used=positive,
        slack=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
        scale=st.sampled_from([1e-3, 1.0, 40.0]),
    )


PRIORS = st.integers(2, 5).flatmap(_priors)


def below(case: Priors, factor: float = 1.0) -> bool:
    """Whether `factor` times the bound is below the total variation."""
    p, q, used = (np.array(x) / sum(x) for x in (case.p, case.q, case.used))
    less, more = 1.0 - case.slack, 1.0 + case.slack
    bound = total_variation_bound(
        case.scale * used / p, Box(less * q / p, more * q / p, True), less * p, more * p
    )
    return factor * bound < total_variation(used, q) - 1e-9


def test_the_bound_of_the_total_variation():
    assert_holds(PRIORS, below, 300)


def test_nine_tenths_of_the_bound_are_caught():
    assert_caught(PRIORS, lambda case: below(case, 0.9), 300)
