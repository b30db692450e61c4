"""Designs for the excess risk of fitted temperatures: few rows, any labels."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.calibration.classwise_temperature import classwise_temperature_scaling
from distfreeuq.calibration.temperature import temperature_scaling
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.guarantees import Guarantee
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

ALPHAS = (0.2, 2.0)
"""Bounds of the inverse temperatures: narrow, so that few rows say something."""


def losses(logits: FloatMatrix, alpha: float, loss: str) -> FloatMatrix:
    """Return the loss of every row (R, K) and label at one inverse temperature."""
    scaled = alpha * logits
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    if loss == "nll":  # no row has the label of a masked class
        return np.where(np.isneginf(logits), 0.0, -logs)
    probs = np.exp(logs)
    return np.asarray((probs**2).sum(axis=1, keepdims=True) - 2.0 * probs + 1.0)


def smallest_risk(logits: FloatMatrix, joint: FloatMatrix, loss: str) -> float:
    """Return the risk of the best inverse temperature within the bounds."""

    def risk(alpha: float) -> float:
        return float((joint * losses(logits, alpha, loss)).sum())

    grid = np.linspace(*ALPHAS, 60)
    start = float(min(grid, key=risk))
    step = float(grid[1] - grid[0])
    ends = (max(ALPHAS[0], start - step), min(ALPHAS[1], start + step))
    found = optimize.minimize_scalar(risk, bounds=ends, method="bounded")
    return min(risk(start), float(found.fun))


def stated_draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    loss: str,
    logits: FloatMatrix,
    joint: FloatMatrix,
    by_class: bool,
    delta: float,
    factor: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether the excess risk exceeds what the fit states; or says nothing, `none`.

    The range of logits is declared, of those that are not -inf. Broken: a `factor` of
    the bound below one.
    """
    size, k = joint.shape
    least = np.where(np.isneginf(logits), np.inf, logits).min(axis=1)
    declared = float((logits.max(axis=1) - least).max())
    tops = logits.argmax(axis=1)
    fit: Any = classwise_temperature_scaling if by_class else temperature_scaling
    options: dict[str, Any] = {"loss": loss, "bounds": ALPHAS, "delta": delta}
    options["logit_range"] = declared
    groups = [tops == c for c in range(k)] if by_class else [np.ones(size, dtype=bool)]
    groups = [group for group in groups if group.any()]
    best = [smallest_risk(logits[g], joint[g] / joint[g].sum(), loss) for g in groups]
    exceeded = np.zeros(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        cells = generator.choice(size * k, size=n, p=joint.ravel())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DistFreeWarning)  # at a bound, by chance
            fitted = fit(logits[cells // k], cells % k, **options)
        if not isinstance(fitted.guarantee, Guarantee):
            continue
        bound = fitted.guarantee.upper
        assert bound is not None
        for group, least in zip(groups, best, strict=True):
            alpha = (
                float(fitted.inverse_temperatures[tops[group][0]])
                if by_class
                else float(fitted.inverse_temperature)
            )
            if by_class and fitted.status[tops[group][0]] in (1, 4):
                continue  # shared: nothing is said of it
            share = joint[group] / joint[group].sum()
            risk = float((share * losses(logits[group], alpha, loss)).sum())
            exceeded[i] |= risk - least > factor * bound
    return {"excess above what is stated": exceeded}


def with_masked(
    generator: np.random.Generator, logits: FloatMatrix, joint: FloatMatrix
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the same with some classes masked, which are then nobody's label."""
    masked = generator.random(logits.shape) < 0.4
    masked[np.arange(len(logits)), joint.argmax(axis=1)] = False
    left = np.where(masked, 0.0, joint)
    return np.where(masked, -np.inf, logits), left / left.sum()


def excess_designs(
    generator: np.random.Generator, *, by_class: bool = False, factor: float = 1.0
) -> Design:
    """Return few rows of logits whose labels are anything, wrong ones included."""
    k, size = int(generator.integers(2, 4)), int(generator.integers(1, 5))
    scale = float(10.0 ** generator.uniform(-1.0, 0.7))
    logits: FloatMatrix = scale * generator.random((size, k))
    shares = np.full(size * k, float(generator.choice([0.2, 1.0])))
    joint: FloatMatrix = generator.dirichlet(shares).reshape(size, k)
    if generator.random() < 0.3:
        logits, joint = with_masked(generator, logits, joint)
    settings: dict[str, Any] = {
        "n": int(10.0 ** generator.uniform(1.3, 3.3)),
        "loss": str(generator.choice(["brier", "nll"])),
        "logits": logits,
        "joint": joint,
        "by_class": by_class,
        "delta": float(generator.choice([0.05, 0.3, 0.8])),
    }
    return Design(
        settings,
        Claim("excess above what is stated", at_most=settings["delta"]),
        draw=partial(stated_draw, factor=factor, **settings),
    )
