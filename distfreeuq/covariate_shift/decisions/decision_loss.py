"""The loss of a decision's confidence, and its derivatives in inverse temperature.

With margins D_k = z_k - z_d of the other classes, the confidence in decision d is
p = 1 / (1 + sum_k exp(a D_k)). Its loss in whether d is right is convex in a neither as
squared error nor as log loss, so that the fit compares all of a grid and then refines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray

GRID = 2.0 ** (np.arange(-40, 41) / 8.0)
"""Inverse temperatures, from 1/32 to 32, that are fixed before any rows are seen."""
_RATIO = 1.15
"""Of neighbours in the grid between bounds."""


class DecisionRows(NamedTuple):
    """Checked rows.

    Attributes
    ----------
    logits : ndarray (n, K)
        Of the forecaster.
    decisions : ndarray (n,)
        Columns that the classifier chose.
    right : ndarray (n,)
        Whether the label is the decision.
    weights : ndarray (n,)
        Of the loss, of any scale.
    """

    logits: FloatMatrix
    decisions: IntArray
    right: BoolArray
    weights: FloatArray


def confidences(
    logits: FloatMatrix, decisions: IntArray, inverse_temperature: float
) -> FloatArray:
    """Return the probabilities (n,) of the decisions' columns."""
    with np.errstate(over="ignore"):
        scaled = inverse_temperature * (logits - logits.max(axis=1, keepdims=True))
    probs = special.softmax(scaled, axis=1)
    return np.asarray(probs[np.arange(decisions.size), decisions], dtype=np.float64)


def losses(rows: DecisionRows, inverse_temperature: float, loss: str) -> FloatArray:
    """Return each row's squared error or log loss (n,)."""
    p = confidences(rows.logits, rows.decisions, inverse_temperature)
    if loss == "brier":
        return np.asarray((p - rows.right) ** 2)
    with np.errstate(divide="ignore"):
        return -np.log(np.where(rows.right, p, _others(rows, inverse_temperature)))


def mean_loss(rows: DecisionRows, inverse_temperature: float, loss: str) -> float:
    """Return the weighted mean loss; rows of zero weight have no part in it."""
    used = rows.weights > 0.0
    values = losses(rows, inverse_temperature, loss)
    total = float((rows.weights[used] * values[used]).sum())
    return total / float(rows.weights.sum())


def best_inverse_temperature(
    rows: DecisionRows, bounds: tuple[float, float], loss: str
) -> tuple[float, str | None]:
    """Return the best within the bounds, and whether it stands "low" or "high"."""
    from scipy import optimize

    low, high = bounds
    steps = max(2, int(np.ceil(np.log(high / low) / np.log(_RATIO))) + 1)
    grid = np.geomspace(low, high, steps)
    values = [mean_loss(rows, a, loss) for a in grid]
    best = int(np.argmin(values))
    ends = np.log(grid[max(0, best - 1)]), np.log(grid[min(best + 1, steps - 1)])
    found = optimize.minimize_scalar(
        lambda log_a: mean_loss(rows, float(np.exp(log_a)), loss),
        bounds=ends,
        method="bounded",
        options={"xatol": 1e-9},
    )
    alpha, value = float(np.exp(found.x)), float(found.fun)
    if value > values[best]:
        alpha = float(grid[best])
    for end, which in ((low, "low"), (high, "high")):
        if abs(np.log(alpha / end)) < 1e-6:
            return end, which
    return alpha, None


def best_of_grid(rows: DecisionRows, loss: str) -> float:
    """Return the best inverse temperature of `GRID`."""
    return float(GRID[np.argmin([mean_loss(rows, float(a), loss) for a in GRID])])


def inverse_temperature_error(
    rows: DecisionRows, inverse_temperature: float, loss: str
) -> float:
    """Return the sandwich standard error; NaN where the loss is not curved upwards."""
    first, second = _derivatives(rows, inverse_temperature, loss)
    bread = float(rows.weights @ second)
    meat = float(rows.weights**2 @ first**2)
    return float(np.sqrt(meat) / bread) if bread > 0.0 and meat > 0.0 else np.nan


def _others(rows: DecisionRows, inverse_temperature: float) -> FloatArray:
    """Return one less the confidence, without cancellation."""
    with np.errstate(over="ignore"):
        scaled = inverse_temperature * (
            rows.logits - rows.logits.max(axis=1, keepdims=True)
        )
    probs = special.softmax(scaled, axis=1).astype(np.float64)
    probs[np.arange(rows.decisions.size), rows.decisions] = 0.0
    return np.asarray(probs.sum(axis=1))


def _derivatives(
    rows: DecisionRows, inverse_temperature: float, loss: str
) -> tuple[FloatArray, FloatArray]:
    """Return the first and second derivative of each row's loss (n,)."""
    n = rows.decisions.size
    own = rows.logits[np.arange(n), rows.decisions].astype(np.float64)
    margins = rows.logits - own[:, None]
    scaled = inverse_temperature * (rows.logits - rows.logits.max(1, keepdims=True))
    probs = special.softmax(scaled, axis=1)
    # moments of the margins under all classes; the decision's own is zero
    mean = np.einsum("ij,ij->i", probs, margins)
    square = np.einsum("ij,ij->i", probs, margins**2)
    p = probs[np.arange(n), rows.decisions]
    slope, curve = -p * mean, p * (2.0 * mean**2 - square)
    if loss == "brier":
        away = p - rows.right
        return 2.0 * away * slope, 2.0 * slope**2 + 2.0 * away * curve
    rest = np.maximum(_others(rows, inverse_temperature), np.finfo(float).tiny)
    wrong_mean, wrong_square = mean / rest, square / rest
    first = np.where(rows.right, mean, -p * wrong_mean)
    second = np.where(
        rows.right,
        square - mean**2,
        p * mean * wrong_mean - p * (wrong_square - wrong_mean**2),
    )
    return first, second
