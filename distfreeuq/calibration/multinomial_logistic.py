"""Multinomial logistic regression on the logits, near the map that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix
from distfreeuq.calibration.gram import Gram
from distfreeuq.calibration.inverse_temperature import rough_alpha
from distfreeuq.calibration.newton import Curvature, minimise_convex
from distfreeuq.calibration.rows import CalibrationRows
from distfreeuq.calibration.vector_loss import ABSENT_BIAS, FLAT

MAX_NEWTON_PARAMETERS = 1000
"""Beyond these, no Hessian is made: L-BFGS, and no standard errors."""
_CHUNK_ENTRIES = 1 << 20


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


def fit_multinomial(rows: CalibrationRows, ridge: float) -> LinearMap:
    """Fit softmax(coef @ z + bias) by maximum likelihood, with a ridge."""
    n_classes = rows.n_classes
    present = np.bincount(rows.labels, rows.weights, n_classes) > 0.0
    free = present | (ridge > 0.0)
    problem = _MultinomialLoss(rows, free, ridge)
    start = problem.multiple_of_identity(rough_alpha(rows))
    std_err = np.full((n_classes, n_classes + 1), np.nan)
    lost = ~free
    if problem.n_parameters <= MAX_NEWTON_PARAMETERS:
        price = 2.0 + start.size / 20.0  # of a Hessian in gradients, as measured
        theta = minimise_convex(problem.evaluate, problem.curvature, start, price=price)
        std_err[free], ran_off = problem.std_err(theta)
        lost[free] = ran_off
    else:
        theta = _minimise_lbfgs(problem, start)
    change = problem.expand(theta)
    return LinearMap(
        coef=np.eye(n_classes) + change[:, :-1],
        bias=change[:, -1].copy(),
        std_err=std_err,
        lost=lost,
    )


class _MultinomialLoss:
    """Mean NLL plus ridge, as a function of the change of the free classes' logits.

    theta, of shape (F, K + 1) when unravelled, is added to the identity map: class k's
    new logit is z_k + theta_k @ (z, 1).
    """

    def __init__(self, rows: CalibrationRows, free: BoolArray, ridge: float) -> None:
        self.rows, self.free, self.ridge = rows, free, ridge
        self.n_free = int(free.sum())
        self.n_features = rows.n_classes + 1
        self.n_parameters = self.n_free * self.n_features

    def expand(self, theta: FloatArray) -> FloatMatrix:
        """Return the change of every class's logit, (K, K + 1)."""
        change = np.zeros((self.rows.n_classes, self.n_features))
        change[~self.free, -1] = ABSENT_BIAS
        change[self.free] = theta.reshape(self.n_free, self.n_features)
        return change

    def multiple_of_identity(self, alpha: float) -> FloatArray:
        """Return the parameters of logits times alpha, the nearest to no change."""
        change = (alpha - 1.0) * np.eye(self.rows.n_classes, self.n_features)[self.free]
        return np.asarray((change - change.mean(axis=0)).ravel())

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""
        loss = 0.5 * self.ridge * float(theta @ theta)
        gradient = self.ridge * theta
        for features, residuals, losses in self._chunks(theta, 1):
            loss += losses
            gradient += (residuals.T @ features).ravel()
        return loss, gradient

    def _chunks(
        self, theta: FloatArray, width: int
    ) -> Iterator[tuple[FloatMatrix, FloatMatrix, float]]:
        """Yield features (m, K + 1), weighted residuals (m, F) and their mean loss."""
        rows, change = self.rows, self.expand(theta)
        height = max(1, _CHUNK_ENTRIES // (width * self.n_features))
        for first in range(0, rows.n, height):
            part = slice(first, min(first + height, rows.n))
            features, probs, losses = self._softmax(change, part)
            weights = rows.weights[part] / rows.total_weight
            probs[np.arange(len(probs)), rows.labels[part]] -= 1.0
            residuals = (weights[:, None] * probs)[:, self.free]
            yield features, residuals, float(weights @ losses)

    def _softmax(
        self, change: FloatMatrix, part: slice
    ) -> tuple[FloatMatrix, FloatMatrix, FloatArray]:
        """Return features, probabilities and losses of some rows."""
        logits = self.rows.logits[part].astype(np.float64)
        features = np.column_stack([logits, np.ones(len(logits))])
        scores = logits + features @ change.T
        scores -= scores.max(axis=1, keepdims=True)
        of_label = scores[np.arange(len(scores)), self.rows.labels[part]]
        probs = np.exp(scores)
        sums = probs.sum(axis=1)
        return features, probs / sums[:, None], np.log(sums) - of_label

    def curvature(self, theta: FloatArray) -> Curvature:
        """Return the factored Hessian."""
        return self._factor(self._hessian(theta))

    def _factor(self, hessian: FloatMatrix) -> Curvature:
        if self.ridge > 0.0:
            return Curvature(hessian, np.zeros((len(hessian), 0)))
        # the same change of every class's logit changes nothing; those that are not
        # free have no mass
        level = np.full((self.n_free, 1), 1.0 / np.sqrt(self.n_free))
        return Curvature(hessian, np.kron(level, np.eye(self.n_features)))

    def _hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the mean of (diag p - p p') (x) x x' over rows of features x."""
        rows, change = self.rows, self.expand(theta)
        size = self.n_parameters
        products = Gram(size)
        diagonal = np.zeros((self.n_free, self.n_features, self.n_features))
        height = max(1, _CHUNK_ENTRIES // size)
        for first in range(0, rows.n, height):
            part = slice(first, min(first + height, rows.n))
            features, probs, _ = self._softmax(change, part)
            weights = rows.weights[part] / rows.total_weight
            probs = probs[:, self.free]
            products.add(_row_products(probs, features), weights)
            for k in range(self.n_free):
                weighted = (weights * probs[:, k])[:, None] * features
                diagonal[k] += features.T @ weighted
        hessian = self.ridge * np.eye(size) - products.total()
        blocks = hessian.reshape(self.n_free, self.n_features, self.n_free, -1)
        for k in range(self.n_free):
            blocks[k, :, k, :] += diagonal[k]
        return hessian

    def std_err(self, theta: FloatArray) -> tuple[FloatMatrix, BoolArray]:
        """Return sandwich standard errors (F, K + 1), and the classes that ran off."""
        hessian = self._hessian(theta)
        scores = Gram(self.n_parameters)
        for features, residuals, _ in self._chunks(theta, self.n_free):
            scores.add(_row_products(residuals, features), np.ones(len(features)))
        meat = scores.total()
        shape = (self.n_free, self.n_features)
        curvature = self._factor(hessian)
        std_err = np.sqrt(curvature.sandwich(meat)).reshape(shape)
        ran_off = np.diag(hessian).reshape(shape)[:, -1] - self.ridge < FLAT
        std_err[ran_off] = np.nan
        return std_err, ran_off


def _row_products(left: FloatMatrix, right: FloatMatrix) -> FloatMatrix:
    """Return each row's products left_j right_l, shape (m, J L)."""
    products = left[:, :, None] * right[:, None, :]
    return np.asarray(products.reshape(len(left), -1))


def _minimise_lbfgs(problem: _MultinomialLoss, start: FloatArray) -> FloatArray:
    from scipy.optimize import minimize

    result = minimize(
        problem.evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return np.asarray(result.x)
