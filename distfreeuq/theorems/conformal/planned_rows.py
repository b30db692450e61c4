"""The theorem behind `plan`: so many rows do what was asked for."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.conformal.planning.sample_size import plan
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import CHOSEN_ELSEWHERE, NEW_ROW_IID, VOVK_2012
from distfreeuq.theorems.conformal.split_coverage import FAMILY
from distfreeuq.theorems.draws import procedure_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.2
TOLERANCE = 0.05


def enough(
    generator: np.random.Generator,
    n_draws: int,
    *,
    confidence: float | None,
    share: float = 1.0,
    more: int = 0,
) -> dict[str, BoolArray]:
    """Fit the planned number of rows; the score of a row is uniform.

    Coverage of a threshold t is then t itself. `share` of the rows are fitted.
    """
    n = int(share * plan(ALPHA, confidence, tolerance=TOLERANCE).total) + more
    reached = np.empty(n_draws, dtype=np.bool_)
    floor = 1.0 - ALPHA - (TOLERANCE if confidence is None else 0.0)
    for i, scores in enumerate(generator.random((n_draws, n))):
        own = np.stack([1.0 - scores, scores], axis=1)
        fit = split_conformal(
            own,
            np.zeros(n, dtype=np.int64),
            alpha=ALPHA,
            score="lac",
            confidence=confidence,
        )
        reached[i] = fit.thresholds[0] >= floor
    return {"reached": reached}


def classes(
    generator: np.random.Generator, n_draws: int, *, share: float = 1.0
) -> dict[str, BoolArray]:
    """Return whether a sample of the planned total holds every class's rows."""
    prior = [0.7, 0.2, 0.1]
    result = plan(0.1, source_prior=prior, assurance=0.9)
    counts = generator.multinomial(int(share * result.total), prior, size=n_draws)
    return {"reached": np.asarray((counts >= result.needed).all(axis=1))}


def _at_least(level: float) -> tuple[Claim, ...]:
    return (Claim("reached", at_least=level, tolerance=0.02),)


PLAN = Theorem(
    name="planned-rows",
    title="So many calibration rows as planned do what was asked for",
    reference=f"{VOVK_2012}: Beta law of coverage, for numbers of rows",
    statement=(
        "With the planned number of rows, or more, coverage given them is >= 1 - alpha "
        "- tolerance with probability >= 0.95 (>= 1 - alpha with that of confidence=); "
        "the total holds every class's rows with the probability of assurance=."
    ),
    assumptions=(NEW_ROW_IID, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=procedure_designs.plan_designs,
    experiments=(
        Experiment("tolerance", partial(enough, confidence=None), _at_least(0.95), 500),
        Experiment(
            "seven rows more",
            partial(enough, confidence=None, more=7),
            _at_least(0.95),
            500,
        ),
        Experiment("confidence", partial(enough, confidence=0.9), _at_least(0.9), 500),
        Experiment("every class", classes, _at_least(0.9)),
    ),
    controls=(
        Experiment(
            "half of the rows",
            partial(enough, confidence=None, share=0.4),
            _at_least(0.95),
            500,
        ),
        Experiment(
            "three quarters of the total", partial(classes, share=0.75), _at_least(0.9)
        ),
    ),
)

THEOREMS = (PLAN,)
