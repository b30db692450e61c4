"""The dual certificate of one direction of the weights, exactly.

Of the law: an inequality between rational numbers. Of samples: with h the indicator of
a prediction, all counts that rows of each class and of the target can have.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from distfreeuq import bounds
from tests.exact.search import assert_caught, assert_holds


class Law(NamedTuple):
    p: tuple[int, ...]  # masses of the classes in the source
    q: tuple[int, ...]  # and in the target
    outputs: tuple[tuple[int, ...], ...]  # masses of three outputs by class
    other: tuple[tuple[int, ...], ...]  # in the target, if it is no label shift
    h: tuple[int, int, int]  # a number for each output
    c: tuple[int, ...]  # the direction


def _laws(k: int) -> st.SearchStrategy[Law]:
    mass = st.integers(1, 9)
    rows = st.tuples(*[st.tuples(mass, mass, mass)] * k)
    return st.builds(
        Law,
        p=st.tuples(*[mass] * k),
        q=st.tuples(*[st.integers(0, 9)] * k).filter(any),
        outputs=rows,
        other=rows,
        h=st.tuples(*[st.integers(-9, 9)] * 3),
        c=st.tuples(*[st.integers(-9, 9)] * k),
    )


LAWS = st.integers(2, 4).flatmap(_laws)


def normalized(masses: tuple[int, ...]) -> list[Fraction]:
    return [Fraction(mass, sum(masses)) for mass in masses]


def mean(law: list[Fraction], values: tuple[int, ...]) -> Fraction:
    return sum((a * b for a, b in zip(law, values, strict=True)), Fraction(0))


def parts(case: Law, shifted: bool) -> tuple[Fraction, Fraction, list[Fraction]]:
    """Return c.w, the target's mean of h, and c_j / p_j - E[h | Y = j] by class."""
    p, q = normalized(case.p), normalized(case.q)
    in_source = [mean(normalized(row), case.h) for row in case.outputs]
    rows = case.outputs if shifted else case.other
    on_target = [mean(normalized(row), case.h) for row in rows]
    direction = sum(
        (c * b / a for c, a, b in zip(case.c, p, q, strict=True)), Fraction(0)
    )
    target = sum((b * h for b, h in zip(q, on_target, strict=True)), Fraction(0))
    gaps = [c / a - h for c, a, h in zip(case.c, p, in_source, strict=True)]
    return direction, target, gaps


def above(certificate: Callable[[Law, list[Fraction]], Fraction], shifted: bool = True):
    def violates(case: Law) -> bool:
        direction, target, gaps = parts(case, shifted)
        return direction > target + certificate(case, gaps)

    return violates


def largest(case: Law, gaps: list[Fraction]) -> Fraction:
    return max(gaps)


def source_mean(case: Law, gaps: list[Fraction]) -> Fraction:
    return sum(
        (a * b for a, b in zip(normalized(case.p), gaps, strict=True)), Fraction()
    )


def test_no_direction_exceeds_its_certificate():
    assert_holds(LAWS, above(largest), 400)


def test_the_mean_over_the_source_in_place_of_the_largest_is_caught():
    assert_caught(LAWS, above(source_mean), 200)


def test_other_outputs_in_the_target_are_caught():
    """Without label shift."""
    assert_caught(LAWS, above(largest, shifted=False), 200)


# ----------------------------------------------------------------------- from samples


class Sample(NamedTuple):
    """Two classes; h is a factor times the indicator of a prediction."""

    hits: tuple[int, int]  # probability of the prediction in each class, in 20ths
    p: int  # of class 1, in 20ths, known
    q: int
    c: tuple[int, int]
    factor: int
    n: tuple[int, int]
    m: int
    delta: float


SAMPLES = st.builds(
    Sample,
    hits=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    p=st.integers(1, 19),
    q=st.integers(0, 20),
    c=st.tuples(st.integers(-5, 5), st.integers(-5, 5)),
    factor=st.integers(1, 9),
    n=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    m=st.integers(1, 12),
    delta=st.sampled_from([0.05, 0.1, 0.3]),
)


def fails_too_often(level: float | None) -> Callable[[Sample], bool]:
    """Whether the bound is below c.w with a probability above delta.

    `level` is the part of delta that each of three one-sided bounds gets; with None
    frequencies are taken for probabilities.
    """

    def violates(case: Sample) -> bool:
        p = np.array([case.p, 20 - case.p]) / 20
        q = np.array([case.q, 20 - case.q]) / 20
        f, c = np.array(case.hits) / 20, np.array(case.c)
        sizes, rates = (*case.n, case.m), (*f, float(q @ f))
        ends, chances = [], []
        for size, rate, upper in zip(sizes, rates, (False, False, True), strict=True):
            k = np.arange(size + 1.0)
            end = k / size
            if level is not None:
                own, trials = case.delta * level, np.full(k.size, float(size))
                end = bounds.clopper_pearson_lower(k, trials, own)
                if upper:
                    end = 1.0 - bounds.clopper_pearson_lower(size - k, trials, own)
            ends.append(case.factor * end)
            chances.append(stats.binom.pmf(k, size, rate))
        first, second, target = np.meshgrid(*ends, indexing="ij")
        gap = np.maximum(c[0] / p[0] - first, c[1] / p[1] - second)
        wrong = target + gap < float(c @ (q / p)) - 1e-9
        missed = np.einsum("i,j,k,ijk->", *chances, wrong.astype(float))
        return bool(missed > case.delta + 1e-9)

    return violates


def test_a_bound_from_samples_fails_with_probability_delta():
    assert_holds(SAMPLES, fails_too_often(1 / 3), 300)


def test_frequencies_in_place_of_bounds_are_caught():
    assert_caught(SAMPLES, fails_too_often(None), 200)
