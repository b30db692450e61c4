"""Designs for calibration curves and errors: all outcomes of few rows, enumerated.

Given the confidences outcomes are independent, so that the number of hits among rows of
one confidence, or of one bin, has a finite law. Bands and intervals depend on these
numbers alone. The truth lies just outside the ends for some outcome, where it is missed
most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import special

from distfreeuq import metrics
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq.conformal.evaluation.dependent_rows import coverage_by_block
from distfreeuq.metrics.band_results import ReliabilityBand
from distfreeuq.metrics.squared_intervals import error_within
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

LEVELS = (0.3, 0.5, 0.8, 0.95)
_MOST_OUTCOMES = 250
_BESIDE = 1e-9
"""Distance of the truth from an end that it lies outside of."""


def hits_law(frequencies: FloatArray) -> FloatArray:
    """Return the law of how many of independent events happen."""
    law = np.ones(1)
    for one in frequencies:
        law = np.append(law * (1.0 - one), 0.0) + np.append(0.0, law * one)
    return law


def outcomes(
    groups: Sequence[IntArray], frequencies: FloatArray
) -> Iterator[tuple[float, IntArray]]:
    """Yield a probability, and hits (n,), for all numbers of hits in groups of rows."""
    laws = [hits_law(frequencies[group]) for group in groups]
    for counts in product(*(range(group.size + 1) for group in groups)):
        mass = math.prod(law[count] for law, count in zip(laws, counts, strict=True))
        if mass > 0.0:
            hits = np.zeros(frequencies.size, dtype=np.int64)
            for group, count in zip(groups, counts, strict=True):
                hits[group[:count]] = 1
            yield mass, hits


def random_sizes(generator: np.random.Generator, most_groups: int) -> IntArray:
    """Return sizes of up to so many groups of rows, with few outcomes in all."""
    n_groups = int(generator.integers(1, most_groups + 1))
    most = int(_MOST_OUTCOMES ** (1.0 / n_groups)) - 1
    return generator.integers(1, most + 1, size=n_groups)


# -------------------------------------------------------------------------------- bands

At = Callable[[ReliabilityBand, FloatArray], FloatMatrix]
"""A band's lower and upper ends at confidences, (2, m)."""


def as_documented(band: ReliabilityBand, x: FloatArray) -> FloatMatrix:
    """Return what the band says of confidences."""
    return np.array(band.at(x))


def band_holds(
    *,
    confidences: FloatArray,
    sizes: IntArray,
    curve: FloatArray,
    n_blocks: int,
    level: float,
    at: At = as_documented,
) -> float:
    """Return P(the band holds the curve), whatever that is between the confidences.

    There it is anything from the value below to the value above.
    """
    between = 0.5 * (confidences[1:] + confidences[:-1])
    x = np.concatenate([confidences, between])
    least = np.concatenate([curve, curve[:-1]])
    most = np.concatenate([curve, curve[1:]])
    rows = np.repeat(confidences, sizes)
    groups = np.split(np.arange(rows.size), np.cumsum(sizes)[:-1])
    held = 0.0
    for mass, hits in outcomes(groups, np.repeat(curve, sizes)):
        low, high = at(
            metrics.isotonic_band(rows, hits, n_blocks=n_blocks, level=level), x
        )
        held += mass * bool((low <= least).all() and (most <= high).all())
    return held


def band_designs(generator: np.random.Generator, *, at: At = as_documented) -> Design:
    """Return few different confidences, and a curve that does not fall."""
    sizes = random_sizes(generator, 4)
    several = np.sort(generator.choice(101, sizes.size, replace=False)) / 100
    n_blocks = int(generator.integers(1, sizes.size + 1))
    level = float(generator.choice(LEVELS))
    curve = np.sort(generator.beta(0.5, 0.5, sizes.size))
    kind = generator.integers(3)
    if kind == 0:  # flat, where all intervals count
        curve[:] = curve[0]
    elif kind == 1:  # just outside of one outcome's band
        hits = (generator.random(int(sizes.sum())) < np.repeat(curve, sizes)) * 1
        rows = np.repeat(several, sizes)
        band = metrics.isotonic_band(rows, hits, n_blocks=n_blocks, level=level)
        low, high = np.array(at(band, several))
        below = generator.random() < 0.5
        curve = np.clip(low - _BESIDE if below else high + _BESIDE, 0.0, 1.0)
    settings: dict[str, Any] = {
        "confidences": several,
        "sizes": sizes,
        "curve": curve,
        "n_blocks": n_blocks,
        "level": level,
    }
    return Design(
        settings,
        Claim("the band holds the curve", at_least=level),
        probability=partial(band_holds, at=at, **settings),
    )


# ----------------------------------------------------------------------- the l2 error

Budget = Callable[[int, float], float]
"""From bins and an error rate to what their deviations may add up to."""


