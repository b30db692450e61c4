"""The theorem on class proportions that are counted from the calibration labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntArray
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.scores.prevalence_adjusted import PAS
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import CHOSEN_ELSEWHERE, EXCHANGEABLE
from distfreeuq.scenarios.scenario import Domain
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws import procedure_designs
from distfreeuq.theorems.draws.calibration_draws import covered_by_fits, scenario_rows
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.2


def draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str,
    n: int,
    fit: Callable[..., ConformalResult],
    domain: Domain = "source",
) -> dict[str, BoolArray]:
    """Fit by the public functions, and predict one row each."""
    covered, _ = covered_by_fits(
        generator,
        n_draws,
        partial(fit, scenario=scenario),
        source=partial(scenario_rows, scenario=scenario),
        target=partial(scenario_rows, scenario=scenario, domain=domain),
        n=n,
    )
    return {"covered": covered}


def counted(
    probs: FloatMatrix, labels: IntArray, *, scenario: str, **options: Any
) -> ConformalResult:
    """Count the classes' rows, as the public function does."""
    fit: ConformalResult = split_conformal(
        probs, labels, alpha=ALPHA, score=PAS(), **options
    )
    return fit


def shifted(
    probs: FloatMatrix, labels: IntArray, *, scenario: str, **options: Any
) -> ConformalResult:
    """Do the same under label shift, with known weights."""
    weights = scenarios.get(scenario).label_weight
    fit: ConformalResult = label_shift_conformal(
        probs, labels, weights, alpha=ALPHA, score=PAS(), **options
    )
    return fit


def wrong_way_round(
    probs: FloatMatrix, labels: IntArray, *, scenario: str, **options: Any
) -> ConformalResult:
    """Divide where the theorem multiplies: the new label's score grows."""
    counts = np.bincount(labels, minlength=probs.shape[1])
    prior = 1.0 / (counts + 0.01) ** 3
    fit: ConformalResult = split_conformal(
        probs, labels, alpha=ALPHA, score=PAS(prior), **options
    )
    return fit


COUNTED = Theorem(
    name="counted-proportions-coverage",
    title="PAS with proportions counted from the calibration labels covers",
    reference="theory page, 1.7",
    statement=(
        "P(Y in C(X)) >= 1 - alpha for the score -pi_y / (n_y + 1), n_y the number of "
        "calibration labels y; also with known weights under label shift."
    ),
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=procedure_designs.counted_designs,
    experiments=(
        Experiment(
            "public: heavy imbalance, n = 15",
            partial(draw, scenario="heavy-imbalance", n=15, fit=counted),
            covers(ALPHA, 0.03),
            400,
        ),
        Experiment(
            "public: fifty classes, n = 40",
            partial(draw, scenario="fifty-classes", n=40, fit=counted),
            covers(ALPHA, 0.03),
            400,
        ),
        Experiment(
            "public: three Gaussians, label shift, n = 30",
            partial(
                draw, scenario="three-gaussians", n=30, fit=shifted, domain="target"
            ),
            covers(ALPHA, 0.03),
            400,
        ),
    ),
    controls=(
        Experiment(
            "counted the wrong way round",
            partial(draw, scenario="fifty-classes", n=40, fit=wrong_way_round),
            covers(ALPHA, 0.03),
            400,
        ),
    ),
)

THEOREMS = (COUNTED,)
