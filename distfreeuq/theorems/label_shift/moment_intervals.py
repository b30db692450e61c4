"""Theorems on MLLS's intervals, which need no calibration, and on its test of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.hausman_test import compare_estimates
from distfreeuq.label_shift.inference.moment_estimate import moments_of_posteriors
from distfreeuq.label_shift.inference.score_intervals import score_box, score_ends
from distfreeuq.label_shift.likelihood_solution import solve_likelihood
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.label_shift.scalings import fit_scaling
from distfreeuq.references import CALIBRATED, CLASSES_TOLD_APART
from distfreeuq.theorems.draws.weight_draws import (
    Change,
    Pair,
    gaussian_pairs,
    uneven,
    within,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import ASSUMPTIONS, FAMILY

ALPHA = 0.1
COMMON = ((0.1, 0.6, 0.3), (0.3, 0.2, 0.5))
RARE = ((0.04, 0.66, 0.3), (0.3, 0.01, 0.69))
"""Class proportions of source and target; 20 of 500 source rows are of class 0."""

Ends = Callable[[Pair], tuple[FloatMatrix, FloatMatrix]]
"""Intervals of each class by itself, and of all at once."""


# ---------------------------------------------------------------------------- the draws


def coverage(
    generator: np.random.Generator,
    n_draws: int,
    *,
    ends: Ends,
    priors: tuple[tuple[float, ...], tuple[float, ...]],
    n: int,
    m: int,
) -> dict[str, BoolArray]:
    """Ask whether intervals hold each weight, and all of them at once."""
    weight = np.array(priors[1]) / np.array(priors[0])
    drawn = gaussian_pairs(generator, n_draws, priors=priors, n=n, m=m, change=uneven)
    each, every = [], []
    for pair in drawn:
        single, box = ends(pair)
        each.append(within(single, weight))
        every.append(within(box, weight).all())
    table = np.array(each)
    held = {f"holds weight {k}": table[:, k] for k in range(weight.size)}
    return {**held, "region holds all": np.array(every)}


def calibration_test(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    change: Change | None = None,
    calibrate: str = "bcts",
) -> dict[str, BoolArray]:
    """Test for calibration."""
    drawn = gaussian_pairs(generator, n_draws, priors=COMMON, n=n, m=m, change=change)
    p = []
    for pair in drawn:
        samples = Samples(*pair).rows
        calibration = fit_scaling(calibrate, samples.source)
        found = solve_likelihood(samples, calibration, "predictions")
        test = compare_estimates(found.calibrated, calibration, found.weight)
        p.append(test.p_value)
    return {"p <= 0.1": np.array(p) <= 0.1}


# ---------------------------------------------------------- intervals, and broken ones


def public(pair: Pair) -> tuple[FloatMatrix, FloatMatrix]:
    """Return what a fit offers."""
    fit = mlls(*pair)
    box = fit.region(ALPHA).ranges()
    return fit.confint(ALPHA), np.column_stack([box.low, box.high])


def moment_equations(
    pair: Pair, calibrate: str = "bcts"
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the same without the rest of the fit."""
    samples = Samples(*pair).rows
    calibration = fit_scaling(calibrate, samples.source)
    found = solve_likelihood(samples, calibration, "predictions")
    moments, _ = moments_of_posteriors(found.calibrated, found.fit.prior)
    return score_ends(moments, ALPHA), score_box(moments, ALPHA)


def of_the_likelihood(pair: Pair) -> tuple[FloatMatrix, FloatMatrix]:
    """Take the classifier for calibrated after BCTS."""
    fit = mlls(*pair)
    return (
        fit.confint(ALPHA, "likelihood"),
        fit.confint(ALPHA / len(fit.classes), "likelihood"),
    )


def without_bonferroni(pair: Pair) -> tuple[FloatMatrix, FloatMatrix]:
    """Take the intervals of single classes for a region."""
    single, _ = moment_equations(pair)
    return single, single