def l2_interval(
    p: FloatArray, hits: IntArray, edges: FloatArray, level: float, budget: Any
) -> tuple[float, float]:
    """Return the printed interval, or that of another budget of deviations."""
    if budget is None:
        found = metrics.l2_ece_interval(
            p, hits, scheme=edges, level=level, event="class-1"
        )
        return found.low, found.high
    cells = cells_of(p, edges)
    counts = np.bincount(cells).astype(np.float64)
    came_true = np.bincount(cells, hits).astype(np.float64)
    total = np.bincount(cells, p)
    filled = counts > 0.0
    allowed = budget(int(filled.sum()), 1.0 - level)
    confidence = total[filled] / counts[filled]
    return error_within(counts[filled], came_true[filled], confidence, allowed)


def cells_of(p: FloatArray, edges: FloatArray) -> IntArray:
    """Return the bin of each confidence; a bin holds its right edge."""
    return np.maximum(np.searchsorted(edges, p, side="left") - 1, 0)


def l2_error(p: FloatArray, truth: FloatArray, edges: FloatArray) -> float:
    """Return the root mean squared gap of bins' mean confidences and frequencies."""
    cells = cells_of(p, edges)
    counts = np.bincount(cells)
    gaps = np.bincount(cells, p - truth)
    return math.sqrt(float((gaps**2 / np.maximum(counts, 1)).sum()) / p.size)


def error_held(
    *,
    p: FloatArray,
    truth: FloatArray,
    edges: FloatArray,
    level: float,
    budget: Budget | None = None,
) -> float:
    """Return P(the interval holds the error)."""
    error, cells = l2_error(p, truth, edges), cells_of(p, edges)
    groups = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    held = 0.0
    for mass, hits in outcomes(groups, truth):
        low, high = l2_interval(p, hits, edges, level, budget)
        held += mass * (low - 1e-12 <= error <= high + 1e-12)
    return held


def l2_designs(
    generator: np.random.Generator, *, budget: Budget | None = None
) -> Design:
    """Return rows in up to three bins whose frequencies also differ within bins."""
    sizes = random_sizes(generator, 3)
    edges = np.linspace(0.0, 1.0, sizes.size + 1)
    which = np.repeat(np.arange(sizes.size), sizes)
    p = edges[which] + generator.random(which.size) / sizes.size
    level = float(generator.choice(LEVELS))
    constant = np.full(p.size, generator.random())
    several = (constant, p, np.zeros(p.size), generator.beta(0.5, 0.5, p.size))
    truth = several[generator.integers(4)]
    if generator.random() < 0.7:
        hits = (generator.random(p.size) < truth) * 1
        low, high = l2_interval(p, hits, edges, level, budget)
        wanted = low - _BESIDE if generator.random() < 0.5 else high + _BESIDE
        error = l2_error(p, truth, edges)
        # the error of frequencies that depart from the confidences is as the departure
        moved = p + (truth - p) * wanted / error if error > 0.0 else truth
        if ((moved >= 0.0) & (moved <= 1.0)).all():
            truth = moved
    settings: dict[str, Any] = {"p": p, "truth": truth, "edges": edges, "level": level}
    return Design(
        settings,
        Claim("the interval holds the error", at_least=level),
        probability=partial(error_held, budget=budget, **settings),
    )


# ------------------------------------------------------- weighted rows, debiased errors


def weighted_bins_hold(
    *,
    confidence: FloatArray,
    weights: FloatArray,
    truth: FloatArray,
    edges: FloatArray,
    level: float,
    counted: bool = False,
) -> float:
    """Return P(intervals of all bins hold the weighted accuracies), given the inputs.

    Broken: with `counted` the rows of an interval are counted, whatever they weigh.
    """
    cells = cells_of(confidence, edges)
    sums = np.bincount(cells, weights)
    target = np.bincount(cells, weights * truth) / np.where(sums > 0.0, sums, 1.0)
    pairs = np.unique(np.column_stack([cells, weights]), axis=0, return_inverse=True)[1]
    groups = [np.flatnonzero(pairs.ravel() == one) for one in range(pairs.max() + 1)]
    held = 0.0
    for mass, hits in outcomes(groups, truth):
        table = metrics.reliability(
            confidence, hits, scheme=edges, sample_weight=weights, level=level
        )
        low, high = table.low, table.high
        if counted:
            counts = np.bincount(cells, minlength=low.size)
            radius = np.sqrt(0.5 * np.log(2.0 * low.size / (1.0 - level)) / counts)
            low, high = table.accuracy - radius, table.accuracy + radius
        holds = (low - 1e-12 <= target) & (target <= high + 1e-12)
        held += mass * bool(holds[sums > 0.0].all())
    return held


