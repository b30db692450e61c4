"""What scaling leaves alone: decisions, the scale of weights, constants in a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.calibration.classwise_temperature import classwise_temperature_scaling
from distfreeuq.calibration.platt import platt_scaling
from distfreeuq.calibration.temperature import temperature_scaling
from distfreeuq.calibration.vector import vector_scaling
from distfreeuq.references import ZHAO_2020
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.scaling.excess_risk import FAMILY
from distfreeuq.theorems.scaling.sandwich_intervals import likelihood_error

N_ROWS, N_CLASSES = 30, 4
CHANGED, MOVED = "a decision changes", "the fit moves"
EXACT = 1e-9
"""Relative differences that rounding alone makes stay below this."""

Fit = Callable[..., Any]


def logit_draws(
    generator: np.random.Generator, n_draws: int, *, step: float
) -> tuple[FloatMatrix, IntArray]:
    """Return logits (R, n, K), rounded to multiples of `step`, and labels (R, n).

    Their spread differs widely between draws: temperatures at and far from bounds.
    """
    shape = (n_draws, N_ROWS, N_CLASSES)
    truth = generator.normal(0.0, 2.0, shape)
    labels = (truth + generator.gumbel(size=shape)).argmax(axis=2)
    spread = np.exp(generator.normal(0.0, 2.0, (n_draws, 1, 1)))
    logits = spread * truth
    if step > 0.0:
        logits = step * np.round(logits / step)
    return logits, labels


# ---------------------------------------------------------------------------- decisions


def decisions(
    generator: np.random.Generator,
    n_draws: int,
    *,
    fit: Fit,
    step: float = 0.0,
    single: bool = False,
    predict: Callable[[Any, FloatMatrix], FloatMatrix] | None = None,
) -> dict[str, BoolArray]:
    """Return whether any row's most likely class, or tie for it, changes."""
    logits, labels = logit_draws(generator, n_draws, step=step)
    changed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        rows = logits[i].astype(np.float32) if single else logits[i]
        fitted = fit(rows[::2], labels[i, ::2])
        probs = fitted.predict(rows) if predict is None else predict(fitted, rows)
        before = rows == rows.max(axis=1, keepdims=True)
        after = probs == probs.max(axis=1, keepdims=True)
        changed[i] = (before != after).any()
    return {CHANGED: changed}


def negative_alpha(fitted: Any, rows: FloatMatrix) -> FloatMatrix:
    """Return probabilities at -alpha, which the set in the article allows."""
    return np.asarray(fitted.predict(-rows))


_NEVER = (Claim(CHANGED, at_most=0.0, tolerance=0.03),)

DECISIONS = Theorem(
    name="temperatures-keep-decisions",
    title="Temperatures change no decision",
    reference=f"{ZHAO_2020}, Sec. 4, with alpha kept positive",
    statement=(
        "The most likely class of every row, ties included, is the same before and "
        "after temperature scaling and class-wise temperature scaling."
    ),
    assumptions=("inverse temperatures are positive",),
    family=FAMILY,
    experiments=tuple(
        Experiment(f"{words}, {kind}", partial(decisions, fit=fit, **how), _NEVER, 100)
        for words, fit in (
            ("one temperature", temperature_scaling),
            ("class-wise", classwise_temperature_scaling),
        )
        for kind, how in (
            ("any logits", {}),
            ("ties everywhere", {"step": 1.0}),
            ("float32", {"single": True}),
        )
    ),
    controls=(
        Experiment(
            "negative alpha",
            partial(decisions, fit=temperature_scaling, predict=negative_alpha),
            _NEVER,
            50,
        ),
        Experiment(
            "vector scaling", partial(decisions, fit=vector_scaling), _NEVER, 50
        ),
        Experiment("Platt scaling", partial(decisions, fit=platt_scaling), _NEVER, 50),
    ),
)

# ------------------------------------------------------------------- weights and shifts


def temperatures_of(fitted: Any) -> FloatArray:
    """Return what two fits are compared by, with their standard errors."""
    if hasattr(fitted, "temperatures"):
        return np.concatenate([fitted.temperatures, fitted.std_err])
    return np.array([fitted.temperature, fitted.std_err])


