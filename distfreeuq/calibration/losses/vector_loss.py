"""The loss of vector scaling: value, gradient and Hessian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._kernels import _mixture, _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import ROWS_BY_LABEL, count_blocks
from distfreeuq._numerics.gram_sums import Gram
from distfreeuq._numerics.newton import FactoredHessian
from distfreeuq.calibration.data import CalibrationRows
from distfreeuq.calibration.results import Outcome

ABSENT_BIAS = -50.0
"""Bias of a class that no row is labelled as, whose optimum is minus infinity."""
FLAT = 1e-8
"""FactoredHessian in a class's bias below which its parameters count as diverged."""
_CHUNK_ENTRIES = 1 << 20


def affine_softmax(
    logits: FloatMatrix, scale: FloatArray, bias: FloatArray
) -> FloatMatrix:
    """Return softmax(scale * logits + bias) by rows, in the logits' precision."""
    probs = np.empty_like(logits)
    scratch = np.empty((count_blocks(logits), logits.shape[1]))
    threads = threads_for(logits.size)
    _softmax._affine_softmax(logits, scale, bias, scratch, probs, threads)
    return probs


def affine_outcome(
    rows: CalibrationRows, scale: FloatArray, bias: FloatArray
) -> Outcome:
    """Return what becomes of the rows with softmax(scale * logits + bias)."""
    tops = np.empty(rows.n, dtype=np.int64)
    confidence, losses = np.empty(rows.n), np.empty(rows.n)
    _softmax._describe_affine(
        rows.logits,
        rows.labels,
        scale,
        bias,
        np.empty((count_blocks(rows.logits), rows.n_classes)),
        tops,
        confidence,
        losses,
        threads_for(rows.logits.size),
    )
    return Outcome(tops, confidence, losses)


