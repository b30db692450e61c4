"""Logistic regressions on one matrix: on all its rows, and on several parts of them.

A pass reads the matrix once, for all parts together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolMatrix, FloatArray, FloatMatrix
from distfreeuq._kernels import _logistic
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.blocks import add_up, count_blocks
from distfreeuq._numerics.gram_sums import Gram
from distfreeuq._numerics.newton import FactoredHessian, minimize_convex

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


@dataclass(frozen=True, slots=True)
class LogisticRows:
    """Rows to be told apart, and the penalty on the coefficients.

    Attributes
    ----------
    design : ndarray (n, p)
        Float64, the last column ones.
    labels : ndarray (n,)
        0 or 1.
    penalty : ndarray (p,)
        Ridge beside the sum of the losses; 0 for the intercept.
    """

    design: FloatMatrix
    labels: FloatArray
    penalty: FloatArray

    def evaluate(
        self, thetas: FloatMatrix, parts: FloatMatrix
    ) -> tuple[FloatArray, FloatMatrix]:
        """Return mean losses (r,) and gradients (p, r) at thetas (p, r).

        Each is a mean over the rows that a column of ones and zeros (n, r) marks.
        """
        sums = logistic_sums(self.design, self.labels, parts, thetas.T)
        sizes = parts.sum(axis=0)
        pulled = self.penalty[:, None] * thetas
        losses = sums[:, 0] + 0.5 * np.einsum("ij,ij->j", thetas, pulled)
        return losses / sizes, (sums[:, 1:].T + pulled) / sizes

    def curvature(self, theta: FloatArray, part: FloatArray) -> FactoredHessian:
        """Return the Hessian of the mean loss of a part (n,)."""
        size = float(part.sum())
        p = special.expit(self.design @ theta)
        gram = Gram(theta.size)
        gram.add(self.design, part * p * (1.0 - p) / size)
        hessian = gram.total() + np.diag(self.penalty / size)
        return FactoredHessian(hessian, np.zeros((theta.size, 0)))

    @on_one_blas_thread
    def fit_all(self) -> tuple[FloatArray, FactoredHessian | None]:
        """Return the minimiser (p,) of all rows, and a Hessian from its neighbourhood.

        Many rows start from the fit of a few, evenly spaced.
        """
        n, p = self.design.shape
        start: FloatArray = np.zeros(p)
        if n >= 4 * _SAMPLE and p <= _MOST_BY_NEWTON:
            every = slice(None, None, n // _SAMPLE)
            few = LogisticRows(
                np.ascontiguousarray(self.design[every]),
                np.ascontiguousarray(self.labels[every]),
                self.penalty,
            )
            start = few.fit_all()[0]
        unit_weights = np.ones(n)
        if p > _MOST_BY_NEWTON:
            return self._by_lbfgs(unit_weights, start), None
        metric = self.curvature(start, unit_weights)
        theta = self._by_newton(unit_weights, start, metric)
        is_near = start.any()
        return theta, metric if is_near else self.curvature(theta, unit_weights)

    @on_one_blas_thread
    def fit_parts(
        self, parts: BoolMatrix, start: FloatArray, metric: FactoredHessian | None
    ) -> FloatMatrix:
        """Return the minimisers (p, r) of the rows that the columns (n, r) mark.

        The loss is strictly convex, so that a minimiser depends on the rows of its part
        alone, and not on `start` and `metric`, the fit of all rows and its Hessian:
        they only make the way short.
        """
        marks = parts.astype(np.float64)
        if metric is None:
            return np.column_stack([self._by_lbfgs(m, start) for m in marks.T])
        thetas = np.repeat(start[:, None], marks.shape[1], axis=1)
        before = np.full(thetas.shape[1], np.inf)
        for _ in range(_MAX_STEPS):
            gradients = self.evaluate(thetas, marks)[1]
            steps = metric.solve(gradients)
            decrements = np.einsum("ij,ij->j", gradients, steps)
            if (decrements > _CONTRACTION * before).any():
                break  # the parts are too unlike the whole for its Hessian
            thetas -= steps
            if decrements.max() <= _TOLERANCE:
                return thetas
            before = decrements
        return np.column_stack([self._by_newton(m, start, metric) for m in marks.T])

    def _by_newton(
        self, part: FloatArray, start: FloatArray, metric: FactoredHessian
    ) -> FloatArray:
        return minimize_convex(
            lambda theta: self._evaluate_one(theta, part),
            lambda theta: self.curvature(theta, part),
            start,
            metric=metric,
            tolerance=_TOLERANCE,
        )

    def _by_lbfgs(self, part: FloatArray, start: FloatArray) -> FloatArray:
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
        self, theta: FloatArray, part: FloatArray
    ) -> tuple[float, FloatArray]:
        losses, gradients = self.evaluate(theta[:, None], part[:, None])
        return float(losses[0]), gradients[:, 0]
