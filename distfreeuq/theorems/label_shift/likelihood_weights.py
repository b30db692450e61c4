"""Theorems on weights of maximum likelihood: the optimum, its limit, its intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.inference.delta_method import (
    normal_intervals,
    standard_errors,
)
from distfreeuq.label_shift.inference.likelihood_delta_method import (
    covariance_of_weights,
    curvature_at,
)
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.label_shift.scalings.bcts import fit_bcts
from distfreeuq.references import CALIBRATED, TOLD_APART
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.draws.weight_draws import (
    Change,
    Pair,
    by_class,
    overconfident,
    pairs,
    true_weight,
    within,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import ASSUMPTIONS, FAMILY

ALPHA = 0.1
CALIBRATED_OR_BCTS = f"{CALIBRATED}, by themselves or after BCTS"

Weights = Callable[[Pair], FloatArray]
Intervals = Callable[[Pair], FloatMatrix]

uncalibrated = partial(mlls, calibrate=None)
with_labels = partial(mlls, calibrate=None, prior="labels")


# ---------------------------------------------------------------------------- the draws


def optimality(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str,
    n: int,
    fit: Callable[..., LabelShiftResult] = mlls,
    change: Change | None = None,
    steps: int | None = None,
) -> dict[str, BoolArray]:
    """Ask whether the conditions of a maximum are breached by more than 1e-6.

    `steps` of EM are the broken variant.
    """
    breached = np.empty(n_draws, dtype=np.bool_)
    drawn = pairs(generator, n_draws, scenario=scenario, n=n, m=n, change=change)
    for i, (probs, labels, target) in enumerate(drawn):
        result = fit(probs, labels, target)
        p, q, f = result.source_prior, result.target_prior, target
        if result.calibration is not None:
            f = result.calibration.apply(target)
        if steps is not None:
            q = expectation_maximisation(f, p, steps)
        gradient = _gradient(f, p, q)
        breach = np.where(q > 0.0, np.abs(gradient - 1.0), gradient - 1.0)
        breached[i] = breach[p > 0.0].max() > 1e-6
    return {"not the maximum": breached}


def error(
    generator: np.random.Generator,
    n_draws: int,
    *,
    weights: Weights,
    n: int,
    change: Change | None = None,
) -> dict[str, BoolArray]:
    """Ask whether all estimates are near the truth."""
    truth = true_weight("three-gaussians")
    drawn = pairs(generator, n_draws, n=n, m=n, change=change)
    errors = [np.abs(weights(pair) - truth).max() for pair in drawn]
    return {"near": np.array(errors) <= NEAR}


NEAR = 0.4


def coverage(
    generator: np.random.Generator,
    n_draws: int,
    *,
    intervals: Intervals,
    n: int,
    m: int | None = None,
    change: Change | None = None,
) -> dict[str, BoolArray]:
    """Ask whether intervals hold each weight."""
    truth = true_weight("three-gaussians")
    drawn = pairs(generator, n_draws, n=n, m=n if m is None else m, change=change)
    return by_class([within(intervals(pair), truth) for pair in drawn])


# --------------------------------------------------------- estimates, and broken ones


def weights_of(fit: Callable[..., LabelShiftResult], pair: Pair) -> FloatArray:
    """Return the package's weights."""
    return fit(*pair).label_weight


def intervals_of(fit: Callable[..., LabelShiftResult], pair: Pair) -> FloatMatrix:
    """Return the package's intervals of the likelihood."""
    return fit(*pair).confint(ALPHA, "likelihood")


def _gradient(f: FloatMatrix, p: FloatArray, q: FloatArray) -> FloatArray:
    """Return G_k = mean f_k / (p_k sum_j q_j f_j / p_j), 0 where p_k is 0."""
    ratio = np.divide(f, p, out=np.zeros_like(f, dtype=np.float64), where=p > 0.0)
    gradient: FloatArray = (ratio / (ratio @ q)[:, None]).mean(axis=0)
    return gradient


def expectation_maximisation(f: FloatMatrix, p: FloatArray, steps: int) -> FloatArray:
    """Return q after some steps of EM from p."""
    q = p
    for _ in range(steps):
        q = q * _gradient(f, p, q)
    return q


def stopped_early(pair: Pair) -> FloatArray:
    """Return the weights after three steps of EM."""
    probs, _, target = pair
    p = probs.mean(axis=0)
    weights: FloatArray = expectation_maximisation(target, p, 3) / p
    return weights


def one_sample_calibrated(pair: Pair) -> FloatArray:
    """Return the weights where BCTS is applied to the target alone."""
    probs, labels, target = pair
    p = probs.mean(axis=0)
    calibrated = fit_bcts(probs, labels).apply(target)
    weights: FloatArray = maximize_likelihood(calibrated, p).prior / p
    return weights


