"""The family of assessment: intervals of the l2 calibration error."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq import metrics
from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq.metrics.squared_intervals import deviation_budget, error_within
from distfreeuq.references import ASSESSED_ELSEWHERE
from distfreeuq.theorems.draws.outcome_designs import l2_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

LEVEL = 0.8
"""Below the usual one, so that a failure is seen sooner."""
HELD = "the interval holds the error"


def frequency(p: FloatArray, power: float, jump: float) -> FloatArray:
    """Return frequencies that depart from the diagonal, and jump within bins."""
    jumps = np.where(np.arange(p.size) % 2 == 0, jump, -jump)
    return np.asarray(np.clip(p**power + jumps, 0.0, 1.0))


def held_errors(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    n_bins: int,
    power: float = 1.0,
    jump: float = 0.0,
    share: bool = True,
) -> dict[str, BoolArray]:
    """Draw outcomes of fixed confidences, and see whether the error is inside.

    Without `share` the deviations of all bins are allowed what is allowed to one.
    """
    p = (np.arange(n) + 0.5) / n
    truth = frequency(p, power, jump)
    cells = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(cells, minlength=n_bins).astype(np.float64)
    confidence = np.bincount(cells, p, n_bins) / counts
    gaps = confidence - np.bincount(cells, truth, n_bins) / counts
    error = np.sqrt(counts @ gaps**2 / n)
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        hits = (generator.random(n) < truth).astype(np.int64)
        if share:
            found = metrics.l2_ece_interval(
                p, hits, n_bins=n_bins, level=LEVEL, event="class-1"
            )
            low, high = found.low, found.high
        else:
            sums = np.bincount(cells, hits, n_bins).astype(np.float64)
            budget = deviation_budget(1, 1.0 - LEVEL)
            low, high = error_within(counts, sums, confidence, budget)
        held[i] = low <= error + 1e-9 and error <= high + 1e-9
    return {HELD: held}


COVERED = (Claim(HELD, at_least=LEVEL, tolerance=0.1),)

INTERVAL = Theorem(
    name="l2-error-interval",
    title="The interval of the l2 calibration error holds it at every sample size",
    reference="Chernoff's bound, summed over the bins (theory page, 9.7)",
    statement=(
        "If outcomes are independent given the confidences, the interval holds the "
        "root mean squared gap of the bins' mean confidences and mean frequencies "
        "with probability >= its level, at every sample size and at an error of zero."
    ),
    assumptions=("outcomes independent given the confidences", ASSESSED_ELSEWHERE),
    family="assessment",
    designs=l2_designs,
    experiments=tuple(
        Experiment(
            f"n = {n}, {n_bins} bins, frequencies p^{power:g} with jumps of {jump:g}",
            partial(held_errors, n=n, n_bins=n_bins, power=power, jump=jump),
            COVERED,
            batch=50,
        )
        for n, n_bins, power, jump in (
            (12, 3, 1.0, 0.0), (60, 1, 1.0, 0.0), (200, 10, 2.0, 0.0), (40, 2, 8.0, 0.1)
        )
    ),
    controls=(
        Experiment(
            "the deviations of one bin allowed to all, at an error of zero",
            partial(held_errors, n=300, n_bins=10, share=False),
            COVERED,
            batch=50,
        ),
    ),
)  # fmt: skip

THEOREMS = (INTERVAL,)
