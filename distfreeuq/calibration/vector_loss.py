"""The loss of vector scaling: value, gradient, Hessian and standard errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distfreeuq._kernels import _scaling
from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix
from distfreeuq.calibration.gram import Gram
from distfreeuq.calibration.newton import Curvature, minimise_convex
from distfreeuq.calibration.rows import CalibrationRows, count_blocks
from distfreeuq.threads import threads_for

ABSENT_BIAS = -50.0
"""Of a class that no row is labelled as: its optimum is minus infinity."""
FLAT = 1e-8
"""Curvature in a class's bias below which its parameters have run off to infinity."""
MAX_NEWTON_PARAMETERS = 400
"""Beyond these a Hessian takes longer than the gradients it saves."""
MAX_STD_ERR_PARAMETERS = 1000
"""Beyond these there are no standard errors."""
_CHUNK_ENTRIES = 1 << 20
_SAMPLE_PER_PARAMETER = 25
_SAMPLE_RIDGE = 1e-3
_SAMPLE_TOLERANCE = 1e-6


def affine_softmax(
    logits: FloatMatrix, scale: FloatArray, bias: FloatArray
) -> FloatMatrix:
    """Return softmax(scale * logits + bias) by rows, in the logits' precision."""
    probs = np.empty_like(logits)
    scratch = np.empty((count_blocks(logits), logits.shape[1]))
    threads = threads_for(logits.size)
    _scaling._affine_softmax(logits, scale, bias, scratch, probs, threads)
    return probs