def without_source_noise(pair: Pair) -> FloatMatrix:
    """Return intervals as if the source's prior were known."""
    fit = with_labels(*pair)
    assert fit.raw is not None
    target = RowsInMemory.of(pair[2])
    curvature = curvature_at(target, fit.raw, fit.source_prior)
    nothing = np.zeros((fit.raw.size, fit.raw.size))
    covariance = covariance_of_weights(curvature, nothing, fit.n)
    return normal_intervals(fit.raw, standard_errors(covariance, fit.raw.size), ALPHA)


OPTIMUM = Theorem(
    name="mlls-optimum",
    title="MLLS is the maximum of the likelihood",
    reference="Kuhn-Tucker conditions; theory page, 3",
    statement=(
        "G_k = mean f_k / (p_k sum_j q_j f_j / p_j) <= 1 for every class, and = 1 "
        "where q_k > 0: necessary and sufficient for a maximum, and met to 1e-6."
    ),
    assumptions=("none: a property of what is computed",),
    family=FAMILY,
    experiments=tuple(
        Experiment(
            f"{scenario.replace('-', ' ')}{', BCTS' if change else ''}, n = m = {n}",
            partial(
                optimality,
                scenario=scenario,
                n=n,
                change=change,
                fit=mlls if change else uncalibrated,
            ),
            (Claim("not the maximum", at_most=0.0, tolerance=0.07),),
            batch=50,
        )
        for scenario, n, change in (
            ("three-gaussians", 200, None),
            ("three-gaussians", 200, overconfident),
            ("ties-everywhere", 100, None),
            ("absent-class", 300, None),
            ("wide-weights", 500, None),
            ("fifty-classes", 300, None),
        )
    ),
    controls=(
        Experiment(
            "EM stopped after 3 steps",
            partial(
                optimality,
                scenario="three-gaussians",
                n=200,
                fit=uncalibrated,
                steps=3,
            ),
            (Claim("not the maximum", at_most=0.0, tolerance=0.07),),
            batch=50,
        ),
    ),
)

IS_NEAR = (Claim("near", at_least=0.95, tolerance=0.2),)

CONSISTENCY = Theorem(
    name="mlls-consistency",
    title="MLLS's weights tend to the true ones",
    reference="Saerens et al. (2002); Alexandari et al. (2020); theory page, 3",
    statement=(
        "w_hat -> w in probability as n, m -> infinity: here all weights are within "
        f"{NEAR} of the truth at n = m = 12000."
    ),
    assumptions=(*ASSUMPTIONS, CALIBRATED_OR_BCTS, TOLD_APART),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=tuple(
        Experiment(
            name,
            partial(error, weights=partial(weights_of, fit), n=12_000, change=change),
            IS_NEAR,
            batch=10,
        )
        for name, fit, change in (
            ("calibrated classifier, mean predictions", uncalibrated, None),
            ("calibrated classifier, label frequencies", with_labels, None),
            ("over-confident classifier, BCTS", mlls, overconfident),
        )
    ),
    controls=tuple(
        Experiment(
            name,
            partial(error, weights=weights, n=12_000, change=change),
            IS_NEAR,
            batch=10,
        )
        for name, weights, change in (
            ("EM stopped after 3 steps", stopped_early, None),
            (
                "over-confident classifier, not calibrated",
                partial(weights_of, uncalibrated),
                overconfident,
            ),
            (
                "BCTS applied to one sample only",
                one_sample_calibrated,
                overconfident,
            ),
        )
    ),
)

COVERS = tuple(
    Claim(f"holds weight {k}", equals=1.0 - ALPHA, tolerance=0.13) for k in range(3)
)

INTERVALS = Theorem(
    name="mlls-likelihood-intervals",
    title="Intervals of the likelihood cover in the limit, if calibrated",
    reference="delta method; theory page, 4.8",
    statement=(
        "P(w_k in interval) -> 1 - alpha as n, m -> infinity (asymptotic: no claim at "
        "a given sample size); here at n = m = 800."
    ),
    assumptions=(*ASSUMPTIONS, CALIBRATED_OR_BCTS, TOLD_APART),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        *(
            Experiment(
                name,
                partial(
                    coverage, intervals=partial(intervals_of, fit), n=800, change=change
                ),
                COVERS,
                batch=25,
            )
            for name, fit, change in (
                ("calibrated classifier, mean predictions", uncalibrated, None),
                ("calibrated classifier, label frequencies", with_labels, None),
                ("over-confident classifier, BCTS", mlls, overconfident),
            )
        ),
        Experiment(
            "calibrated classifier, mean predictions, n = 500, m = 2000",
            partial(
                coverage, intervals=partial(intervals_of, uncalibrated), n=500, m=2000
            ),
            COVERS,
            batch=25,
        ),
    ),
    controls=(
        Experiment(
            "over-confident classifier, not calibrated",
            partial(
                coverage,
                intervals=partial(intervals_of, uncalibrated),
                n=800,
                change=overconfident,
            ),
            COVERS,
            batch=25,
        ),
        Experiment(
            "source's prior taken for known",
            partial(coverage, intervals=without_source_noise, n=800),
            COVERS,
            batch=25,
        ),
    ),
)

THEOREMS = (with_instances(OPTIMUM), CONSISTENCY, INTERVALS)
