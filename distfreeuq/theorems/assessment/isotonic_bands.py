"""The family of assessment: bands that hold a whole calibration curve."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq import metrics
from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq.metrics.monotone_bands import band_of_blocks
from distfreeuq.references import ASSESSED_ELSEWHERE, DIMITRIADIS_2023
from distfreeuq.theorems.draws.outcome_designs import band_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

LEVEL = 0.8
"""Below the usual one, so that a failure is seen sooner."""
Curve = Callable[[FloatArray], FloatArray]


def diagonal(p: FloatArray) -> FloatArray:
    """Return the frequencies of a calibrated classifier."""
    return p


def flat(p: FloatArray) -> FloatArray:
    """Return the same frequency everywhere, where all intervals count."""
    return np.full_like(p, 0.3)


def steps(p: FloatArray) -> FloatArray:
    """Return a curve that jumps."""
    return np.where(p < 0.5, 0.1, 0.9)


def falling(p: FloatArray) -> FloatArray:
    """Return a curve that falls."""
    return 1.0 - p


def held_curves(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    curve: Curve,
    n_blocks: int = 30,
    share: bool = True,
) -> dict[str, BoolArray]:
    """Draw rows, and see whether the band holds the curve at all confidences.

    Without `share` every bound has all of the allowed error.
    """
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        p = np.sort(np.round(generator.random(n), 2))
        truth = curve(p)
        hits = generator.random(n) < truth
        band = metrics.isotonic_band(p, hits, n_blocks=n_blocks, level=LEVEL)
        if not share:
            b = band.counts.size
            alpha = min(0.999 * b * (b + 1), (1.0 - LEVEL) * b * (b + 1))
            low, high = band_of_blocks(band.counts, band.hits, alpha)
            before = np.searchsorted(band.ends, p, side="right")
            after = np.searchsorted(band.starts, p, side="left")
            ends = np.append(0.0, low)[before], np.append(high, 1.0)[after]
        else:
            ends = band.at(p)
        held[i] = bool(((ends[0] <= truth) & (truth <= ends[1])).all())
    return {"the band holds the curve": held}


COVERED = (Claim("the band holds the curve", at_least=LEVEL, tolerance=0.1),)

BAND = Theorem(
    name="isotonic-band",
    title="The isotonic band holds a calibration curve that does not fall",
    reference=f"{DIMITRIADIS_2023} (theory page, 9.5)",
    statement=(
        "If outcomes are independent given the confidences and their frequencies do "
        "not fall with these, the band holds all frequencies at once with probability "
        ">= its level, at every sample size."
    ),
    assumptions=(
        "outcomes independent given the confidences",
        "the event's frequency does not fall as its confidence grows",
        ASSESSED_ELSEWHERE,
    ),
    family="assessment",
    designs=band_designs,
    experiments=tuple(
        Experiment(
            f"{curve.__name__}, n = {n}, {n_blocks} blocks at most",
            partial(held_curves, n=n, curve=curve, n_blocks=n_blocks),
            COVERED,
            batch=50,
        )
        for curve, n, n_blocks in (
            (diagonal, 40, 30), (flat, 60, 60), (flat, 200, 12), (steps, 40, 30)
        )
    ),
    controls=(
        Experiment(
            "every bound with all of the error",
            partial(held_curves, n=60, curve=flat, share=False),
            COVERED,
            batch=50,
        ),
        Experiment(
            "a curve that falls",
            partial(held_curves, n=200, curve=falling),
            COVERED,
            batch=50,
        ),
    ),
)  # fmt: skip

THEOREMS = (BAND,)
