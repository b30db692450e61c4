"""Designs for exact binomial intervals: coverage, accuracy and bins of confidences.

The interval depends on the number of hits alone, so that the probability that it holds
the truth is a binomial sum. The truth lies just outside the ends of some interval,
where coverage is least.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import stats

from distfreeuq._base.array_types import FloatArray
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.conformal.split_sets import SplitConformalResult, split_conformal
from distfreeuq.metrics.reliability_table import reliability
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

Ends = Callable[[int, int, float], tuple[float, float]]
"""From hits, rows and a level to an interval."""


def of_sets(hits: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of evaluated sets that hold so many labels."""
    sets = first_label_only().predict(np.tile([0.9, 0.1], (n, 1)))
    labels = (np.arange(n) >= hits).astype(np.int64)
    low, high = sets.evaluate(labels, level=level).interval
    return float(low), float(high)


@cache
def first_label_only() -> SplitConformalResult:
    """Return a fit whose sets hold label 0 alone, for rows nearly sure of it."""
    probs, labels = np.tile([0.8, 0.2], (20, 1)), np.zeros(20, dtype=np.int64)
    return split_conformal(probs, labels, score="lac", rng=0)


def of_accuracy(hits: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of an assessed accuracy."""
    labels = (np.arange(n) < hits).astype(np.int64)
    result = assess(np.full(n, 0.9), labels, n_boot=1, level=level, n_sim=0, rng=0)
    low, high = result.interval("accuracy")
    return float(low), float(high)


def of_reliability(hits: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of the one bin that has rows, of one bin in all."""
    correct = np.arange(n) < hits
    table = reliability(np.full(n, 0.8), correct, n_bins=1, level=level)
    return float(table.low[0]), float(table.high[0])


def coverage(ends: Ends, n: int, level: float, truth: float) -> float:
    """Return P(interval holds the truth)."""
    held = [_holds(ends(hits, n, level), truth) for hits in range(n + 1)]
    return float(stats.binom.pmf(np.arange(n + 1), n, truth) @ held)


def _holds(ends: tuple[float, float], truth: float) -> bool:
    # where rows are too few there is none, and nothing is claimed
    return not np.isfinite(ends).all() or ends[0] <= truth <= ends[1]


def binomial_designs(generator: np.random.Generator, *, ends: Ends) -> Design:
    """Return a truth that is just below or above the end of some interval."""
    n = int(generator.integers(1, 41))
    level = float(generator.choice([0.5, 0.8, 0.9, 0.95, 0.99]))
    low, high = ends(int(generator.integers(0, n + 1)), n, level)
    near = low - 1e-9 if generator.random() < 0.5 else high + 1e-9
    truth = float(np.clip(near, 0.0, 1.0)) if np.isfinite(near) else 0.5
    settings: dict[str, Any] = {"n": n, "level": level, "truth": truth}
    return Design(
        settings,
        Claim("interval holds", at_least=level),
        probability=partial(coverage, ends, **settings),
    )


def two_bins(n: int, level: float, shares: FloatArray, truths: FloatArray) -> float:
    """Return P(intervals of both bins of a reliability diagram hold), by enumeration.

    Confidences are 0.3 or 0.8, in two bins.
    """
    held = 0.0
    for first in range(n + 1):
        sizes = (first, n - first)
        mass = float(stats.binom.pmf(first, n, shares[0]))
        if mass < 1e-13:
            continue
        for one in range(sizes[0] + 1):
            for two in range(sizes[1] + 1):
                chance = float(
                    stats.binom.pmf(one, sizes[0], truths[0])
                    * stats.binom.pmf(two, sizes[1], truths[1])
                )
                if mass * chance < 1e-13:
                    continue
                table = reliability(
                    np.repeat([0.3, 0.8], sizes),
                    np.concatenate(
                        [np.arange(sizes[0]) < one, np.arange(sizes[1]) < two]
                    ),
                    n_bins=2,
                    level=level,
                )
                holds = (table.low <= truths) & (truths <= table.high)
                held += mass * chance * bool(holds.all())
    return held


def reliability_designs(generator: np.random.Generator) -> Design:
    """Return one bin of many rows, or two of few."""
    if generator.random() < 0.7:
        return binomial_designs(generator, ends=of_reliability)
    n = int(generator.integers(1, 10))
    share = float(generator.uniform(0.05, 0.95))
    settings: dict[str, Any] = {
        "n": n,
        "level": float(generator.choice([0.5, 0.8, 0.95])),
        "shares": np.array([share, 1.0 - share]),
        "truths": generator.random(2),
    }
    return Design(
        settings,
        Claim("both bins hold", at_least=settings["level"]),
        probability=partial(two_bins, **settings),
    )
