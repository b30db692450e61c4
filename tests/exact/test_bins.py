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
from distfreeuq.binning import uniform_mass
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


# ------------------------------------------------------ discrete scores, own edges


class Atoms(NamedTuple):
    """Masses of (score, label) in 12ths, for three scores; rows; alpha."""

    masses: tuple[int, ...]
    n: int
    alpha: Fraction


def _six_masses() -> st.SearchStrategy[tuple[int, ...]]:
    cuts = st.lists(st.integers(0, 12), min_size=5, max_size=5).map(sorted)
    return cuts.map(lambda c: tuple(np.diff([0, *c, 12]).tolist()))


ATOMS = st.builds(
    Atoms,
    masses=_six_masses(),
    n=st.sampled_from([3, 5, 8]),
    alpha=st.sampled_from([Fraction(k, 20) for k in (1, 8, 16)]),
)
SCORES = np.array([0.25, 0.5, 0.75])


class Binned(NamedTuple):
    """Frequencies of class 1, half the L1 radii, bins of the scores, -1 on edges."""

    frequency: tuple[float, ...]
    radius: tuple[float, ...]
    bins: tuple[int, ...]
    below: tuple[int, ...]


@pytest.fixture(params=["few rows on an edge are left out", "they have a bin"])
def binned(request, monkeypatch):
    """Fit bins at the rows' own order statistics, by either rule for shared edges."""
    if request.param == "they have a bin":
        monkeypatch.setattr(uniform_mass, "FEWEST", 2)
        monkeypatch.setattr(uniform_mass, "MOST_EXCEPTED", 10**6)
    else:
        monkeypatch.setattr(uniform_mass, "makes_a_bin", lambda s, n, m: s >= n)

    @lru_cache(maxsize=20_000)
    def fit(counts: tuple[int, ...], alpha: float) -> Binned:
        scores = np.repeat(np.repeat(SCORES, 2), counts)
        labels = np.repeat([0, 1] * 3, counts)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dfu.DistFreeWarning)
            found = dfu.histogram_binning(scores, labels, n_bins=2, alpha=alpha)
            below = found.assign(SCORES)
        rows = np.column_stack([1.0 - SCORES, SCORES])
        bins = np.where(found._on_edges(rows), -1, below)
        return Binned(
            tuple(found.frequencies[:, 1].tolist()),
            tuple((found.radius / 2.0).tolist()),
            tuple(bins.tolist()),
            tuple(below.tolist()),
        )

    return fit


def probability_that_a_bin_misses(
    case: Atoms, fit: Callable[[tuple[int, ...], float], Binned], *, edges: bool
) -> Fraction:
    """Return the probability that P(Y = 1 | bin) is outside some bin's radius.

    With `edges`, rows on edges count as claimed too, by the bin that they get.
    """
    failing = Fraction(0)
    zero, one = case.masses[::2], case.masses[1::2]
    for counts in samples(case.n, 6):
        probability = multinomial(counts, case.masses)
        if not probability:
            continue
        table = fit(counts, float(case.alpha))
        claims = [
            (m, [j for j in range(3) if table.bins[j] == m])
            for m in range(len(table.frequency))
        ]
        if edges:
            claims += [(table.below[j], [j]) for j in range(3) if table.bins[j] < 0]
        for m, atoms in claims:
            mass = sum(zero[j] + one[j] for j in atoms)
            if not mass or np.isnan(table.frequency[m]):
                continue
            true = sum(one[j] for j in atoms) / mass
            if abs(table.frequency[m] - true) > table.radius[m] + 1e-12:
                failing += probability
                break
    return failing


@pytest.mark.slow
def test_all_bins_at_own_edges_of_discrete_scores(binned):
    """Whichever shared edges have a bin, if that depends on counts alone."""
    assert_holds(
        ATOMS,
        lambda case: (
            probability_that_a_bin_misses(case, binned, edges=False) > case.alpha
        ),
        EXAMPLES,
    )


def test_a_claim_for_rows_on_edges_is_caught(binned):
    """New rows on an edge that no bin counts get the bin below: no claim holds."""
    assert_caught(
        ATOMS,
        lambda case: (
            probability_that_a_bin_misses(case, binned, edges=True) > case.alpha
        ),
        2 * EXAMPLES,
    )
