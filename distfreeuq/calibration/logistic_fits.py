"""Logistic regressions of the labels on the logits: the fits of Platt scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.newton import FactoredHessian, minimize_convex
from distfreeuq._numerics.sampled_newton import NEAR, minimize_from_sample
from distfreeuq.calibration.inverse_temperature import rough_alpha
from distfreeuq.calibration.losses.binary_loss import Design, LogLoss
from distfreeuq.calibration.losses.linear_loss import LinearLoss
from distfreeuq.calibration.losses.vector_loss import FLAT
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows

MAX_NEWTON_PARAMETERS = 1000
"""Up to these many a Hessian is made; beyond, L-BFGS fits without standard errors."""
_NEUTRAL = np.array([1.0, 0.0])
_NO_DIRECTIONS = np.zeros((2, 0))


@dataclass(frozen=True, slots=True)
class LinearMap:
    """New logits are logits @ coef.T + bias.

    Attributes
    ----------
    coef : ndarray (K, K)
    bias : ndarray (K,)
    std_err : ndarray
        (K, K + 1), or (2,) of slope and intercept for two classes.
    diverged : ndarray (K,)
        Classes without a finite optimum.
    """

    coef: FloatMatrix
    bias: FloatArray
    std_err: FloatArray
    diverged: BoolArray


class BinaryLoss:
    """Mean log loss plus ridge of sigmoid(slope * (z_1 - z_0) + intercept).

    Parameters
    ----------
    rows : CalibrationRows or RowsInBlocks
    ridge : float
    smoothing : bool
        Whether the targets are Platt's, or the labels themselves.
    """

    __slots__ = ("_losses", "ridge")

    def __init__(self, rows: FitRows, ridge: float, smoothing: bool) -> None:
        share = 0.0
        if smoothing:
            share = rows.parts.total(_weight_of_ones) / rows.total_weight
        make = _MakeDesign(rows.total_weight, rows.n, share, smoothing)
        self._losses = LogLoss(rows.parts.then(make))
        self.ridge = ridge

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient in slope and intercept."""
        sums = self._losses.evaluate(theta)
        if self.ridge == 0.0:  # of steps so long that their squares overflow too
            return float(sums[0]), sums[1:]
        away = theta - _NEUTRAL
        loss = float(sums[0]) + 0.5 * self.ridge * float(away @ away)
        return loss, sums[1:] + self.ridge * away

    def hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the Hessian (2, 2)."""
        return self._losses.hessian(theta) + self.ridge * np.eye(2)

    def scores(self, theta: FloatArray) -> FloatMatrix:
        """Return the outer products of the rows' gradients, without the ridge."""
        return self._losses.scores(theta)


@on_one_blas_thread
def fit_binary(rows: FitRows, ridge: float, smoothing: bool) -> LinearMap:
    """Fit sigmoid(slope * (z_1 - z_0) + intercept)."""
    loss = BinaryLoss(rows, ridge, smoothing)

    def curvature(theta: FloatArray) -> FactoredHessian:
        return FactoredHessian(loss.hessian(theta), _NO_DIRECTIONS)

    theta = minimize_convex(loss.evaluate, curvature, _NEUTRAL)
    slope, intercept = theta
    at_minimum = loss.hessian(theta)
    diverged = bool(at_minimum[1, 1] < FLAT)
    meat = loss.scores(theta)
    variances = FactoredHessian(at_minimum, _NO_DIRECTIONS).sandwich(meat)
    return LinearMap(
        coef=0.5 * np.array([[1 + slope, 1 - slope], [1 - slope, 1 + slope]]),
        bias=np.array([-0.5 * intercept, 0.5 * intercept]),
        std_err=np.full(2, np.nan) if diverged else np.sqrt(variances),
        diverged=np.full(2, diverged),
    )


def _weight_of_ones(rows: CalibrationRows) -> float:
    return float(rows.weights @ rows.labels)


@dataclass(frozen=True, slots=True)
class _MakeDesign:
    """From rows to those of the regression; `share` is the weight of label 1."""

    total_weight: float
    n: int
    share: float
    smoothing: bool

    def __call__(self, rows: CalibrationRows) -> Design:
        scores = rows.logits[:, 1].astype(np.float64) - rows.logits[:, 0]
        targets: FloatArray = rows.labels.astype(np.float64)
        if self.smoothing:
            targets = smoothed_targets(rows.labels, self.share, self.n)
        return Design(
            np.column_stack([scores, np.ones(rows.n)]),
            targets,
            rows.weights / self.total_weight,
        )


def smoothed_targets(labels: IntArray, share: float, n: int) -> FloatArray:
    """Return Platt's targets (n,): the means of a uniform prior's posteriors."""
    n_one, n_zero = share * n, (1.0 - share) * n
    return np.where(labels == 1, (n_one + 1.0) / (n_one + 2.0), 1.0 / (n_zero + 2.0))


@on_one_blas_thread
def fit_multinomial(rows: FitRows, ridge: float) -> LinearMap:
    """Fit softmax(coef @ z + bias) by maximum likelihood, with a ridge."""
    present = rows.label_weights > 0.0
    return minimize_linear(LinearLoss(rows, present | (ridge > 0.0), ridge))


def minimize_linear(problem: LinearLoss) -> LinearMap:
    """Return the linear map of smallest loss, with standard errors."""
    rows, free, n_classes = problem.rows, problem.free, problem.rows.n_classes
    theta = problem.multiple_of_identity(rough_alpha(rows))
    std_err = np.full((n_classes, n_classes + 1), np.nan)
    diverged = ~free
    if theta.size <= MAX_NEWTON_PARAMETERS:
        price = 2.0 + theta.size / 20.0  # a Hessian costs so many gradients: measured
        theta = minimize_from_sample(problem, theta, price)
        theta, std_err[free], diverged[free] = _finish(problem, theta)
    else:
        theta = _minimize_lbfgs(problem, theta)
    coef, bias = problem.expand(theta)
    return LinearMap(coef=coef, bias=bias, std_err=std_err, diverged=diverged)


def _finish(
    problem: LinearLoss, theta: FloatArray
) -> tuple[FloatArray, FloatMatrix, BoolArray]:
    """Return theta after a last Newton step, standard errors, and what diverged.

    The errors (F, K + 1) are sandwich estimates; diverged classes are marked (F,).
    """
    _, gradient = problem.evaluate(theta)
    hessian, meat = problem.products(theta, scores=True)
    curvature = problem.factor(hessian)
    shape = (problem.n_free, problem.n_features)
    std_err = np.sqrt(curvature.sandwich(meat)).reshape(shape)
    diverged = np.diag(hessian).reshape(shape)[:, -1] - problem.bias_ridge < FLAT
    std_err[diverged] = np.nan
    step = curvature.solve(gradient)
    if gradient @ step <= NEAR:
        theta = theta - step
    if curvature.is_singular:
        nearest = curvature.without_flat(theta)
        # where parameters diverged along a flat direction, the nearest fit worse
        if problem.evaluate(nearest)[0] <= problem.evaluate(theta)[0] + 1e-12:
            theta = nearest
    return theta, std_err, np.asarray(diverged)


def _minimize_lbfgs(problem: LinearLoss, start: FloatArray) -> FloatArray:
    from scipy.optimize import minimize

    result = minimize(
        problem.evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return np.asarray(result.x)
