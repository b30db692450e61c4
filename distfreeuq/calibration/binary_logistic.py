"""Logistic regression on one score: slope and intercept of binary Platt scaling."""

from __future__ import annotations

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.logistic_regression import logistic_sums
from distfreeuq._numerics.newton import FactoredHessian, minimize_convex
from distfreeuq.calibration.data import CalibrationRows
from distfreeuq.calibration.multinomial_logistic import LinearMap
from distfreeuq.calibration.vector_loss import FLAT

_NEUTRAL = np.array([1.0, 0.0])
_NO_DIRECTIONS = np.zeros((2, 0))


@on_one_blas_thread
def fit_binary(rows: CalibrationRows, ridge: float, smoothing: bool) -> LinearMap:
    """Fit sigmoid(slope * (z_1 - z_0) + intercept)."""
    scores = rows.logits[:, 1].astype(np.float64) - rows.logits[:, 0]
    design = np.column_stack([scores, np.ones(rows.n)])
    weights = rows.weights / rows.total_weight
    targets = smoothed_targets(rows) if smoothing else rows.labels.astype(np.float64)

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
        sums = logistic_sums(design, targets, weights[:, None], theta[None, :])[0]
        away = theta - _NEUTRAL
        loss = float(sums[0]) + 0.5 * ridge * float(away @ away)
        return loss, sums[1:] + ridge * away

    def hessian(theta: FloatArray) -> FloatMatrix:
        p = special.expit(design @ theta)
        inner = (weights * p * (1.0 - p))[:, None] * design
        return np.asarray(design.T @ inner + ridge * np.eye(2))

    def curvature(theta: FloatArray) -> FactoredHessian:
        return FactoredHessian(hessian(theta), _NO_DIRECTIONS)

    theta = minimize_convex(evaluate, curvature, _NEUTRAL)
    slope, intercept = theta
    residuals = weights * (special.expit(design @ theta) - targets)
    scored = residuals[:, None] * design
    ran_off = bool(hessian(theta)[1, 1] < FLAT)
    variances = curvature(theta).sandwich(scored.T @ scored)
    return LinearMap(
        coef=0.5 * np.array([[1 + slope, 1 - slope], [1 - slope, 1 + slope]]),
        bias=np.array([-0.5 * intercept, 0.5 * intercept]),
        std_err=np.full(2, np.nan) if ran_off else np.sqrt(variances),
        lost=np.full(2, ran_off),
    )


def smoothed_targets(rows: CalibrationRows) -> FloatArray:
    """Return Platt's targets (n,): the means of a uniform prior's posteriors."""
    share = float(rows.weights @ rows.labels) / rows.total_weight
    n_one, n_zero = share * rows.n, (1.0 - share) * rows.n
    return np.where(
        rows.labels == 1, (n_one + 1.0) / (n_one + 2.0), 1.0 / (n_zero + 2.0)
    )