def weighted_bin_designs(
    generator: np.random.Generator, *, counted: bool = False
) -> Design:
    """Return rows of few different weights in up to three bins."""
    sizes = random_sizes(generator, 3)
    n_bins = int(generator.integers(1, sizes.size + 1))
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    which = np.repeat(np.arange(sizes.size) % n_bins, sizes)
    confidence = (which + 0.5) / n_bins
    weights = np.repeat(10.0 ** generator.uniform(-2.0, 2.0, sizes.size), sizes)
    truth = np.repeat(generator.beta(0.5, 0.5, sizes.size), sizes)
    if generator.random() < 0.5:  # certain, but for the heaviest rows
        truth = np.where(weights == weights.max(), truth, np.round(truth))
    settings: dict[str, Any] = {
        "confidence": confidence,
        "weights": weights,
        "truth": truth,
        "edges": edges,
        "level": float(generator.choice(LEVELS)),
    }
    return Design(
        settings,
        Claim("all bins hold", at_least=settings["level"]),
        probability=partial(weighted_bins_hold, counted=counted, **settings),
    )


def debiased_mean_is_off(
    *, confidence: FloatArray, truth: FloatArray, debiased: bool = True
) -> float:
    """Return 1 if the mean of the debiased squared error is not the error; else 0.

    Rows of a bin have one confidence and one frequency, so that numbers of rows may be
    given.
    """
    error = float(np.square(confidence - truth).mean())
    groups = [np.flatnonzero(confidence == one) for one in np.unique(confidence)]
    probs = np.column_stack([confidence, 1.0 - confidence])
    mean = 0.0
    for mass, hits in outcomes(groups, truth):
        found = metrics.debiased_ece(probs, 1 - hits, n_bins=10, squared=True)
        if not debiased:
            found = sum(
                g.size * float((confidence[g] - hits[g]).mean()) ** 2 for g in groups
            ) / float(truth.size)
        mean += mass * found
    return float(abs(mean - error) > 1e-9)


def debiased_designs(
    generator: np.random.Generator, *, debiased: bool = True
) -> Design:
    """Return up to four bins of two rows or more."""
    sizes = np.maximum(random_sizes(generator, 4), 2)
    several = 0.5 + (generator.permutation(5)[: sizes.size] + 0.7) / 10.0
    settings: dict[str, Any] = {
        "confidence": np.repeat(several, sizes),
        "truth": np.repeat(generator.random(sizes.size), sizes),
    }
    return Design(
        settings,
        Claim("its mean is another", at_most=0.0),
        probability=partial(debiased_mean_is_off, debiased=debiased, **settings),
    )


# ----------------------------------------------------------------------------- blocks


def block_counts(n_blocks: int, kinds: int) -> FloatMatrix:
    """Return all numbers of blocks (N, kinds) of so many kinds."""
    return np.array(
        [c for c in product(range(n_blocks + 1), repeat=kinds) if sum(c) == n_blocks],
        dtype=np.float64,
    )


def blocks_hold(
    *,
    covered: IntArray,
    rows: IntArray,
    law: FloatArray,
    n_blocks: int,
    level: float,
    singly: bool = False,
) -> float:
    """Return P(the interval holds the coverage of a random row of a random block).

    A block is of a kind j with probability law[j], and has covered[j] of rows[j] rows
    covered. All samples of blocks are strata of one table. Broken: rows `singly`.
    """
    counts = block_counts(n_blocks, law.size)
    logs = special.gammaln(n_blocks + 1.0) - special.gammaln(counts + 1.0).sum(axis=1)
    masses = np.exp(logs + special.xlogy(counts, law).sum(axis=1))
    kinds = np.tile(np.arange(law.size), len(counts))
    of_sample = np.repeat(np.arange(len(counts)), law.size)
    repeats = counts.ravel().astype(np.int64)
    kinds, of_sample = np.repeat(kinds, repeats), np.repeat(of_sample, repeats)
    size = rows[kinds]
    start = np.repeat(np.cumsum(size) - size, size)
    held = np.arange(size.sum()) - start < np.repeat(covered[kinds], size)
    blocks = np.arange(held.size) if singly else np.repeat(np.arange(size.size), size)
    strata = np.repeat(of_sample, size)
    low, high = coverage_by_block(held, blocks, [(strata, len(counts))], level)[:, 2:].T
    truth = float(law @ (covered / rows))
    return float(masses @ ((low <= truth + 1e-12) & (truth - 1e-12 <= high)))


def block_designs(generator: np.random.Generator, *, singly: bool = False) -> Design:
    """Return up to three kinds of blocks, of few or many rows."""
    kinds = int(generator.integers(2, 4))
    rows = generator.integers(1, 6, size=kinds)
    covered = np.array([int(generator.integers(0, r + 1)) for r in rows])
    if generator.random() < 0.5:  # all or none
        covered = np.where(np.arange(kinds) % 2, rows, 0)
    settings: dict[str, Any] = {
        "covered": covered,
        "rows": rows,
        "law": generator.dirichlet(np.full(kinds, float(generator.choice([0.3, 1.0])))),
        "n_blocks": int(generator.integers(1, 41 if kinds == 2 else 13)),
        "level": float(generator.choice(LEVELS)),
    }
    return Design(
        settings,
        Claim("held", at_least=settings["level"]),
        probability=partial(blocks_hold, singly=singly, **settings),
    )
