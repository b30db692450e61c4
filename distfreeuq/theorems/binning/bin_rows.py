"""Theorem on the rows of bins: draws from the bin, though they chose its edges.

Where a bin's rows are i.i.d. from it, its label count is binomial given its size, and
the randomised p-value of the true probability is exactly uniform: a claim that the
least dependence between bins and labels refutes, where a bound would still hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.references import CALIBRATION_IID, FITTED_ELSEWHERE
from distfreeuq.theorems.binning.source_bins import (
    FAMILY,
    binary_rows,
    mean_of_largest,
    mean_of_one,
    mean_square,
    simplex_rows,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem


def uniform_p_values(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_bins: int,
    mode: str = "canonical",
    choose: str = "own edges",
    edge_counted: bool = False,
) -> dict[str, BoolArray]:
    """Return p-values of the true probabilities: independent and uniform, one per bin.

    Given the edges, bins are independent of each other, so that a fit gives as many
    draws as it has bins. `choose` "other rows", "split" and "own edges" are valid;
    "labels" puts the edges at scores of class 1 alone, and `edge_counted` counts the
    row on a bin's upper edge in it.
    """
    p_values: list[FloatArray] = []
    made = 0
    while made < n_draws:
        scores, labels, truth = _scores(generator, n, mode)
        options: dict[str, Any] = {}
        if choose == "other rows":
            options["partition_on"] = _scores(generator, n, mode)[0]
        elif choose == "split":
            options["split"] = 0.5
        elif choose == "labels":
            options["scheme"] = _edges_of_ones(scores, labels, n_bins)
        fit = histogram_binning(
            scores, labels, n_bins=n_bins, mode=mode, rng=generator, **options
        )
        ends, hits, sizes = fit.edges, fit.counts, fit.bin_counts
        if mode == "canonical":
            hits = hits[:, 1]
        elif mode == "classwise":
            ends, hits, sizes = ends[0], hits[:, 0], sizes[:, 0]
        ends = np.asarray(ends)
        if edge_counted:
            number = np.searchsorted(ends, scores, side="left") - 1
            sizes = np.bincount(number, minlength=n_bins)
            hits = np.bincount(number, weights=labels, minlength=n_bins)
        p = truth(ends[:-1], ends[1:])
        p_values.append(randomised_p_value(generator, np.asarray(hits), sizes, p))
        made += len(p)
    return at_levels(np.concatenate(p_values)[:n_draws])


def _scores(
    generator: np.random.Generator, n: int, mode: str
) -> tuple[FloatArray, IntArray, Callable[[FloatArray, FloatArray], FloatArray]]:
    if mode == "canonical":
        return *binary_rows(generator, n), mean_square
    truth = mean_of_one if mode == "classwise" else mean_of_largest
    return *simplex_rows(generator, n), truth


def _edges_of_ones(scores: FloatArray, labels: IntArray, n_bins: int) -> FloatArray:
    ones = scores[labels == 1]
    levels = np.arange(1, n_bins) / n_bins
    return np.unique(np.quantile(ones, levels, method="inverted_cdf"))


def randomised_p_value(
    generator: np.random.Generator, hits: FloatArray, sizes: IntArray, p: FloatArray
) -> FloatArray:
    """Return P(H < hits) + U P(H = hits) of binomial H: uniform if hits is one."""
    above = special.bdtr(hits, sizes, p)
    below = np.where(hits > 0, special.bdtr(np.maximum(hits - 1, 0), sizes, p), 0.0)
    values: FloatArray = below + generator.random(hits.shape) * (above - below)
    return values


LEVELS = (0.05, 0.5, 0.95)


def at_levels(p_values: FloatArray) -> dict[str, BoolArray]:
    """Return the events that uniform numbers are below levels."""
    return {f"p <= {level}": p_values <= level for level in LEVELS}


def are_uniform(tolerance: float) -> tuple[Claim, ...]:
    """Return the claims of a uniform law, at three of its quantiles."""
    return tuple(
        Claim(
            f"p <= {level}",
            equals=level,
            tolerance=tolerance if level == 0.5 else tolerance / 2,
        )
        for level in LEVELS
    )


UNIFORM_MASS = Theorem(
    name="uniform-mass-rows",
    title="Rows between edges at their own order statistics are draws from the bin",
    reference="Gupta & Ramdas (2021); theory page, 2.2",
    statement=(
        "Given edges at order statistics of the scores, the labels of rows strictly "
        "between two edges are i.i.d. with the bin's probabilities: counts are "
        "binomial. So they are with edges from other rows."
    ),
    assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE),
    family=FAMILY,
    unsearched="it compares laws; what is promised of such bins is binning-bound",
    experiments=tuple(
        Experiment(
            f"{mode}, {choose}, n = {n}, M = {n_bins}",
            partial(uniform_p_values, n=n, n_bins=n_bins, mode=mode, choose=choose),
            are_uniform(0.06),
            batch=240,
        )
        for mode, choose, n, n_bins in (
            ("canonical", "own edges", 8, 3),
            ("canonical", "own edges", 60, 6),
            ("canonical", "other rows", 30, 5),
            ("canonical", "split", 8, 3),
            ("classwise", "own edges", 15, 4),
            ("top-label", "own edges", 15, 4),
        )
    ),
    controls=(
        Experiment(
            "row on the edge counted",
            partial(uniform_p_values, n=8, n_bins=3, edge_counted=True),
            are_uniform(0.03),
            batch=240,
        ),
        Experiment(
            "edges chosen by the labels",
            partial(uniform_p_values, n=30, n_bins=5, choose="labels"),
            are_uniform(0.06),
            batch=240,
        ),
    ),
)

THEOREMS = (UNIFORM_MASS,)