def covers(tolerance: float) -> tuple[Claim, ...]:
    """Return the claims of intervals and region."""
    return (
        *(
            Claim(f"holds weight {k}", at_least=1.0 - ALPHA, tolerance=tolerance)
            for k in range(3)
        ),
        Claim("region holds all", at_least=1.0 - ALPHA, tolerance=tolerance),
    )


INTERVALS = Theorem(
    name="mlls-intervals",
    title="MLLS's intervals and region cover in the limit, calibrated or not",
    reference="score intervals of the moment equations; theory page, 4.6",
    statement=(
        "P(w_k in interval) -> 1 - alpha as n, m -> infinity, and P(w in region(delta))"
        " >= 1 - delta in the limit, whether or not the classifier is calibrated "
        "(asymptotic: no claim at a given sample size); here with one that no "
        "temperature and bias calibrate, at n = 500 to 2000."
    ),
    assumptions=(*ASSUMPTIONS, CLASSES_TOLD_APART),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "public function, n = m = 1000",
            partial(coverage, ends=public, priors=COMMON, n=1000, m=1000),
            covers(0.1),
            batch=25,
        ),
        Experiment(
            "n = 2000, m = 700",
            partial(coverage, ends=moment_equations, priors=COMMON, n=2000, m=700),
            covers(0.07),
            batch=50,
        ),
        Experiment(
            "a rare class, n = 500, m = 10000",
            partial(coverage, ends=moment_equations, priors=RARE, n=500, m=10_000),
            covers(0.1),
            batch=25,
        ),
        *(
            Experiment(
                f"after {name}, n = m = 1000",
                partial(
                    coverage,
                    ends=partial(moment_equations, calibrate=calibrate),
                    priors=COMMON,
                    n=1000,
                    m=1000,
                ),
                covers(0.1),
                batch=25,
            )
            for name, calibrate in (
                ("temperature scaling", "ts"),
                ("vector scaling", "vs"),
                ("no-bias vector scaling", "nbvs"),
            )
        ),
    ),
    controls=(
        Experiment(
            "intervals of the likelihood",
            partial(coverage, ends=of_the_likelihood, priors=COMMON, n=4000, m=4000),
            covers(0.1),
            batch=10,
        ),
        Experiment(
            "region of single intervals",
            partial(coverage, ends=without_bonferroni, priors=COMMON, n=1000, m=1000),
            covers(0.1),
            batch=25,
        ),
    ),
)

CALIBRATION_TEST = Theorem(
    name="mlls-calibration-test",
    title="MLLS's test of calibration has its level, in the limit",
    reference="Hausman (1978), with labels drawn from the forecasts; theory page, 4.7",
    statement=(
        "If the probabilities are calibrated after the scaling, P(p-value <= a) -> a "
        "(asymptotic: no claim at a given sample size); here at n = m = 500 and at "
        "n = 300, m = 3000 after BCTS, and at n = m = 500 after the others."
    ),
    assumptions=(*ASSUMPTIONS, f"after the scaling {CALIBRATED}"),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=tuple(
        Experiment(
            f"{name.upper()}, n = {n}, m = {m}",
            partial(calibration_test, n=n, m=m, calibrate=name),
            (Claim("p <= 0.1", at_most=0.1, tolerance=0.08),),
            batch=50,
        )
        for name, n, m in (
            ("bcts", 500, 500),
            ("bcts", 300, 3000),
            ("ts", 500, 500),
            ("vs", 500, 500),
            ("nbvs", 500, 500),
        )
    ),
    controls=(
        Experiment(
            "a classifier that BCTS does not calibrate",
            partial(calibration_test, n=500, m=500, change=uneven),
            (Claim("p <= 0.1", at_most=0.1, tolerance=0.08),),
            batch=50,
        ),
    ),
)

THEOREMS = (INTERVALS, CALIBRATION_TEST)
