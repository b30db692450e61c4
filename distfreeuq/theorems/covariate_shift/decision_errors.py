"""What `decision_calibration` prints: a bound on the target's squared error."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray
from distfreeuq.covariate_shift.decisions.decision_confidence import (
    decision_calibration,
)
from distfreeuq.exceptions import FitAtBoundWarning
from distfreeuq.references import (
    CALIBRATION_IID,
    COVARIATE_SHIFT,
    FITTED_ELSEWHERE,
    TRUE_BOUNDED_RATIO,
)
from distfreeuq.theorems.covariate_shift.weighted_fits import FOUR_POINTS
from distfreeuq.theorems.covariate_shift.weighted_losses import FAMILY
from distfreeuq.theorems.draws.on_target import shift_error_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

_ALPHA = 0.2
_DECISIONS = np.array([0, 0, 1, 0])
"""Of a classifier that is given, and wrong at the last point, common in the target."""
_WEIGHT_BOUND = float(FOUR_POINTS.ratio.max())
BOUNDED = "the bound is that of the target"
FRESH = "that of other rows is, too"


def bound_of_decisions(
    generator: np.random.Generator, n_draws: int, *, n: int, broken: str | None = None
) -> dict[str, BoolArray]:
    """Ask whether the printed bounds are above the target's squared error.

    The squared error of the confidence in whether the decision is right is, of two
    classes, that of the probability of class 1: a sum over the points. It is the
    squared calibration error and a variance, so that its bound is the harder claim.

    Broken: rows "not weighted"; a "mean" of the same rows in place of a bound.
    """
    of_points = FOUR_POINTS.ratio
    bounded, fresh = np.empty(n_draws, np.bool_), np.empty(n_draws, np.bool_)
    for i in range(n_draws):
        points, labels = FOUR_POINTS.rows(generator, n, FOUR_POINTS.p)
        weights = np.ones(n) if broken == "not weighted" else of_points[points]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitAtBoundWarning)
            fit = decision_calibration(
                FOUR_POINTS.logits[points],
                labels,
                _DECISIONS[points],
                sample_weight=weights,
                weight_bound=_WEIGHT_BOUND,
                alpha=_ALPHA,
            )
        other, truth = FOUR_POINTS.rows(generator, n, FOUR_POINTS.p)
        judged = fit.evaluate(
            FOUR_POINTS.logits[other],
            truth,
            _DECISIONS[other],
            sample_weight=np.ones(n) if broken else of_points[other],
            weight_bound=_WEIGHT_BOUND,
            alpha=_ALPHA,
        )
        one = 1.0 / (1.0 + np.exp(-fit.inverse_temperature * FOUR_POINTS.logits))
        error = float(FOUR_POINTS.losses(one) @ FOUR_POINTS.q)
        assert fit.error_bound is not None and judged.error_bound is not None
        printed = (fit.error_bound, judged.error_bound)
        if broken == "mean":
            printed = (fit.loss_after, judged.squared_error)
        bounded[i], fresh[i] = (error <= bound for bound in printed)
    return {BOUNDED: bounded, FRESH: fresh}


HOLDS = tuple(
    Claim(event, at_least=1.0 - _ALPHA, tolerance=0.1) for event in (BOUNDED, FRESH)
)

DECISION_ERROR = Theorem(
    name="decision-error-bound",
    title="The squared error of a decision's confidence is below its printed bound",
    reference="theory page, 7.5 and 2.5",
    statement=(
        "P(E_q(confidence - 1{right})^2 <= bound) >= 1 - alpha, for the temperature "
        "that the same rows chose, and on other rows; so is E_q(confidence - c)^2."
    ),
    assumptions=(
        CALIBRATION_IID,
        FITTED_ELSEWHERE,
        COVARIATE_SHIFT,
        TRUE_BOUNDED_RATIO,
    ),
    family=FAMILY,
    designs=shift_error_designs.decision_designs,
    experiments=(
        Experiment(
            "four points, n = 60", partial(bound_of_decisions, n=60), HOLDS, batch=25
        ),
    ),
    controls=tuple(
        Experiment(
            name, partial(bound_of_decisions, n=n, broken=broken), HOLDS, batch=25
        )
        for name, broken, n in (
            ("rows not weighted", "not weighted", 2000),
            ("the rows' mean error in place of a bound", "mean", 60),
        )
    ),
)

THEOREMS = (DECISION_ERROR,)
