"""What `choose_calibration` prints: scores by weighted cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.covariate_shift.choosing.weighted_cross_validation import (
    choose_calibration,
)
from distfreeuq.references import (
    COVARIATE_SHIFT,
    INPUTS_OVERLAP,
    SUGIYAMA_2007,
    TRUE_DENSITY_RATIO,
)
from distfreeuq.theorems.covariate_shift.weighted_fits import ROWS
from distfreeuq.theorems.covariate_shift.weighted_losses import FAMILY, never
from distfreeuq.theorems.draws.finite_shift import SAME, FiniteShift
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

DIFFERS = "an expected score is not the target's loss"


def smoothed_share(
    logits: FloatMatrix, labels: IntArray, sample_weight: FloatArray | None = None
) -> Callable[[FloatMatrix], FloatArray]:
    """Calibrate by the weighted share of class 1, with one row of each class added."""
    weights = np.ones(len(labels)) if sample_weight is None else sample_weight
    share = float((1.0 + weights @ labels) / (2.0 + weights.sum()))
    return lambda new: np.full(len(new), share)


def half_way(
    logits: FloatMatrix, labels: IntArray, sample_weight: FloatArray | None = None
) -> Callable[[FloatMatrix], FloatArray]:
    """Calibrate half way from the forecast to that share."""
    share = smoothed_share(logits, labels, sample_weight)

    def mixed(new: FloatMatrix) -> FloatArray:
        forecast = 1.0 / (1.0 + np.exp(new[:, 0] - new[:, 1]))
        return np.asarray(0.5 * forecast + 0.5 * share(new))

    return mixed


def expected_scores(
    generator: np.random.Generator, n_draws: int, *, weighted: bool = True
) -> dict[str, BoolArray]:
    """Sum the scores of all samples of two rows, times their probabilities.

    Each draw is a pair of random laws on two points. The target's loss is that of fits
    to one row, of which the score is an average over the two.
    """
    fits = (smoothed_share, half_way)
    differs = np.empty(n_draws, np.bool_)
    for i in range(n_draws):
        p, q, one, said = generator.uniform(0.1, 0.9, 4).tolist()
        shift = FiniteShift(
            (p, 1 - p),
            (q, 1 - q),
            (one, float(generator.uniform(0.1, 0.9))),
            (said, float(generator.uniform(0.1, 0.9))),
        )
        outcomes = list(product((0, 1), (0, 1)))  # of point and label
        chance = {
            (x, y): shift.p[x] * (shift.positive[x] if y else 1 - shift.positive[x])
            for x, y in outcomes
        }
        expected, truth = np.zeros(2), np.zeros(2)
        for first, second in product(outcomes, outcomes):
            points, labels = np.array([first, second]).T
            found = choose_calibration(
                shift.logits[points],
                labels,
                None,
                None,
                list(fits),
                ratio=shift.ratio[points] if weighted else None,
                n_folds=2,
                rng=0,
            )
            expected += chance[first] * chance[second] * found.scores
        both = np.column_stack([np.zeros(2), shift.logits])
        for x, y in outcomes:
            weight = shift.ratio[[x]] if weighted else np.ones(1)
            for j, fit in enumerate(fits):
                forecast = fit(both[[x]], np.array([y]), weight)(both)
                loss = 2.0 * shift.losses(forecast) @ shift.q
                truth[j] += chance[x, y] * float(loss)
        differs[i] = not np.allclose(expected, truth, rtol=SAME)
    return {DIFFERS: differs}


UNBIASED = Theorem(
    name="weighted-cross-validation",
    title="Weighted cross-validation is unbiased for the target's loss",
    reference=f"{SUGIYAMA_2007}, section 3 (theory page, 6.9)",
    statement=(
        "The expected mean of w(x) times the loss of fits without the row's fold is "
        "E_q of the loss of fits to all folds but one, for every calibrator and with "
        "any weights in the fits; summed over all samples of two rows."
    ),
    assumptions=(COVARIATE_SHIFT, INPUTS_OVERLAP, TRUE_DENSITY_RATIO, ROWS),
    family=FAMILY,
    experiments=(
        Experiment(
            "random laws on two points",
            expected_scores,
            never(DIFFERS, tolerance=0.3),
            batch=10,
        ),
    ),
    controls=(
        Experiment(
            "scores not weighted",
            partial(expected_scores, weighted=False),
            never(DIFFERS, tolerance=0.3),
            batch=10,
        ),
    ),
)

THEOREMS = (with_instances(UNBIASED),)
