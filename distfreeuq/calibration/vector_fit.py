"""Scales and biases of smallest loss, with their standard errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.newton import FactoredHessian
from distfreeuq._numerics.sampled_newton import NEAR, minimize_from_sample
from distfreeuq.calibration.data import CalibrationRows
from distfreeuq.calibration.inverse_temperature import rough_alpha
from distfreeuq.calibration.vector_loss import FLAT, ScoreProducts, VectorLoss

MAX_HESSIAN_PARAMETERS = 1000
"""Beyond these no Hessian is made: L-BFGS, and no standard errors."""


class VectorFit(NamedTuple):
    """Scales and biases (K,), their standard errors (2, K), and who ran off (K,)."""

    scale: FloatArray
    bias: FloatArray
    std_err: FloatMatrix
    lost: BoolArray


@on_one_blas_thread
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
        if gradient @ step <= NEAR:
            theta = theta - step
        if curvature.is_singular:
            theta = _least_departure(problem, theta, curvature)
    lost = ~free[n_classes:] | (mass < FLAT)
    std_err[:, lost] = np.nan
    return VectorFit(*problem.expand(theta), std_err, lost)


def _least_departure(
    problem: VectorLoss, theta: FloatArray, curvature: FactoredHessian
) -> FloatArray:
    """Return the nearest to neutral of the parameters that fit as well.

    A direction without curvature may also be one along which parameters ran off: there,
    the way back would cost.
    """
    neutral = problem.neutral
    nearest = neutral + curvature.without_flat(theta - neutral)
    loss, _ = problem.evaluate(theta)
    return nearest if problem.evaluate(nearest)[0] <= loss + 1e-12 else theta


def _sandwich(
    curvature: FactoredHessian, meat: FloatMatrix, free: BoolArray
) -> FloatMatrix:
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
    start = rough_alpha(problem.rows) * problem.neutral
    return minimize_from_sample(problem, start, price)


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
