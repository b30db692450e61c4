"""Designs for coverage on average: n + 1 rows, any of which may be the new one.

Given the rows as a set, the new row is the i-th with probability proportional to its
weight (weighted exchangeability). Coverage is then a sum over i of whether the sets
that the other rows calibrate hold the label of row i: no simulation, ties and all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.conformal.under_covariate_shift.covariate_shift_fits import (
    CovariateShiftConformalResult,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

SCORES = ("lac", "aps", "raps", "saps", "rank", "margin")
ROUNDING = 1e-9
"""By how much less than its level coverage may be: the tolerance of ranks."""


def coverage(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    sets: Callable[..., BoolArray],
) -> float:
    """Return the probability that the new row's label is in its set.

    Parameters
    ----------
    probs : ndarray (n + 1, K)
    labels : ndarray (n + 1,)
    weights : ndarray (n + 1,)
        Row i is the new one with a probability proportional to its weight.
    sets : callable
        ``sets(probs, labels, weights, new_probs, new_weight)``: mask (1, K) of the set.
    """
    held = 0.0
    for i in range(labels.size):
        old = np.delete(np.arange(labels.size), i)
        mask = sets(probs[old], labels[old], weights[old], probs[i : i + 1], weights[i])
        held += float(weights[i]) * bool(mask[0, labels[i]])
    return held / float(weights.sum())


def random_rows(
    generator: np.random.Generator, n_classes: int, size: int
) -> tuple[FloatMatrix, IntArray]:
    """Return few different rows, many of them twice, with labels of unlike classes."""
    points = int(generator.integers(1, size + 1))
    grid = generator.integers(1, 9, size=(points, n_classes)).astype(np.float64)
    probs = (grid / grid.sum(axis=1, keepdims=True))[
        generator.integers(points, size=size)
    ]
    prior = generator.dirichlet(np.full(n_classes, 0.6))
    return probs, generator.choice(n_classes, size=size, p=prior)


def random_alpha(generator: np.random.Generator, n: int) -> float:
    """Return a level, often one at which the rank is a whole number."""
    if generator.random() < 0.5:
        return float(generator.integers(1, n + 1)) / (n + 1)
    return float(generator.uniform(0.02, 0.6))


def wide_weights(generator: np.random.Generator, size: int) -> FloatArray:
    """Return weights that may span four powers of ten, or be equal, or be zero."""
    spread = float(generator.choice([0.0, 1.0, 4.0]))
    weights: FloatArray = 10.0 ** generator.uniform(0.0, spread, size)
    if size > 1 and generator.random() < 0.2:
        weights[generator.integers(1, size)] = 0.0
    return weights


def _design(
    kind: str,
    generator: np.random.Generator,
    sets: Callable[..., BoolArray] | None = None,
) -> Design:
    n = int(generator.integers(1, 14))
    n_classes = int(generator.integers(2, 5))
    probs, labels = random_rows(generator, n_classes, n + 1)
    alpha = random_alpha(generator, n)
    score = str(generator.choice(SCORES))
    never_empty = bool(generator.random() < 0.3)
    label_weight = wide_weights(generator, n_classes)
    weights: FloatArray = np.ones(n + 1)
    parameters: dict[str, Any] = {"alpha": alpha, "score": score}
    parameters["never_empty"] = never_empty
    options = {
        "alpha": alpha,
        "score": score,
        "never_empty": never_empty,
        "randomized": False,
        "rng": 0,
    }
    if kind == "label-conditional":
        # the new row's class is given, and so are the numbers of the other classes
        own = int(labels[0])
        weights = (labels == own).astype(np.float64)
        parameters["class"] = own
    elif kind == "label shift":
        weights = label_weight[labels]
        parameters["label_weight"] = label_weight
    elif kind == "covariate shift":
        drawn = wide_weights(generator, n + 1)
        of_row = {tuple(row): w for row, w in zip(probs, drawn, strict=True)}
        weights = np.array([of_row[tuple(row)] for row in probs])
        parameters["weights"] = weights
    if not weights.any():
        weights = np.ones(n + 1)
        parameters.pop("weights", None)
    parameters |= {"probs": probs, "labels": labels}
    chosen = sets or partial(SETS[kind], label_weight=label_weight, options=options)
    return Design(
        parameters,
        Claim("covered", at_least=max(0.0, 1.0 - alpha - ROUNDING)),
        probability=partial(coverage, probs, labels, weights, chosen),
    )


def _split(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    new: FloatMatrix,
    own: float,
    *,
    label_weight: FloatArray,
    options: dict[str, Any],
) -> BoolArray:
    fit: ConformalResult = split_conformal(probs, labels, **options)
    return fit.predict(new, rng=1).mask


def _label_conditional(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    new: FloatMatrix,
    own: float,
    *,
    label_weight: FloatArray,
    options: dict[str, Any],
) -> BoolArray:
    if not own:  # never the new row
        return np.zeros(new.shape, dtype=np.bool_)
    fit: ConformalResult = label_conditional_conformal(probs, labels, **options)
    return fit.predict(new, rng=1).mask


def _label_shift(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    new: FloatMatrix,
    own: float,
    *,
    label_weight: FloatArray,
    options: dict[str, Any],
) -> BoolArray:
    fit: ConformalResult = label_shift_conformal(probs, labels, label_weight, **options)
    return fit.predict(new, rng=1).mask


def _covariate_shift(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    new: FloatMatrix,
    own: float,
    *,
    label_weight: FloatArray,
    options: dict[str, Any],
) -> BoolArray:
    if not own or not weights.any():  # never the new row, or nothing to weigh
        return np.full(new.shape, bool(own))
    fit: CovariateShiftConformalResult = covariate_shift_conformal(
        probs, labels, weights, **options
    )
    return fit.predict(new, np.array([own]), rng=1).mask


SETS: dict[str, Callable[..., Any]] = {
    "split": _split,
    "label-conditional": _label_conditional,
    "label shift": _label_shift,
    "covariate shift": _covariate_shift,
}

split_designs = partial(_design, "split")
label_conditional_designs = partial(_design, "label-conditional")
label_shift_designs = partial(_design, "label shift")
covariate_shift_designs = partial(_design, "covariate shift")
