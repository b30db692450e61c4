"""Bounds of all bins at once, exactly: every table of counts of a finite law.

Two fixed bins and two or three classes: the rows of a sample are counts of the cells
(bin, label), their probabilities multinomial. The claim is that the label frequencies
of every bin lie within its radius of the truth, with probability at least 1 - alpha; on
the source, and after reweighting on a target of other class proportions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import distfreeuq as dfu
from tests.exact.search import assert_caught, assert_holds
from tests.exact.test_pac import multinomial, samples

EXAMPLES = 150


class Bins(NamedTuple):
    """Masses of (bin, label) in 16ths; rows; alpha; weights of the two classes."""

    masses: tuple[int, ...]
    n: int
    alpha: Fraction
    label_weight: tuple[int, int]


def _masses() -> st.SearchStrategy[tuple[int, ...]]:
    cuts = st.lists(st.integers(0, 16), min_size=3, max_size=3).map(sorted)
    return cuts.map(lambda c: (c[0], c[1] - c[0], c[2] - c[1], 16 - c[2]))


BINS = st.builds(
    Bins,
    masses=_masses(),
    n=st.integers(1, 8),
    alpha=st.sampled_from([Fraction(k, 20) for k in (1, 2, 5, 8, 12, 16)]),
    label_weight=st.tuples(st.sampled_from([1, 2, 9]), st.sampled_from([1, 3])),
)

Table = tuple[np.ndarray, np.ndarray]
"""Frequencies of class 1 and L1 radii, by bin."""
Fit = Callable[[tuple[int, ...], Bins], Table]


def fitted(
    counts: tuple[int, ...], case: Bins, bound: str = "auto"
) -> dfu.BinningResult:
    return _fitted(counts, float(case.alpha), bound)


@lru_cache(maxsize=20_000)
def _fitted(counts: tuple[int, ...], alpha: float, bound: str) -> dfu.BinningResult:
    scores = np.repeat([0.25, 0.25, 0.75, 0.75], counts)
    labels = np.repeat([0, 1, 0, 1], counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        return dfu.histogram_binning(
            scores, labels, scheme=[0.5], alpha=alpha, bound=bound
        )


def on_the_source(bound: str) -> Fit:
    def table(counts: tuple[int, ...], case: Bins) -> Table:
        fit = fitted(counts, case, bound)
        return fit.frequencies[:, 1], fit.radius

    return table


def on_the_target(counts: tuple[int, ...], case: Bins) -> Table:
    fit = fitted(counts, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        shifted = fit.under_label_shift(np.array(case.label_weight, dtype=float))
    return shifted.frequencies[:, 1], shifted.radius


def truth(case: Bins, weights: tuple[int, int]) -> list[Fraction | None]:
    """Return the frequency of class 1 by bin; None for a bin that is never met."""
    out: list[Fraction | None] = []
    for first, second in (case.masses[:2], case.masses[2:]):
        of_one, of_zero = second * weights[1], first * weights[0]
        out.append(Fraction(of_one, of_one + of_zero) if of_one + of_zero else None)
    return out


def probability_of_failing(
    case: Bins, fit: Fit, weights: tuple[int, int] = (1, 1)
) -> Fraction:
    """Return the probability that some bin's frequencies miss the truth."""
    failing = Fraction(0)
    target = truth(case, weights)
    for counts in samples(case.n, 4):
        probability = multinomial(counts, case.masses)
        if not probability:
            continue
        frequencies, radius = fit(counts, case)
        for m, true in enumerate(target):
            if true is None or sum(counts[2 * m : 2 * m + 2]) == 0:
                continue  # a bin without rows has no estimate
            if 2 * abs(frequencies[m] - float(true)) > radius[m] + 1e-12:
                failing += probability
                break
    return failing


@pytest.mark.parametrize("bound", ["auto", "hoeffding"])
def test_all_bins_of_the_source(bound):
    assert_holds(
        BINS,
        lambda case: probability_of_failing(case, on_the_source(bound)) > case.alpha,
        EXAMPLES,
    )


def test_radii_of_all_rows_in_place_of_the_bins_are_caught():
    """The paper's bound with n for the bin's own count."""

    def broken(counts: tuple[int, ...], case: Bins) -> Table:
        fit = fitted(counts, case)
        own = np.array([sum(counts[:2]), sum(counts[2:])])
        return fit.frequencies[:, 1], fit.radius * np.sqrt(own / case.n)

    assert_caught(
        BINS,
        lambda case: probability_of_failing(case, broken) > case.alpha,
        2 * EXAMPLES,
    )


def test_all_bins_of_the_target():
    assert_holds(
        BINS,
        lambda case: (
            probability_of_failing(case, on_the_target, case.label_weight) > case.alpha
        ),
        EXAMPLES,
    )


def test_radii_that_are_not_widened_on_the_target_are_caught():
    def broken(counts: tuple[int, ...], case: Bins) -> Table:
        fit = fitted(counts, case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.DistFreeWarning)
            shifted = fit.under_label_shift(np.array(case.label_weight, dtype=float))
        return shifted.frequencies[:, 1], 0.5 * fit.radius

    assert_caught(
        BINS,
        lambda case: (
            probability_of_failing(case, broken, case.label_weight) > case.alpha
        ),
        2 * EXAMPLES,
    )
