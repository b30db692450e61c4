"""Designs for bins of one score: few atoms, whose tables of counts are enumerated.

Also rows with weights, and edges at order statistics of scores that tie; these are
drawn.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.theorems.draws.cell_designs import compositions, multinomial_masses
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

SLACK = 1e-9
EDGES = (0.5,)
FAILS = "some bin fails"
_NEGLIGIBLE = 1e-13


# -------------------------------------------------- class-wise and top-label, exactly


def one_probability_failure(
    *,
    mode: str,
    n: int,
    alpha: float,
    bound: str,
    points: FloatArray,
    joint: FloatMatrix,
    factor: float = 1.0,
) -> float:
    """Return P(some bin's error exceeds `factor` times its radius).

    Two classes; `points` are P(Y = 1) as the classifier says it, `joint` has a row per
    point and a column per class.
    """
    probs = np.column_stack([1.0 - points, points])
    counts = np.array(list(compositions(n, joint.size)), dtype=np.int64)
    masses = multinomial_masses(counts.astype(np.float64), joint.ravel())
    scores, events = _scores(mode, probs)
    bins = (scores > EDGES[0]).astype(np.int64)  # (points, events)
    total = 0.0
    for table, mass in zip(counts, masses, strict=True):
        if mass < _NEGLIGIBLE:
            continue
        rows = np.repeat(np.arange(joint.size), table)
        fit = histogram_binning(
            probs[rows // 2],
            rows % 2,
            scheme=EDGES,
            mode=mode,
            alpha=alpha,
            bound=bound,
        )
        n_bins = len(fit.frequencies)  # of each class, if class-wise
        frequency = np.asarray(fit.frequencies).reshape(n_bins, -1)
        radius = np.asarray(fit.radius).reshape(n_bins, -1)
        total += mass * _fails(frequency, factor * radius, bins, events, joint)
    return float(total)


def _scores(mode: str, probs: FloatMatrix) -> tuple[FloatMatrix, IntArray]:
    """Return the scores (points, events), and which class each event is (same)."""
    if mode == "classwise":
        return probs, np.tile([0, 1], (len(probs), 1))
    return probs.max(axis=1, keepdims=True), probs.argmax(axis=1)[:, None]


def _fails(
    frequency: FloatMatrix,
    radius: FloatMatrix,
    bins: IntArray,
    events: IntArray,
    joint: FloatMatrix,
) -> bool:
    for event in range(bins.shape[1]):
        for m in range(len(frequency)):
            inside = bins[:, event] == m
            mass = float(joint[inside].sum())
            if mass <= 0.0 or np.isnan(frequency[m, event]):
                continue
            own = joint[inside, events[inside, event]].sum()
            if abs(frequency[m, event] - own / mass) > radius[m, event] + SLACK:
                return True
    return False


def one_probability_designs(
    generator: np.random.Generator, *, factor: float = 1.0
) -> Design:
    """Return two points, in one bin or two, and few rows."""
    settings: dict[str, Any] = {
        "mode": str(generator.choice(["classwise", "top-label"])),
        "n": int(generator.integers(1, 10)),
        "alpha": float(generator.choice([0.1, 0.3, 0.6, 0.9])),
        "bound": str(generator.choice(["auto", "clopper-pearson", "hoeffding"])),
        "points": generator.integers(1, 20, size=2) / 20.0 + 0.01,
        "joint": generator.dirichlet(
            np.full(4, float(generator.choice([0.3, 1.0])))
        ).reshape(2, 2),
    }
    return Design(
        settings,
        Claim(FAILS, at_most=settings["alpha"]),
        probability=partial(one_probability_failure, factor=factor, **settings),
    )


# -------------------------------------------------------------------- rows with weights


def weighted_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    bound: str,
    ratio: FloatArray,
    source: FloatArray,
    positive: FloatArray,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether some bin's error on the target exceeds `factor` times its radius.

    Points with their ratios q / p, probabilities in the source, and P(Y = 1).
    """
    scores = (np.arange(ratio.size) + 0.5) / ratio.size
    bins = (scores > EDGES[0]).astype(np.int64)
    mass = np.bincount(bins, weights=source * ratio, minlength=2)
    hits = np.bincount(bins, weights=source * ratio * positive, minlength=2)
    truth = hits / np.where(mass > 0.0, mass, 1.0)
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        at = generator.choice(ratio.size, size=n, p=source)
        fit = histogram_binning(
            scores[at],
            (generator.random(n) < positive[at]).astype(np.int64),
            scheme=EDGES,
            sample_weight=ratio[at],
            weight_bound=float(ratio.max()),
            alpha=alpha,
            bound=bound,
        )
        error = 2.0 * np.abs(fit.frequencies[:, 1] - truth)
        silent = np.isnan(error) | (mass <= 0.0)
        failed[i] = bool((~silent & (error > factor * fit.radius + SLACK)).any())
    return {FAILS: failed}


def weighted_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return ratios that may span four powers of ten, the heavy points rare."""
    size = int(generator.integers(2, 6))
    spread = float(generator.choice([0.5, 2.0, 4.0]))
    raw = 10.0 ** generator.uniform(0.0, spread, size)
    source = generator.dirichlet(np.ones(size)) / np.sqrt(raw)
    source /= source.sum()
    settings: dict[str, Any] = {
        "n": int(10.0 ** generator.uniform(0.7, 3.0)),
        "alpha": float(generator.choice([0.1, 0.3, 0.6])),
        "bound": str(
            generator.choice(["auto", "hoeffding", "chernoff", "bernstein", "betting"])
        ),
        "ratio": raw / (source @ raw),
        "source": source,
        "positive": generator.choice([0.0, 0.05, 0.5, 0.95, 1.0], size=size),
    }
    return Design(
        settings,
        Claim(FAILS, at_most=settings["alpha"]),
        draw=partial(weighted_draw, factor=factor, **settings),
    )


# --------------------------------------------------- edges at scores that tie, as drawn


def atoms_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_bins: int,
    alpha: float,
    scores: FloatArray,
    masses: FloatArray,
    positive: FloatArray,
    claim_edges: bool = False,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether predictions of new rows are near their bins' truth.

    Scores are atoms, and edges order statistics of them. New rows exactly on an edge
    that calibration rows are on are excepted, unless `claim_edges`: then they count as
    rows of the bin whose frequencies they get. What is printed of calibration rows on
    edges is compared with their number.
    """
    failed, miscounted = np.zeros((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        at = generator.choice(scores.size, size=n, p=masses)
        labels = (generator.random(n) < positive[at]).astype(np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DistFreeWarning)
            fit = histogram_binning(scores[at], labels, n_bins=n_bins, alpha=alpha)
            bins = fit.assign(scores)
        excepted = fit._on_edges(np.column_stack([1.0 - scores, scores]))
        miscounted[i] = fit.n_boundary != int(excepted[at].sum())
        claimed = np.full(scores.size, claim_edges) | ~excepted
        for m in np.unique(bins[claimed]):
            inside = claimed & (bins == m)
            if fit.bin_counts[m] == 0 or not masses[inside].any():
                continue
            truth = float(masses[inside] @ positive[inside] / masses[inside].sum())
            error = 2.0 * abs(float(fit.frequencies[m, 1]) - truth)
            failed[i] |= error > factor * float(fit.radius[m]) + SLACK
    return {FAILS: failed, "rows on edges miscounted": miscounted}


def atoms_designs(
    generator: np.random.Generator, *, claim_edges: bool = False, factor: float = 1.0
) -> Design:
    """Return two to forty atoms, some with most of the mass."""
    size = int(generator.integers(2, 41))
    settings: dict[str, Any] = {
        "n": int(10.0 ** generator.uniform(0.9, 3.0)),
        "n_bins": int(generator.integers(2, 11)),
        "alpha": float(generator.choice([0.1, 0.3, 0.6])),
        "scores": np.sort(generator.choice(np.arange(1, 100), size, replace=False))
        / 100.0,
        "masses": generator.dirichlet(
            np.full(size, float(generator.choice([0.3, 3.0])))
        ),
        "positive": generator.choice([0.0, 0.02, 0.5, 0.98, 1.0], size=size),
    }
    return Design(
        settings,
        Claim(FAILS, at_most=settings["alpha"]),
        draw=partial(atoms_draw, claim_edges=claim_edges, factor=factor, **settings),
    )
