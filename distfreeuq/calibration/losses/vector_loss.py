"""The loss of vector scaling: value, gradient and Hessian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._kernels import _mixture, _softmax
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import ROWS_BY_LABEL, count_blocks
from distfreeuq._numerics.gram_sums import Gram
from distfreeuq._numerics.newton import FactoredHessian
from distfreeuq.calibration.results import Outcome
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows

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


def vector_nll_sums(
    rows: CalibrationRows, scale: FloatArray, bias: FloatArray
) -> FloatArray:
    """Return the summed NLL of softmax(scale * logits + bias), and its gradient."""
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
    return np.asarray(sums.sum(axis=0))


class VectorLoss:
    """Mean NLL plus ridge as a function of those parameters that are free.

    Parameters
    ----------
    rows : CalibrationRows or RowsInBlocks
    free : ndarray (2K,)
        Scales, then biases. A scale that is not free is 1, a bias `ABSENT_BIAS`.
    ridge : float
    """

    __slots__ = ("free", "ridge", "rows")

    def __init__(self, rows: FitRows, free: BoolArray, ridge: float) -> None:
        self.rows: FitRows = rows
        self.free, self.ridge = free, ridge

    def on(self, rows: FitRows, ridge: float) -> VectorLoss:
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
        scale, bias = self.expand(theta)
        nll = partial(vector_nll_sums, scale=scale, bias=bias)
        means = self.rows.parts.total(nll) / self.rows.total_weight
        loss, gradient = float(means[0]), means[1:]
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
        self, theta: FloatArray, *, single: bool = False
    ) -> tuple[FloatArray, FloatMatrix]:
        """Return the gradient of the loss, and the Hessian of the mean NLL.

        Both are in the parameters of the J classes that are free, so that a few rows of
        many classes make small matrices. With rows x = (p z, p) the Hessian (2J, 2J) is
        the mean of diagonals minus x x'.
        """
        return self._derivatives(theta, single, False)[:2]

    def derivatives_and_scores(
        self, theta: FloatArray
    ) -> tuple[FloatArray, FloatMatrix, FloatMatrix]:
        """Return the same, and the summed outer products of the rows' scores."""
        return self._derivatives(theta, False, True)

    def _derivatives(
        self, theta: FloatArray, single: bool, with_scores: bool
    ) -> tuple[FloatArray, FloatMatrix, FloatMatrix]:
        make = _VectorProducts(
            self.free,
            *self.expand(theta),
            with_scores and self.rows.is_weighted,
            single,
            with_scores,
        )
        found, own = self.rows.parts.total(make), np.flatnonzero(self.own)
        total = self.rows.total_weight
        means = found.diagonals.reshape(3, self.rows.n_classes) / total
        second, mean, mass = means[:, own]
        hessian = -found.outer / total
        k, n_own = np.arange(own.size), own.size
        hessian[k, k] += second
        hessian[k, n_own + k] += mean
        hessian[n_own + k, k] += mean
        hessian[n_own + k, n_own + k] += mass
        of_labels = (found.of_labels / total)[self.free]
        gradient = np.concatenate([mean, mass]) - of_labels
        gradient = gradient + self.ridge * (theta - self.neutral)
        return gradient, hessian, found.scores

    def diagonals(self, theta: FloatArray) -> FloatMatrix:
        """Return the means (3, K) of p z^2, p z and p."""
        scale, bias = self.expand(theta)
        sums = self.rows.parts.total(partial(diagonal_sums, scale=scale, bias=bias))
        means = sums.reshape(3, self.rows.n_classes) / self.rows.total_weight
        return np.asarray(means)


