"""The theorem on the test that a shift is a label shift."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.label_shift.inference.goodness_of_fit import compare_with_mixtures
from distfreeuq.label_shift.output_cells import OutputCells
from distfreeuq.references import CLASSES_OVERLAP, LABEL_SHIFT, TWO_SAMPLES
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import FAMILY

P, Q = (0.5, 0.3, 0.2), (0.15, 0.25, 0.6)
NO_CLASS_0 = (0.0, 0.4, 0.6)
RARE = (0.01, 0.59, 0.4)
PREDICTED = np.array([[0.8, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.7]])
USELESS = np.full((3, 3), 1.0 / 3.0)
"""Shares of predictions (rows) in classes (columns)."""

_GROUP, _RANK = np.repeat(np.arange(3), 4), np.tile((np.arange(4) + 0.5) / 4, 3)


def cells(predicted: FloatMatrix, tilt: float = 0.0) -> FloatMatrix:
    """Return shares (12, 3) of cells in classes: right predictions are surer.

    `tilt` moves all confidences.
    """
    sure = (np.arange(4) - 1.5)[None, :, None]
    right = np.where(np.eye(3), 0.5, -0.3)[:, None, :]
    of_prediction = np.exp(sure * (right + tilt))
    of_prediction /= of_prediction.sum(axis=1, keepdims=True)
    return np.asarray((predicted[:, None, :] * of_prediction).reshape(12, 3))


def p_values(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    source_prior: tuple[float, ...] = P,
    prior: tuple[float, ...] = Q,
    predicted: FloatMatrix = PREDICTED,
    tilt: float = 0.0,
    times: int = 1,
) -> dict[str, BoolArray]:
    """Ask whether p-values are small; `times` counts each source row so often."""
    shares, shares_target = cells(predicted), cells(predicted, tilt)
    joint = (shares * np.array(source_prior)).ravel()
    found = np.empty(n_draws)
    for i in range(n_draws):
        source = times * generator.multinomial(n, joint).reshape(12, 3)
        target = generator.multinomial(m, shares_target @ np.array(prior))
        source = source[:, source.any(axis=0)]
        counted = OutputCells(source, target, _GROUP, _RANK)
        found[i] = compare_with_mixtures(counted).p_value
    return {f"p <= {level}": found <= level for level in (0.05, 0.2)}


LEVELS = (
    Claim("p <= 0.05", at_most=0.05, tolerance=0.1),
    Claim("p <= 0.2", at_most=0.2, tolerance=0.1),
)

FIT = Theorem(
    name="label-shift-fit-test",
    title="The test that a shift is a label shift has its level in the limit",
    reference="mixtures of the source's classes (theory page, 4.14)",
    statement=(
        "Under label shift, P(p-value <= a) <= a in the limit of many rows, whatever "
        "the proportions, zeros included, be the classes told apart or not."
    ),
    assumptions=(LABEL_SHIFT, CLASSES_OVERLAP, TWO_SAMPLES),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment("n = m = 400", partial(p_values, n=400, m=400), LEVELS, batch=100),
        Experiment(
            "a class without target rows",
            partial(p_values, n=400, m=400, prior=NO_CLASS_0),
            LEVELS,
            batch=100,
        ),
        Experiment(
            "four source rows of a class",
            partial(p_values, n=400, m=400, source_prior=RARE),
            LEVELS,
            batch=50,
        ),
        Experiment(
            "a useless classifier",
            partial(p_values, n=400, m=400, predicted=USELESS),
            LEVELS,
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "the source's shares taken for known",
            partial(p_values, n=400, m=400, times=1000),
            LEVELS,
            batch=100,
        ),
        Experiment(
            "no label shift: all confidences have fallen",
            partial(p_values, n=400, m=400, tilt=-0.3),
            LEVELS,
            batch=100,
        ),
    ),
)

THEOREMS = (FIT,)
