"""A theorem on bins whose edges are order statistics of scores that tie."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq.references import (
    CALIBRATION_IID,
    FITTED_ELSEWHERE,
    PODKOPAEV_RAMDAS_2021,
)
from distfreeuq.theorems.binning.source_bins import FAMILY
from distfreeuq.theorems.draws.score_bin_designs import (
    FAILS,
    atoms_designs,
    atoms_draw,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.3
FORTY = np.arange(1, 41) / 41.0
FIVE = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
ABRUPT = np.where(np.arange(40) % 2 == 0, 0.0, 1.0)
"""Neighbouring atoms that are as unlike as can be."""
BETWEEN: dict[str, Any] = {
    "scores": np.array([0.2, 0.5, 0.8]),
    "masses": np.array([0.484, 0.03, 0.486]),
    "positive": np.array([0.0, 1.0, 0.0]),
    "n": 2000,
    "n_bins": 2,
    "alpha": ALPHA,
}
"""A rare atom at the median, unlike both others: the edge, and in no bin."""


def settings(
    scores: FloatArray, positive: FloatArray, n: int, n_bins: int
) -> dict[str, Any]:
    """Return what a draw of equally likely atoms takes."""
    return {
        "scores": scores,
        "positive": positive,
        "masses": np.full(scores.size, 1.0 / scores.size),
        "n": n,
        "n_bins": n_bins,
        "alpha": ALPHA,
    }


CLAIMS = (
    Claim(FAILS, at_most=ALPHA, tolerance=0.08),
    Claim("rows on edges miscounted", at_most=0.0, tolerance=0.1),
)

DISCRETE = Theorem(
    name="binning-discrete-scores",
    title="Bins at order statistics of scores that tie",
    reference=(
        f"{PODKOPAEV_RAMDAS_2021}, Thm 3; Gupta & Ramdas (2021); theory page, 2.2"
    ),
    statement=(
        "With edges at order statistics of the scores, however discrete, |frequencies "
        "- truth|_1 <= radius in all bins with probability >= 1 - alpha, for rows not "
        "on an edge that calibration rows are on, unless that has a bin of its own. "
        "The calibration rows that are printed as on boundaries are those excepted."
    ),
    assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE),
    family=FAMILY,
    designs=atoms_designs,
    experiments=(
        Experiment(
            "40 atoms, n = 300, 10 bins",
            partial(atoms_draw, **settings(FORTY, FORTY**2, 300, 10)),
            CLAIMS,
            batch=50,
        ),
        Experiment(
            "40 atoms, unlike neighbours, n = 300, 8 bins",
            partial(atoms_draw, **settings(FORTY, ABRUPT, 300, 8)),
            CLAIMS,
            batch=50,
        ),
        Experiment(
            "a rare atom on the edge, n = 2000, 2 bins",
            partial(atoms_draw, **BETWEEN),
            CLAIMS,
            batch=50,
        ),
        Experiment(
            "5 atoms, n = 60, 10 bins",
            partial(atoms_draw, **settings(FIVE, FIVE, 60, 10)),
            CLAIMS,
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "rows on the edge claimed too",
            partial(atoms_draw, claim_edges=True, **BETWEEN),
            CLAIMS[:1],
            batch=50,
        ),
        Experiment(
            "a quarter of the radius",
            partial(atoms_draw, factor=0.25, **settings(FORTY, FORTY**2, 300, 10)),
            CLAIMS[:1],
            batch=50,
        ),
    ),
)

THEOREMS = (DISCRETE,)
