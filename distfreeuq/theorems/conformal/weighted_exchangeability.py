"""Theorems on prediction sets under covariate shift with the true density ratio."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.quantiles import quantiles_with_atoms
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.nonconformity import nested_scores
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    COVARIATE_SHIFT,
    IID,
    KNOWN_DENSITY_RATIO,
    TIBSHIRANI_2019,
    VOVK_2012,
    WEIGHT_BOUND,
)
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.conformal.training_conditional import reach
from distfreeuq.theorems.draws.calibration_draws import (
    EXACT,
    exact_event,
    exactly,
    overshoot,
)
from distfreeuq.theorems.draws.pac_designs import covariate_shift_pac_designs
from distfreeuq.theorems.draws.set_designs import covariate_shift_designs
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ASSUMPTIONS = (COVARIATE_SHIFT, KNOWN_DENSITY_RATIO, IID, CHOSEN_ELSEWHERE)
HEAVY, LIGHT = 1.6, 0.4
"""Weights where x < 0 and where x > 0, in the scenario whose weights are bounded."""


# ------------------------------------------------------------------------ the scenarios

# Source x ~ N(0, 1). A coin decides the label where x < 0, though the classifier thinks
# it knows; there lies the target: x ~ N(-1, 1), or 80 % of the rows in place of half.


def classifier(x: FloatArray) -> FloatMatrix:
    """Return the probabilities of both labels, over-confident where x < 0."""
    one = 1.0 / (1.0 + np.exp(-2.0 * x))
    return np.stack([1.0 - one, one], axis=-1)


def labels_of(x: FloatArray, generator: np.random.Generator) -> IntArray:
    """Return labels given x, the same way in source and target."""
    one = np.where(x < 0, 0.5, classifier(x)[..., 1])
    return (generator.random(x.shape) < one).astype(np.int64)


def normal_ratio(x: FloatArray) -> FloatArray:
    """Return N(-1, 1) / N(0, 1) at x."""
    ratio: FloatArray = np.exp(-x - 0.5)
    return ratio


def bounded_ratio(x: FloatArray) -> FloatArray:
    """Return the weights of the scenario whose weights are bounded."""
    return np.where(x < 0, HEAVY, LIGHT)


def target_rows(
    ratio: Callable[[FloatArray], FloatArray],
    generator: np.random.Generator,
    size: int,
) -> FloatArray:
    """Return x of the target that belongs to a ratio."""
    x = generator.standard_normal(size)
    if ratio is normal_ratio:
        return x - 1.0
    return np.where(generator.random(size) < HEAVY / 2, -np.abs(x), np.abs(x))


# ---------------------------------------------------------------------------- the draws


def public(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float
) -> dict[str, BoolArray]:
    """Fit and predict by the public functions."""
    x = generator.standard_normal((n_draws, n))
    new = target_rows(normal_ratio, generator, n_draws)
    labels, new_labels = labels_of(x, generator), labels_of(new, generator)
    covered = np.empty(n_draws, dtype=np.bool_)
    for i, seed in enumerate(generator.integers(2**62, size=n_draws)):
        fit = covariate_shift_conformal(
            classifier(x[i]), labels[i], normal_ratio(x[i]), alpha=alpha, rng=int(seed)
        )
        row = slice(i, i + 1)
        sets = fit.predict(classifier(new[row]), normal_ratio(new[row]))
        covered[i] = sets.mask[0, new_labels[i]]
    return {"covered": covered}


def batch(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    ratio: Callable[[FloatArray], FloatArray] = normal_ratio,
    broken: str | None = None,
) -> dict[str, BoolArray]:
    """Threshold by the weighted quantile that the public function takes."""
    x = generator.standard_normal((n_draws, n))
    x = np.column_stack([x, target_rows(ratio, generator, n_draws)])
    scores = nested_scores(
        classifier(x.ravel()),
        labels_of(x.ravel(), generator),
        uniforms=generator.random(x.size),
    ).reshape(x.shape)
    weights = ratio(x)
    used, own = weights[:, :-1], weights[:, -1]
    if broken == "not weighted":
        used, own = np.ones_like(used), np.ones_like(own)
    elif broken == "inverted":
        used, own = 1.0 / used, 1.0 / own
    elif broken == "own mass dropped":
        own = np.zeros_like(own)
    elif broken == "own mass one":
        own = np.ones_like(own)
    elif broken == "sorted apart":
        used = np.sort(used, axis=1)
        scores[:, :-1] = np.sort(scores[:, :-1], axis=1)
    level = np.array([1.0 - alpha])
    thresholds = np.array(
        [
            quantiles_with_atoms(s, w, level, np.array([v]))[0]
            for s, w, v in zip(scores[:, :-1], used, own, strict=True)
        ]
    )
    covered: BoolArray = scores[:, -1] <= thresholds
    excess = overshoot(scores, weights, alpha)
    return {"covered": covered, EXACT: exact_event(covered, excess, generator)}


def rejection(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    confidence: float | None,
) -> dict[str, BoolArray]:
    """Return whether the target is covered by public fits given their rows.

    Half of the source's rows are heavy, with scores of distribution function t^3, the
    others light, with t^(1/2): coverage is a formula. The true label is 0, of
    probability 1 - score.
    """
    heavy = generator.random((n_draws, n)) < 0.5
    scores = generator.random((n_draws, n)) ** np.where(heavy, 1.0 / 3.0, 2.0)
    weights = np.where(heavy, HEAVY, LIGHT)
    thresholds = np.array(
        [
            covariate_shift_conformal(
                score,  # of label 1
                np.zeros(n, dtype=np.int64),
                weight,
                alpha=alpha,
                score="lac",
                confidence=confidence,
                weight_bound=None if confidence is None else HEAVY,
                rng=generator,
            ).thresholds[0]
            for score, weight in zip(scores, weights, strict=True)
        ]
    )
    t = np.minimum(thresholds, 1.0)
    coverage = 0.5 * (HEAVY * t**3 + LIGHT * t**0.5)
    return {"reached": coverage >= 1.0 - alpha}


# ------------------------------------------------------------------------- the theorems

COVERAGE = Theorem(
    name="covariate-shift-coverage",
    title="Weighted conformal sets cover under covariate shift",
    reference=f"{TIBSHIRANI_2019}, Corollary 1",
    statement=(
        "P(Y in C(X)) >= 1 - alpha for a new target row, and exactly 1 - alpha plus "
        "the mean overshoot of the weighted quantile if no two scores can tie."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=covariate_shift_designs,
    experiments=(
        *(
            Experiment(
                f"public: normal drift, n = {n}",
                partial(public, n=n, alpha=0.2),
                covers(0.2, 0.02),
                batch=400,
            )
            for n in (9, 40)
        ),
        *(
            Experiment(
                f"{name}, n = {n}, alpha = {alpha}",
                partial(batch, n=n, alpha=alpha, ratio=ratio),
                (*covers(alpha), exactly(alpha, 0.015)),
            )
            for name, ratio, n, alpha in (
                ("normal drift", normal_ratio, 30, 0.1),
                ("normal drift", normal_ratio, 100, 0.15),
                ("two weights", bounded_ratio, 40, 0.1),
            )
        ),
    ),
    controls=(
        *(
            Experiment(
                name,
                partial(batch, n=30, alpha=0.1, broken=broken),
                covers(0.1),
            )
            for name, broken in (
                ("exchangeable sets under covariate shift", "not weighted"),
                ("weights inverted", "inverted"),
                ("the new row's own mass dropped", "own mass dropped"),
            )
        ),
        Experiment(
            "the new row's weight taken for the mean",
            partial(batch, n=9, alpha=0.2, broken="own mass one"),
            covers(0.2),
        ),
        Experiment(
            "weights sorted apart from their scores",
            partial(batch, n=30, alpha=0.1, broken="sorted apart"),
            (exactly(0.1),),
        ),
    ),
)

PAC = Theorem(
    name="covariate-shift-pac",
    title="PAC thresholds under covariate shift",
    reference=f"theory page, 5; {VOVK_2012}",
    statement=(
        "with probability >= 1 - delta over the calibration draw, coverage of target "
        "rows given the calibration rows is >= 1 - alpha, by rejection sampling and "
        "the PAC rank."
    ),
    assumptions=(*ASSUMPTIONS, WEIGHT_BOUND),
    family=FAMILY,
    designs=covariate_shift_pac_designs,
    experiments=tuple(
        Experiment(
            f"public: n = {n}, confidence = {confidence}",
            partial(rejection, n=n, alpha=0.1, confidence=confidence),
            reach(confidence, 0.03),
            batch=400,
        )
        for n, confidence in ((200, 0.9), (400, 0.6))
    ),
    controls=(
        Experiment(
            "thresholds that are right on average",
            partial(rejection, n=200, alpha=0.1, confidence=None),
            reach(0.9, 0.03),
            batch=400,
        ),
    ),
)

THEOREMS = (COVERAGE, PAC)
