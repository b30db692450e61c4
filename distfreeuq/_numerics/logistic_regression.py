"""Ridge logistic regressions on one matrix: on all its rows, and on several parts.

A pass reads the matrix once, for all parts together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolMatrix, FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.gram import Gram
from distfreeuq._numerics.logistic_sums import logistic_sums
from distfreeuq._numerics.newton import Curvature, minimise_convex

_MOST_BY_NEWTON = 400
"""Columns up to which a Hessian is made; beyond, L-BFGS does without."""
_TOLERANCE = 1e-14
"""Squared Newton decrement of the mean loss at which a fit is done."""
_SAMPLE = 10_000
"""Rows of a first fit, from which that of many more starts."""
_CONTRACTION = 0.25
_MAX_STEPS = 30


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

        Of the rows that r columns of ones and zeros (n, r) mark.
        """
        sums = logistic_sums(self.design, self.labels, parts, thetas.T)
        sizes = parts.sum(axis=0)
        pulled = self.penalty[:, None] * thetas
        losses = sums[:, 0] + 0.5 * np.einsum("ij,ij->j", thetas, pulled)
        return losses / sizes, (sums[:, 1:].T + pulled) / sizes

    def curvature(self, theta: FloatArray, part: FloatArray) -> Curvature:
        """Return the Hessian of the mean loss of a part (n,)."""
        size = float(part.sum())
        p = special.expit(self.design @ theta)
        gram = Gram(theta.size)
        gram.add(self.design, part * p * (1.0 - p) / size)
        hessian = gram.total() + np.diag(self.penalty / size)
        return Curvature(hessian, np.zeros((theta.size, 0)))

    @on_one_blas_thread
    def fit_everyone(self) -> tuple[FloatArray, Curvature | None]:
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
            start = few.fit_everyone()[0]
        everyone = np.ones(n)
        if p > _MOST_BY_NEWTON:
            return self._by_lbfgs(everyone, start), None
        metric = self.curvature(start, everyone)
        theta = self._by_newton(everyone, start, metric)
        is_near = start.any()
        return theta, metric if is_near else self.curvature(theta, everyone)

    @on_one_blas_thread
    def fit_parts(
        self, parts: BoolMatrix, start: FloatArray, metric: Curvature | None
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
        self, part: FloatArray, start: FloatArray, metric: Curvature
    ) -> FloatArray:
        return minimise_convex(
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
