"""Limits: intervals of temperatures and of vector scaling, by sandwich errors."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from scipy import optimize, special

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.calibration.platt import platt_scaling
from distfreeuq.calibration.results import coefficients
from distfreeuq.calibration.temperature import temperature_scaling
from distfreeuq.calibration.vector import vector_scaling
from distfreeuq.references import IID
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem
from distfreeuq.theorems.scaling.excess_risk import FAMILY, N_CLASSES, population

LEVEL = 0.95


@cache
def row_weights() -> FloatArray:
    """Return an importance of every pair of the population: the same for all labels."""
    n_rows = population().masses.size // N_CLASSES
    weights = np.exp(np.random.default_rng(1).normal(0.0, 1.0, n_rows))
    return np.repeat(weights, N_CLASSES)


def best_temperature(importance: FloatArray) -> float:
    """Return the temperature of the population's smallest loss, by a line search."""
    pop = population()
    masses, labels = pop.masses * importance, pop.labels[:, None]

    def loss(temperature: float) -> float:
        z = pop.logits / temperature
        own = np.take_along_axis(z, labels, axis=1)[:, 0]
        return float(masses @ (special.logsumexp(z, axis=1) - own))

    found = optimize.minimize_scalar(loss, bounds=(0.1, 20.0), method="bounded")
    return float(found.x)


def likelihood_error(
    fit: Any, logits: FloatMatrix, weights: FloatArray | None
) -> float:
    """Return the temperature's standard error if weights were numbers of copies.

    And the model true: the inverse of the curvature, without the scores.
    """
    alpha = fit.inverse_temperature
    probs = special.softmax(alpha * logits, axis=1)
    mean = (probs * logits).sum(axis=1)
    variance = (probs * logits**2).sum(axis=1) - mean**2
    curvature = variance.sum() if weights is None else weights @ variance
    return float(1.0 / np.sqrt(curvature) / alpha**2)


def temperature_intervals(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    weighted: bool,
    fit_weighted: bool = True,
    sandwich: bool = True,
) -> dict[str, BoolArray]:
    """Return whether intervals hold the population's best temperature.

    Weights are a function of the row, times noise that is independent of everything.
    """
    pop = population()
    importance = row_weights() if weighted else np.ones(pop.masses.size)
    best = best_temperature(importance)
    estimates, errors = np.empty((2, n_draws))
    for i in range(n_draws):
        rows = generator.choice(pop.masses.size, n, p=pop.masses)
        logits, labels = pop.logits[rows], pop.labels[rows]
        weights = None
        if weighted and fit_weighted:
            weights = importance[rows] * generator.standard_exponential(n)
        fit = temperature_scaling(logits, labels, sample_weight=weights)
        estimates[i], errors[i] = fit.temperature, fit.std_err
        if not sandwich:
            share = None if weights is None else weights / weights.mean()
            errors[i] = likelihood_error(fit, logits, share)
    table = coefficients(estimates, errors, 1.0, positive=True)
    return {"covered": (table["low"] <= best) & (best <= table["high"])}


def vector_intervals(
    generator: np.random.Generator, n_draws: int, *, n: int, factor: float = 1.0
) -> dict[str, BoolArray]:
    """Return whether intervals hold the population's best scale and bias of class 0."""
    pop = population()
    best = vector_scaling(pop.logits, pop.labels, sample_weight=pop.masses)
    truth = np.array([best.scale[0], best.bias[0]])
    estimates, errors = np.empty((2, n_draws, 2))
    for i in range(n_draws):
        rows = generator.choice(pop.masses.size, n, p=pop.masses)
        fit = vector_scaling(pop.logits[rows], pop.labels[rows])
        estimates[i] = fit.scale[0], fit.bias[0]
        errors[i] = factor * fit.std_err[:, 0]
    table = coefficients(estimates, errors, 0.0)
    covered = (table["low"] <= truth) & (truth <= table["high"])
    return {"scale covered": covered[:, 0], "bias covered": covered[:, 1]}


def platt_intervals(
    generator: np.random.Generator, n_draws: int, *, n: int, factor: float = 1.0
) -> dict[str, BoolArray]:
    """Return whether intervals hold the best slope and intercept of two classes.

    Class 0 against the others, by the difference of two logits; no line is right.
    """
    pop = population()
    logits = np.ascontiguousarray(pop.logits[:, :2])
    labels = (pop.labels != 0).astype(np.int64)
    best = platt_scaling(logits, labels, sample_weight=pop.masses)
    truth = np.array([best.slope, best.intercept])
    estimates, errors = np.empty((2, n_draws, 2))
    for i in range(n_draws):
        rows = generator.choice(pop.masses.size, n, p=pop.masses)
        fit = platt_scaling(logits[rows], labels[rows])
        estimates[i] = fit.slope, fit.intercept
        errors[i] = factor * fit.std_err
    table = coefficients(estimates, errors, 0.0)
    covered = (table["low"] <= truth) & (truth <= table["high"])
    return {"slope covered": covered[:, 0], "intercept covered": covered[:, 1]}


def covers(*events: str, tolerance: float = 0.05) -> tuple[Claim, ...]:
    """Return the claim of 95 % intervals."""
    return tuple(Claim(event, equals=LEVEL, tolerance=tolerance) for event in events)


INTERVALS = Theorem(
    name="temperature-intervals",
    title="Intervals of temperatures, scales and biases",
    reference="theory page, 8 (M-estimation, sandwich)",
    statement=(
        "P(the best parameter is in its 95 % interval) -> 0.95 as n -> infinity, also "
        "where no temperature is right and where rows are weighted (asymptotic: no "
        "claim at a given sample size)."
    ),
    assumptions=(IID, "weights do not depend on labels given the rows"),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "one temperature, none is right, n = 4000",
            partial(temperature_intervals, n=4000, weighted=False),
            covers("covered"),
            batch=100,
        ),
        Experiment(
            "one temperature, weighted, n = 4000",
            partial(temperature_intervals, n=4000, weighted=True),
            covers("covered"),
            batch=100,
        ),
        Experiment(
            "vector scaling, n = 2000",
            partial(vector_intervals, n=2000),
            covers("scale covered", "bias covered", tolerance=0.08),
            batch=100,
        ),
        Experiment(
            "Platt scaling of two classes, n = 2000",
            partial(platt_intervals, n=2000),
            covers("slope covered", "intercept covered", tolerance=0.08),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "errors without the scores, weighted",
            partial(temperature_intervals, n=4000, weighted=True, sandwich=False),
            covers("covered"),
            batch=100,
        ),
        Experiment(
            "weights left out of the fit",
            partial(temperature_intervals, n=4000, weighted=True, fit_weighted=False),
            covers("covered"),
            batch=100,
        ),
        Experiment(
            "vector scaling, errors too small by 30 %",
            partial(vector_intervals, n=2000, factor=0.7),
            covers("scale covered", "bias covered", tolerance=0.08),
            batch=100,
        ),
        Experiment(
            "Platt scaling, errors too small by 30 %",
            partial(platt_intervals, n=2000, factor=0.7),
            covers("slope covered", "intercept covered", tolerance=0.08),
            batch=100,
        ),
    ),
)

THEOREMS = (INTERVALS,)