def vector_nll(
    rows: CalibrationRows, scale: FloatArray, bias: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean NLL of softmax(scale * logits + bias), and its gradient (2K,)."""
    n_blocks = count_blocks(rows.logits)
    sums = np.zeros((n_blocks, 1 + 2 * rows.n_classes))
    _softmax._sum_vector_nll(
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

    def on(self, rows: CalibrationRows, ridge: float) -> VectorLoss:
        """Return the same loss for other rows."""
        return VectorLoss(rows, self.free, ridge)

    @property
    def own(self) -> BoolArray:
        """Classes whose parameters are free, shape (K,): both of a class, or none."""
        return self.free[: self.rows.n_classes]

    @property
    def neutral(self) -> FloatArray:
        """The free parameters that leave the logits as they are."""
        return self._neutral()[self.free]

    def _neutral(self) -> FloatArray:
        return np.repeat([1.0, 0.0], self.rows.n_classes)

    def expand(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return all scales and all biases (K,)."""
        full = self._neutral()
        full[~self.free & (np.arange(full.size) >= self.rows.n_classes)] = ABSENT_BIAS
        full[self.free] = theta
        return full[: self.rows.n_classes], full[self.rows.n_classes :]

    def center(self, theta: FloatArray) -> FloatArray:
        """Return the same map with biases that sum to zero, unless a ridge decides."""
        if self.ridge > 0.0:
            return theta
        biases = np.repeat([0.0, 1.0], self.rows.n_classes)[self.free]
        return np.asarray(theta - biases * (biases @ theta) / biases.sum())

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""
        loss, gradient = vector_nll(self.rows, *self.expand(theta))
        if self.ridge == 0.0:  # of steps so long that their squares overflow too
            return loss, gradient[self.free]
        away = theta - self.neutral
        loss += 0.5 * self.ridge * float(away @ away)
        return loss, gradient[self.free] + self.ridge * away

    def curvature(self, theta: FloatArray) -> FactoredHessian:
        """Return the factored Hessian."""
        return self.factor(self.derivatives(theta)[1])

    def rough_curvature(self, theta: FloatArray) -> FactoredHessian:
        """Return the factored Hessian to about six digits, in half the time."""
        return self.factor(self.derivatives(theta, single=True)[1])

    def factor(self, hessian: FloatMatrix) -> FactoredHessian:
        """Return the loss's Hessian from that of the mean NLL, both in what is free."""
        if self.ridge > 0.0:
            hessian = hessian + self.ridge * np.eye(len(hessian))
            return FactoredHessian(hessian, np.zeros((len(hessian), 0)))
        level = np.repeat([0.0, 1.0], self.rows.n_classes)[self.free]
        return FactoredHessian(hessian, (level / np.sqrt(level.sum()))[:, None])

    def derivatives(
        self,
        theta: FloatArray,
        *,
        single: bool = False,
        scores: ScoreProducts | None = None,
    ) -> tuple[FloatArray, FloatMatrix]:
        """Return the gradient of the loss, and the Hessian of the mean NLL.

        Both are in the parameters of the J classes that are free, so that a few rows of
        many classes make small matrices. With rows x = (p z, p) the Hessian (2J, 2J) is
        the mean of diagonals minus x x'. `scores` is made from the same rows, if given.
        """
        weights, own = self.rows.weights, np.flatnonzero(self.own)
        products = Gram(2 * own.size, single=single)

        def take(x: FloatMatrix, part: slice) -> None:
            if own.size < self.rows.n_classes:
                x = np.ascontiguousarray(x[:, self.free])
            products.add(x, weights[part])
            if scores is not None:
                scores.add(x, part)

        second, mean, mass = self.diagonals(theta, take)[:, own]
        outer = products.total()
        if scores is not None:
            scores.finish(outer)
        hessian = -outer / self.rows.total_weight
        k, n_own = np.arange(own.size), own.size
        hessian[k, k] += second
        hessian[k, n_own + k] += mean
        hessian[n_own + k, k] += mean
        hessian[n_own + k, n_own + k] += mass
        gradient = np.concatenate([mean, mass]) - self._label_means()[self.free]
        return gradient + self.ridge * (theta - self.neutral), hessian

    def _label_means(self) -> FloatArray:
        """Return the means (2K,) of z_k and of 1 over the rows with label k."""
        rows = self.rows
        z = rows.logits[np.arange(rows.n), rows.labels]
        sums = [
            np.bincount(rows.labels, weights, rows.n_classes)
            for weights in (rows.weights * z, rows.weights)
        ]
        return np.concatenate(sums) / rows.total_weight

    def diagonals(
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
            _softmax._fill_vector_rows(logits, weights, scale, bias, x, sums, threads)
            if take is not None:
                take(x, part)
        means = sums.sum(axis=0).reshape(3, rows.n_classes) / rows.total_weight
        return np.asarray(means)


class ScoreProducts:
    """Sum of the outer products of the rows' weighted scores: the sandwich's meat.

    A row's score is w (x - l) with x = (p z, p) and l = (z_y e_y, e_y), y its label.
    The products x x' are those of the Hessian, unless weights differ; those with l are
    sums of rows by label, which cost next to nothing.

    Parameters
    ----------
    rows : CalibrationRows
    own : ndarray (K,)
        The J classes that the products are of; rows of others have weight zero.
    """

    __slots__ = ("_by_label", "_labels", "_outer", "_rows", "_z", "total")

    def __init__(self, rows: CalibrationRows, own: BoolArray) -> None:
        n_classes = int(own.sum())
        width = 2 * n_classes
        self._labels = np.where(own, np.cumsum(own) - 1, 0)[rows.labels]
        n_blocks = ROWS_BY_LABEL.count_for_any_work(n_classes * width)
        self._rows = rows
        self._z = rows.logits[np.arange(rows.n), rows.labels].astype(np.float64)
        self._by_label = np.zeros((2, n_blocks, n_classes, width))
        self._outer = Gram(width) if rows.is_weighted else None
        self.total = np.zeros((width, width))

    def add(self, x: FloatMatrix, part: slice) -> None:
        """Take in some rows (p z, p), and where they stand."""
        labels, squares = self._labels[part], self._rows.weights[part] ** 2
        for sums, weights in zip(
            self._by_label, (squares * self._z[part], squares), strict=True
        ):
            threads = threads_for(x.size)
            _mixture._sum_by_class(x, labels, weights, sums, threads)
        if self._outer is not None:
            self._outer.add(x, squares)

    def finish(self, outer: FloatMatrix) -> None:
        """Set `total` (2J, 2J); `outer` is the weighted sum of x x'."""
        n_classes, squares = len(outer) // 2, self._rows.weights**2
        if self._outer is not None:
            outer = self._outer.total()
        crossed = self._by_label.sum(axis=1).reshape(outer.shape)
        self.total = outer - crossed - crossed.T
        second, first, count = (
            np.bincount(self._labels, squares * self._z**power, n_classes)
            for power in (2, 1, 0)
        )
        k = np.arange(n_classes)
        self.total[k, k] += second
        self.total[k, n_classes + k] += first
        self.total[n_classes + k, k] += first
        self.total[n_classes + k, n_classes + k] += count
