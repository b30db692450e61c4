"""Logistic regressions on the same rows: on all of them, and on several parts.

A pass reads the rows once, for all parts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, BoolMatrix, FloatArray, FloatMatrix
from distfreeuq._kernels import _logistic
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.blocks import add_up, count_blocks
from distfreeuq._numerics.gram_sums import Gram
from distfreeuq._numerics.newton import FactoredHessian, minimize_convex
from distfreeuq._numerics.passes.row_parts import OnePart, Parts

# Columns up to which a Hessian is made; beyond, L-BFGS does without.
_MOST_BY_NEWTON = 400
# Squared Newton decrement of the mean loss at which a fit ends.
_TOLERANCE = 1e-14
# Rows of a first fit, from which the fit of many more starts.
_SAMPLE = 10_000
# Factor by which each step on the parts must reduce the squared decrements.
_CONTRACTION = 0.25
_MAX_STEPS = 30


def logistic_sums(
    design: FloatMatrix,
    targets: FloatArray,
    weights: FloatMatrix,
    parameters: FloatMatrix,
) -> FloatMatrix:
    """Return sums (r, 1 + p) of the losses and gradients of r weightings of the rows.

    Parameters
    ----------
    design : ndarray (n, p)
    targets : ndarray (n,)
        In [0, 1].
    weights : ndarray (n, r)
    parameters : ndarray (r, p)
    """
    n_parts, width = parameters.shape
    sums = np.zeros((count_blocks(design), n_parts, 1 + width))
    _logistic._sum_logistic_losses(
        design,
        targets,
        np.ascontiguousarray(weights),
        np.ascontiguousarray(parameters),
        sums,
        threads_for(n_parts * design.size),
    )
    return add_up(sums)


class DesignRows(NamedTuple):
    """Some rows to be told apart.

    Attributes
    ----------
    design : ndarray (n, p)
        Float64, the last column ones.
    labels : ndarray (n,)
        0 or 1.
    start : int
        Number of the first row among all.
    """

    design: FloatMatrix
    labels: FloatArray
    start: int = 0

    def of(self, marks: BoolMatrix | FloatMatrix) -> FloatMatrix:
        """Return these rows' part of what all rows have, as floats."""
        own = marks[self.start : self.start + len(self.labels)]
        return own.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class LogisticRows:
    """Rows to be told apart, and the penalty on the coefficients.

    Attributes
    ----------
    parts : parts of DesignRows
    n : int
        Number of rows.
    penalty : ndarray (p,)
        Ridge beside the sum of the losses; 0 for the intercept.
    """

    parts: Parts[DesignRows]
    n: int
    penalty: FloatArray

    def evaluate(
        self, thetas: FloatMatrix, marks: BoolMatrix | FloatMatrix
    ) -> tuple[FloatArray, FloatMatrix]:
        """Return mean losses (r,) and gradients (p, r) at thetas (p, r).

        Each is a mean over the rows that a column of ones and zeros (n, r) marks.
        """
        sums = self.parts.total(_SumLosses(thetas, marks))
        sizes = marks.sum(axis=0)
        pulled = self.penalty[:, None] * thetas
        losses = sums[:, 0] + 0.5 * np.einsum("ij,ij->j", thetas, pulled)
        return losses / sizes, (sums[:, 1:].T + pulled) / sizes

    def curvature(
        self, theta: FloatArray, mark: BoolArray | FloatArray
    ) -> FactoredHessian:
        """Return the Hessian of the mean loss of a part (n,)."""
        size = float(mark.sum())
        hessian = self.parts.total(_SumCurvature(theta, mark[:, None], size))
        hessian = hessian + np.diag(self.penalty / size)
        return FactoredHessian(hessian, np.zeros((theta.size, 0)))

    def log_odds(self, thetas: FloatMatrix) -> FloatMatrix:
        """Return the log-odds of all rows (n, r) at thetas (p, r)."""
        found = self.parts.total(_LogOdds(thetas), _join)
        found.sort(key=_start)
        return found[0][1] if len(found) == 1 else np.vstack([own for _, own in found])

    def every(self, stride: int) -> DesignRows:
        """Return every stride-th row, in memory."""
        found = self.parts.total(_Every(stride), _join)
        found.sort(key=_start)
        rows = [own for _, own in found]
        return DesignRows(
            np.concatenate([own.design for own in rows]),
            np.concatenate([own.labels for own in rows]),
        )

    @on_one_blas_thread
    def fit_all(self) -> tuple[FloatArray, FactoredHessian | None]:
        """Return the minimiser (p,) of all rows, and a Hessian from its neighbourhood.

        Many rows start from the fit of a few, evenly spaced.
        """
        n, p = self.n, self.penalty.size
        start: FloatArray = np.zeros(p)
        if n >= 4 * _SAMPLE and p <= _MOST_BY_NEWTON:
            few = self.every(n // _SAMPLE)
            start = LogisticRows(OnePart(few), few.labels.size, self.penalty).fit_all()[
                0
            ]
        all_rows = np.ones(n, dtype=np.bool_)
        if p > _MOST_BY_NEWTON:
            return self._by_lbfgs(all_rows, start), None
        metric = self.curvature(start, all_rows)
        theta = self._by_newton(all_rows, start, metric)
        is_near = start.any()
        return theta, metric if is_near else self.curvature(theta, all_rows)

    @on_one_blas_thread
    def fit_parts(
        self, parts: BoolMatrix, start: FloatArray, metric: FactoredHessian | None
    ) -> FloatMatrix:
        """Return the minimisers (p, r) of the rows that the columns (n, r) mark.

        The loss is strictly convex, so that a minimiser depends on the rows of its part
        alone, and not on `start` and `metric`, the fit of all rows and its Hessian:
        they only make the way short.
        """
        if metric is None:
            return np.column_stack([self._by_lbfgs(m, start) for m in parts.T])
        thetas = np.repeat(start[:, None], parts.shape[1], axis=1)
        before = np.full(thetas.shape[1], np.inf)
        for _ in range(_MAX_STEPS):
            gradients = self.evaluate(thetas, parts)[1]
            steps = metric.solve(gradients)
            decrements = np.einsum("ij,ij->j", gradients, steps)
            if (decrements > _CONTRACTION * before).any():
                break  # the parts are too unlike the whole for its Hessian
            thetas -= steps
            if decrements.max() <= _TOLERANCE:
                return thetas
            before = decrements
        return np.column_stack([self._by_newton(m, start, metric) for m in parts.T])

    def _by_newton(
        self, part: BoolArray, start: FloatArray, metric: FactoredHessian
    ) -> FloatArray:
        return minimize_convex(
            lambda theta: self._evaluate_one(theta, part),
            lambda theta: self.curvature(theta, part),
            start,
            metric=metric,
            tolerance=_TOLERANCE,
        )

    def _by_lbfgs(self, part: BoolArray, start: FloatArray) -> FloatArray:
        from scipy.optimize import minimize

        found = minimize(
            self._evaluate_one,
            start,
            args=(part,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9},
        )
        return np.asarray(found.x)

    def _evaluate_one(
        self, theta: FloatArray, part: BoolArray
    ) -> tuple[float, FloatArray]:
        losses, gradients = self.evaluate(theta[:, None], part[:, None])
        return float(losses[0]), gradients[:, 0]


@dataclass(frozen=True, slots=True)
class _SumLosses:
    """Sums losses and gradients of some rows, for several markings of all."""

    thetas: FloatMatrix
    marks: BoolMatrix | FloatMatrix

    def __call__(self, rows: DesignRows) -> FloatMatrix:
        own = rows.of(self.marks)
        return logistic_sums(rows.design, rows.labels, own, self.thetas.T)


@dataclass(frozen=True, slots=True)
class _SumCurvature:
    """Sums the Hessian of some rows' part of a mean loss."""

    theta: FloatArray
    marks: BoolMatrix | FloatMatrix
    size: float

    def __call__(self, rows: DesignRows) -> FloatMatrix:
        p = special.expit(rows.design @ self.theta)
        gram = Gram(self.theta.size)
        own = rows.of(self.marks)[:, 0]
        gram.add(rows.design, own * p * (1.0 - p) / self.size)
        return gram.total()


@dataclass(frozen=True, slots=True)
class _LogOdds:
    """Returns the log-odds of some rows, and the first one's number."""

    thetas: FloatMatrix

    def __call__(self, rows: DesignRows) -> list[tuple[int, FloatMatrix]]:
        return [(rows.start, np.asarray(rows.design @ self.thetas))]


@dataclass(frozen=True, slots=True)
class _Every:
    """Takes rows whose number among all is a multiple of the stride."""

    stride: int

    def __call__(self, rows: DesignRows) -> list[tuple[int, DesignRows]]:
        own = slice(-rows.start % self.stride, None, self.stride)
        taken = DesignRows(rows.design[own].copy(), rows.labels[own].copy())
        return [(rows.start, taken)]


def _start(piece: tuple[int, Any]) -> int:
    return piece[0]


def _join(found: Sequence[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(found))