def scales_of(fitted: Any) -> FloatArray:
    """Return the parameters of vector scaling, with their standard errors."""
    return np.concatenate([fitted.scale, fitted.bias, fitted.std_err.ravel()])


def weight_scale(
    generator: np.random.Generator,
    n_draws: int,
    *,
    fit: Fit,
    parameters: Callable[[Any], FloatArray] = temperatures_of,
    copies: bool = False,
    shift: bool = False,
) -> dict[str, BoolArray]:
    """Return whether a fit changes with the scale of weights, or with what is the same.

    With `copies`, a row of weight 2 against the row twice (estimates alone); with
    `shift`, a constant added to every row's logits.
    """
    truth = generator.normal(0.0, 2.0, (n_draws, N_ROWS, N_CLASSES))
    labels = (truth + generator.gumbel(size=truth.shape)).argmax(axis=2)
    weights = generator.integers(1, 4, (n_draws, N_ROWS)).astype(np.float64)
    scales = np.exp(generator.normal(0.0, 5.0, n_draws))
    moved = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        one = parameters(fit(truth[i], labels[i], sample_weight=weights[i]))
        if copies:
            rows = np.repeat(np.arange(N_ROWS), weights[i].astype(np.int64))
            other = parameters(fit(truth[i][rows], labels[i][rows]))
            one, other = one[: one.size // 2], other[: other.size // 2]
        elif shift:
            moved_logits = truth[i] + generator.normal(0.0, 10.0, (N_ROWS, 1))
            other = parameters(fit(moved_logits, labels[i], sample_weight=weights[i]))
        else:
            scaled = scales[i] * weights[i]
            other = parameters(fit(truth[i], labels[i], sample_weight=scaled))
        moved[i] = not np.allclose(one, other, rtol=EXACT, atol=EXACT, equal_nan=True)
    return {MOVED: moved}


def weights_as_copies(
    generator: np.random.Generator, n_draws: int
) -> dict[str, BoolArray]:
    """Return whether errors that take weights for copies change with their scale."""
    moved = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        logits, labels = (part[0] for part in logit_draws(generator, 1, step=0.0))
        weights = 1.0 + generator.random(N_ROWS)
        fit = temperature_scaling(logits, labels, sample_weight=weights)
        one, other = (likelihood_error(fit, logits, c * weights) for c in (1.0, 4.0))
        moved[i] = abs(one - other) > EXACT * one
    return {MOVED: moved}


_SAME = (Claim(MOVED, at_most=0.0, tolerance=0.05),)
_VECTOR = partial(vector_scaling, ridge=0.01)

WEIGHTS = Theorem(
    name="weights-have-no-scale",
    title="The scale of the weights changes nothing",
    reference="theory page, 0",
    statement=(
        "Estimates and standard errors of temperatures and of vector scaling are the "
        "same with weights w and c w for any c > 0; estimates are the same with a row "
        "twice and with a row of weight 2, and temperatures with a constant added to "
        "every row."
    ),
    assumptions=("differences up to 1e-9 are rounding",),
    family=FAMILY,
    experiments=(
        Experiment(
            "one temperature", partial(weight_scale, fit=temperature_scaling), _SAME, 50
        ),
        Experiment(
            "class-wise",
            partial(weight_scale, fit=classwise_temperature_scaling),
            _SAME,
            50,
        ),
        Experiment(
            "vector scaling, ridge 0.01",
            partial(weight_scale, fit=_VECTOR, parameters=scales_of),
            _SAME,
            50,
        ),
        Experiment(
            "a row twice: one temperature",
            partial(weight_scale, fit=temperature_scaling, copies=True),
            _SAME,
            50,
        ),
        Experiment(
            "a constant added to rows: one temperature",
            partial(weight_scale, fit=temperature_scaling, shift=True),
            _SAME,
            50,
        ),
    ),
    controls=(
        Experiment(
            "standard errors that take weights for copies",
            weights_as_copies,
            _SAME,
            50,
        ),
        Experiment(
            "a constant added to rows: vector scaling",
            partial(weight_scale, fit=_VECTOR, parameters=scales_of, shift=True),
            _SAME,
            50,
        ),
    ),
)

THEOREMS = (with_instances(DECISIONS), with_instances(WEIGHTS))