def diagonal_sums(
    rows: CalibrationRows,
    scale: FloatArray,
    bias: FloatArray,
    take: Callable[[FloatMatrix, slice], None] | None = None,
) -> FloatArray:
    """Return the sums (3K,) of p z^2, p z and p.

    Hands rows (p z, p) to `take`, a chunk at a time, with the place of the chunk.
    """
    width = 2 * rows.n_classes
    height = min(rows.n, max(1, _CHUNK_ENTRIES // width))
    buffer = np.empty((height, width))
    sums = np.zeros((count_blocks(rows.logits), 3 * rows.n_classes))
    for first in range(0, rows.n, max(height, 1)):
        part = slice(first, min(first + height, rows.n))
        logits, weights = rows.logits[part], rows.weights[part]
        x = buffer[: len(logits)]
        threads = threads_for(logits.size)
        _softmax._fill_vector_rows(logits, weights, scale, bias, x, sums, threads)
        if take is not None:
            take(x, part)
    return np.asarray(sums.sum(axis=0))


def label_sums(rows: CalibrationRows) -> FloatArray:
    """Return the sums (2K,) of z_k and of 1 over the rows with label k."""
    z = rows.logits[np.arange(rows.n), rows.labels]
    sums = [
        np.bincount(rows.labels, weights, rows.n_classes)
        for weights in (rows.weights * z, rows.weights)
    ]
    return np.concatenate(sums)


class _Products(NamedTuple):
    """Sums over rows that the derivatives are made of.

    `diagonals` are those of `diagonal_sums`, `outer` (2J, 2J) is that of x x',
    `of_labels` those of `label_sums`, and `scores` the sandwich's meat.
    """

    diagonals: FloatArray
    outer: FloatMatrix
    of_labels: FloatArray
    scores: FloatMatrix


@dataclass(frozen=True, slots=True)
class _VectorProducts:
    """Sums these over some rows."""

    free: BoolArray
    scale: FloatArray
    bias: FloatArray
    is_weighted: bool
    single: bool
    with_scores: bool

    def __call__(self, rows: CalibrationRows) -> _Products:
        own = self.free[: rows.n_classes]
        n_own = int(own.sum())
        products = Gram(2 * n_own, single=self.single)
        scores = None
        if self.with_scores:
            scores = ScoreProducts(rows, own, self.is_weighted)

        def take(x: FloatMatrix, part: slice) -> None:
            if n_own < rows.n_classes:
                x = np.ascontiguousarray(x[:, self.free])
            products.add(x, rows.weights[part])
            if scores is not None:
                scores.add(x, part)

        diagonals = diagonal_sums(rows, self.scale, self.bias, take)
        outer = products.total()
        meat = np.zeros((0, 0)) if scores is None else scores.finish(outer)
        return _Products(diagonals, outer, label_sums(rows), meat)


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
    is_weighted : bool
        Whether the weights of all rows differ, of which these are some.
    """

    __slots__ = ("_by_label", "_labels", "_outer", "_rows", "_z")

    def __init__(
        self, rows: CalibrationRows, own: BoolArray, is_weighted: bool
    ) -> None:
        n_classes = int(own.sum())
        width = 2 * n_classes
        self._labels = np.where(own, np.cumsum(own) - 1, 0)[rows.labels]
        n_blocks = ROWS_BY_LABEL.count_for_any_work(n_classes * width)
        self._rows = rows
        self._z = rows.logits[np.arange(rows.n), rows.labels].astype(np.float64)
        self._by_label = np.zeros((2, n_blocks, n_classes, width))
        self._outer = Gram(width) if is_weighted else None

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

    def finish(self, outer: FloatMatrix) -> FloatMatrix:
        """Return the sum (2J, 2J); `outer` is the weighted one of x x'."""
        n_classes, squares = len(outer) // 2, self._rows.weights**2
        if self._outer is not None:
            outer = self._outer.total()
        crossed = self._by_label.sum(axis=1).reshape(outer.shape)
        total: FloatMatrix = outer - crossed - crossed.T
        second, first, count = (
            np.bincount(self._labels, squares * self._z**power, n_classes)
            for power in (2, 1, 0)
        )
        k = np.arange(n_classes)
        total[k, k] += second
        total[k, n_classes + k] += first
        total[n_classes + k, k] += first
        total[n_classes + k, n_classes + k] += count
        return total
