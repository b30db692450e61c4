"""Scales and biases of smallest loss, with their standard errors.

Passes over all rows are what a fit costs. The optimum for a sample of them is a start
from which few gradients are left, with the sample's Hessian as their metric; the one
Hessian of all rows, which the standard errors need, makes the last step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix
from distfreeuq.calibration.inverse_temperature import rough_alpha
from distfreeuq.calibration.newton import Curvature, minimise_convex
from distfreeuq.calibration.rows import CalibrationRows
from distfreeuq.calibration.vector_loss import FLAT, ScoreProducts, VectorLoss

MAX_HESSIAN_PARAMETERS = 1000
"""Beyond these no Hessian is made: L-BFGS, and no standard errors."""
_SAMPLE_PER_PARAMETER = 25
_SAMPLE_RIDGE = 1e-3
_METRIC_RIDGE = 1e-5
_SAMPLE_TOLERANCE = 1e-6
_NEAR = 1e-12
"""Squared Newton decrement at which the last Hessian is made: it is then that of the
optimum to six digits, and its step leaves the parameters right to twelve."""


class VectorFit(NamedTuple):
    """Scales and biases (K,), their standard errors (2, K), and who ran off (K,)."""

    scale: FloatArray
    bias: FloatArray
    std_err: FloatMatrix
    lost: BoolArray


def fit_vector(rows: CalibrationRows, ridge: float) -> VectorFit:
    """Fit softmax(scale * logits + bias) by maximum likelihood, with a ridge."""
    n_classes = rows.n_classes
    present = np.bincount(rows.labels, rows.weights, n_classes) > 0.0
    free = np.tile(present | (ridge > 0.0), 2)
    problem = VectorLoss(rows, free, ridge)
    theta = problem.centre(minimise(problem))
    std_err = np.full((2, n_classes), np.nan)
    if theta.size > MAX_HESSIAN_PARAMETERS:
        mass = problem.diagonals(theta)[2]
    else:
        scores = ScoreProducts(rows)
        gradient, hessian = problem.derivatives(theta, scores=scores)
        mass = np.diag(hessian)[n_classes:]
        curvature = problem.factor(hessian)
        std_err = _sandwich(curvature, scores.total / rows.total_weight**2, free)
        step = curvature.solve(gradient)
        if gradient @ step <= _NEAR:
            theta = theta - step
        if curvature.is_singular:
            theta = _least_departure(problem, theta, curvature)
    lost = ~free[n_classes:] | (mass < FLAT)
    std_err[:, lost] = np.nan
    return VectorFit(*problem.expand(theta), std_err, lost)


def _least_departure(
    problem: VectorLoss, theta: FloatArray, curvature: Curvature
) -> FloatArray:
    """Return the nearest to neutral of the parameters that fit as well.

    A direction without curvature may also be one along which parameters ran off: there,
    the way back would cost.
    """
    neutral = problem.neutral
    nearest = neutral + curvature.without_flat(theta - neutral)
    loss, _ = problem.evaluate(theta)
    return nearest if problem.evaluate(nearest)[0] <= loss + 1e-12 else theta


def _sandwich(curvature: Curvature, meat: FloatMatrix, free: BoolArray) -> FloatMatrix:
    """Return standard errors (2, K), nan for parameters that are not free."""
    variances = np.full(free.size, np.nan)
    variances[free] = curvature.sandwich(meat[np.ix_(free, free)])
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)).reshape(2, -1))


def minimise(problem: VectorLoss) -> FloatArray:
    """Return the free parameters of smallest loss, up to one last Newton step."""
    size = int(problem.free.sum())
    if size > MAX_HESSIAN_PARAMETERS:
        return minimise_without_hessian(problem)
    price = 2.0 + size / 30.0  # of a Hessian in gradients, as measured
    start, metric = rough_alpha(problem.rows) * problem.neutral, None
    stride = problem.rows.n // (_SAMPLE_PER_PARAMETER * size)
    if stride >= 3:
        rows, free, ridge = problem.rows.every(stride), problem.free, problem.ridge
        # without a ridge, classes that the sample lacks would run off
        sample = VectorLoss(rows, free, max(ridge, _SAMPLE_RIDGE))
        start = minimise_convex(
            sample.evaluate,
            sample.rough_curvature,
            start,
            price=price,
            tolerance=_SAMPLE_TOLERANCE,
        )
        sample = VectorLoss(rows, free, max(ridge, _METRIC_RIDGE))
        metric = sample.rough_curvature(start)
    return minimise_convex(
        problem.evaluate,
        problem.curvature,
        start,
        metric=metric,
        price=price,
        tolerance=_NEAR,
    )


def minimise_without_hessian(problem: VectorLoss) -> FloatArray:
    """Minimise by L-BFGS; the Hessian's diagonal alone makes units comparable."""
    from scipy.optimize import minimize

    start = problem.neutral
    second, _, mass = problem.diagonals(start)
    size = np.sqrt(np.concatenate([second, mass])[problem.free] + problem.ridge)
    units = 1.0 / np.maximum(size, 1e-3 * size.max())

    def evaluate(steps: FloatArray) -> tuple[float, FloatArray]:
        loss, gradient = problem.evaluate(start + units * steps)
        return loss, units * gradient

    found = minimize(
        evaluate,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxcor": 30,
            "maxiter": 2000,
            "maxfun": 4000,
            "ftol": 1e-16,
            "gtol": 1e-10,
        },
    )
    return np.asarray(start + units * found.x)