def vector_loss(
    rows: CalibrationRows, scale: FloatArray, bias: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean NLL of softmax(scale * logits + bias), and its gradient (2K,)."""
    n_blocks = count_blocks(rows.logits)
    sums = np.zeros((n_blocks, 1 + 2 * rows.n_classes))
    _scaling._sum_vector_nll(
        rows.logits,
        rows.labels,
        rows.weights,
        scale,
        bias,
        np.empty((n_blocks, rows.n_classes)),
        sums,
        threads_for(rows.logits.size),
    )
    means = sums.sum(axis=0) / rows.total_weight
    return float(means[0]), means[1:]


class VectorLoss:
    """Mean NLL plus ridge as a function of those parameters that are free.

    Parameters
    ----------
    rows : CalibrationRows
    free : ndarray (2K,)
        Scales, then biases. A scale that is not free is 1, a bias `ABSENT_BIAS`.
    ridge : float
    """

    __slots__ = ("free", "ridge", "rows")

    def __init__(self, rows: CalibrationRows, free: BoolArray, ridge: float) -> None:
        self.rows, self.free, self.ridge = rows, free, ridge

    def expand(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return all scales and all biases (K,)."""
        full = self._neutral()
        full[~self.free & (np.arange(full.size) >= self.rows.n_classes)] = ABSENT_BIAS
        full[self.free] = theta
        return full[: self.rows.n_classes], full[self.rows.n_classes :]

    def _neutral(self) -> FloatArray:
        """Return the parameters (2K,) that leave the logits as they are."""
        return np.repeat([1.0, 0.0], self.rows.n_classes)

    def minimise(self) -> FloatArray:
        """Return the free parameters of smallest loss.

        The optimum for a sample of the rows and the Hessian there are so near that a
        few gradients over all rows remain.
        """
        neutral = self._neutral()[self.free]
        if neutral.size > MAX_NEWTON_PARAMETERS:
            return self._minimise_lbfgs(neutral)
        stride = self.rows.n // (_SAMPLE_PER_PARAMETER * neutral.size)
        if stride < 3:
            return minimise_convex(self.evaluate, self.curvature, neutral)
        # the ridge keeps classes that the sample lacks from running off
        sample = VectorLoss(
            self.rows.every(stride), self.free, max(self.ridge, _SAMPLE_RIDGE)
        )
        start = minimise_convex(
            sample.evaluate, sample.curvature, neutral, tolerance=_SAMPLE_TOLERANCE
        )
        return minimise_convex(self.evaluate, self.curvature, start)

    def _minimise_lbfgs(self, neutral: FloatArray) -> FloatArray:
        """Minimise without a Hessian; its diagonal alone makes units comparable."""
        from scipy.optimize import minimize

        second, _, mass = self._diagonals(neutral)
        size = np.sqrt(np.concatenate([second, mass])[self.free] + self.ridge)
        units = 1.0 / np.maximum(size, 1e-3 * size.max())

        def evaluate(steps: FloatArray) -> tuple[float, FloatArray]:
            loss, gradient = self.evaluate(neutral + units * steps)
            return loss, units * gradient

        found = minimize(
            evaluate,
            np.zeros(neutral.size),
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
        theta = np.asarray(neutral + units * found.x)
        if self.ridge == 0.0:  # biases that differ by a constant are the same
            biases = np.repeat([False, True], self.rows.n_classes)[self.free]
            theta[biases] -= theta[biases].mean()
        return theta

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""
        loss, gradient = vector_loss(self.rows, *self.expand(theta))
        away = theta - self._neutral()[self.free]
        loss += 0.5 * self.ridge * float(away @ away)
        return loss, gradient[self.free] + self.ridge * away

    def curvature(self, theta: FloatArray) -> Curvature:
        """Return the factored Hessian."""
        return self._factor(self._hessian(theta))

    def std_err(self, theta: FloatArray) -> tuple[FloatMatrix, BoolArray]:
        """Return sandwich standard errors (2, K), and which classes ran off (K,)."""
        n_classes = self.rows.n_classes
        if theta.size > MAX_STD_ERR_PARAMETERS:
            mass = self._diagonals(theta)[2]
            return np.full((2, n_classes), np.nan), self.free[n_classes:] & (
                mass < FLAT
            )
        scores = Gram(2 * n_classes)
        hessian = self._hessian(theta, scores=scores)
        meat = scores.total()[np.ix_(self.free, self.free)]
        meat /= self.rows.total_weight**2
        variances = np.full(2 * n_classes, np.nan)
        variances[self.free] = self._factor(hessian).sandwich(meat)
        flat = self.free[n_classes:] & (np.diag(hessian)[n_classes:] < FLAT)
        variances[np.tile(flat, 2)] = np.nan
        return np.sqrt(variances).reshape(2, n_classes), flat

    def _factor(self, hessian: FloatMatrix) -> Curvature:
        n_classes = self.rows.n_classes
        inside = hessian[np.ix_(self.free, self.free)]
        if self.ridge > 0.0:
            inside = inside + self.ridge * np.eye(len(inside))
            return Curvature(inside, np.zeros((len(inside), 0)))
        level = np.repeat([0.0, 1.0], n_classes)[self.free]
        return Curvature(inside, (level / np.sqrt(level.sum()))[:, None])

    def _hessian(self, theta: FloatArray, *, scores: Gram | None = None) -> FloatMatrix:
        """Return the Hessian (2K, 2K) of the mean NLL.

        With rows x = (p z, p) it is the mean of diagonals minus x x'. The weighted
        scores of all rows are added to `scores`, if given.
        """
        n_classes = self.rows.n_classes
        products = Gram(2 * n_classes)

        def take(x: FloatMatrix, part: slice) -> None:
            weights = self.rows.weights[part]
            products.add(x, weights)
            if scores is not None:
                self._subtract_labels(x, part)
                scores.add(x, weights**2)

        second, mean, mass = self._diagonals(theta, take)
        hessian = -products.total() / self.rows.total_weight
        k = np.arange(n_classes)
        hessian[k, k] += second
        hessian[k, n_classes + k] += mean
        hessian[n_classes + k, k] += mean
        hessian[n_classes + k, n_classes + k] += mass
        return hessian

    def _diagonals(
        self,
        theta: FloatArray,
        take: Callable[[FloatMatrix, slice], None] | None = None,
    ) -> FloatMatrix:
        """Return the means (3, K) of p z^2, p z and p.

        Hands rows (p z, p) to `take`, a chunk at a time, with the place of the chunk.
        """
        rows, width = self.rows, 2 * self.rows.n_classes
        scale, bias = self.expand(theta)
        height = min(rows.n, max(1, _CHUNK_ENTRIES // width))
        buffer = np.empty((height, width))
        sums = np.zeros((count_blocks(rows.logits), 3 * rows.n_classes))
        for first in range(0, rows.n, height):
            part = slice(first, min(first + height, rows.n))
            logits, weights = rows.logits[part], rows.weights[part]
            x = buffer[: len(logits)]
            threads = threads_for(logits.size)
            _scaling._fill_vector_rows(logits, weights, scale, bias, x, sums, threads)
            if take is not None:
                take(x, part)
        means = sums.sum(axis=0).reshape(3, rows.n_classes) / rows.total_weight
        return np.asarray(means)

    def _subtract_labels(self, x: FloatMatrix, part: slice) -> None:
        """Turn rows (p z, p) into scores ((p - e) z, p - e), in place."""
        labels, n_classes = self.rows.labels[part], self.rows.n_classes
        everyone = np.arange(len(labels))
        x[everyone, labels] -= self.rows.logits[part][everyone, labels]
        x[everyone, n_classes + labels] -= 1.0
