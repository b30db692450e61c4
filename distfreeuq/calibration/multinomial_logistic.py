"""Multinomial logistic regression on the logits, near the map that changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.sampled_newton import NEAR, minimize_from_sample
from distfreeuq.calibration.data import CalibrationRows
from distfreeuq.calibration.inverse_temperature import rough_alpha
from distfreeuq.calibration.linear_loss import LinearLoss
from distfreeuq.calibration.vector_loss import FLAT

MAX_NEWTON_PARAMETERS = 1000
"""Beyond these, no Hessian is made: L-BFGS, and no standard errors."""


@dataclass(frozen=True, slots=True)
class LinearMap:
    """New logits are logits @ coef.T + bias.

    Attributes
    ----------
    coef : ndarray (K, K)
    bias : ndarray (K,)
    std_err : ndarray
        (K, K + 1), or (2,) of slope and intercept for two classes.
    lost : ndarray (K,)
        Classes whose parameters have no finite optimum.
    """

    coef: FloatMatrix
    bias: FloatArray
    std_err: FloatArray
    lost: BoolArray


@on_one_blas_thread
def fit_multinomial(rows: CalibrationRows, ridge: float) -> LinearMap:
    """Fit softmax(coef @ z + bias) by maximum likelihood, with a ridge."""
    n_classes = rows.n_classes
    present = np.bincount(rows.labels, rows.weights, n_classes) > 0.0
    free = present | (ridge > 0.0)
    problem = LinearLoss(rows, free, ridge)
    theta = problem.multiple_of_identity(rough_alpha(rows))
    std_err = np.full((n_classes, n_classes + 1), np.nan)
    lost = ~free
    if theta.size <= MAX_NEWTON_PARAMETERS:
        price = 2.0 + theta.size / 20.0  # of a Hessian in gradients, as measured
        theta = minimize_from_sample(problem, theta, price)
        theta, std_err[free], lost[free] = _finish(problem, theta)
    else:
        theta = _minimise_lbfgs(problem, theta)
    coef, bias = problem.expand(theta)
    return LinearMap(coef=coef, bias=bias, std_err=std_err, lost=lost)


def _finish(
    problem: LinearLoss, theta: FloatArray
) -> tuple[FloatArray, FloatMatrix, BoolArray]:
    """Return theta after a last Newton step, its standard errors, and who ran off.

    The errors (F, K + 1) are sandwich estimates.
    """
    _, gradient = problem.evaluate(theta)
    hessian, meat = problem.products(theta, scores=True)
    curvature = problem.factor(hessian)
    shape = (problem.n_free, problem.n_features)
    std_err = np.sqrt(np.maximum(curvature.sandwich(meat), 0.0)).reshape(shape)
    ran_off = np.diag(hessian).reshape(shape)[:, -1] - problem.ridge < FLAT
    std_err[ran_off] = np.nan
    step = curvature.solve(gradient)
    if gradient @ step <= NEAR:
        theta = theta - step
    if curvature.is_singular:
        nearest = curvature.without_flat(theta)
        # where parameters ran off along a flat direction, the way back would cost
        if problem.evaluate(nearest)[0] <= problem.evaluate(theta)[0] + 1e-12:
            theta = nearest
    return theta, std_err, np.asarray(ran_off)


def _minimise_lbfgs(problem: LinearLoss, start: FloatArray) -> FloatArray:
    from scipy.optimize import minimize

    result = minimize(
        problem.evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return np.asarray(result.x)
