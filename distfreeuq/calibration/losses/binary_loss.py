"""The loss of a logistic regression with two labels: sums over parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.logistic_regression import logistic_sums
from distfreeuq._numerics.passes.row_parts import Parts


class Design(NamedTuple):
    """Some rows of a regression.

    Attributes
    ----------
    matrix : ndarray (n, p)
    targets : ndarray (n,)
        In [0, 1].
    weights : ndarray (n,)
        Shares of the total weight.
    """

    matrix: FloatMatrix
    targets: FloatArray
    weights: FloatArray


class LogLoss:
    """Mean log loss of linear log-odds, and its derivatives."""

    def __init__(self, parts: Parts[Design]) -> None:
        self._parts = parts

    def evaluate(self, theta: FloatArray) -> FloatArray:
        """Return the loss and, behind it, its gradient (1 + p,)."""
        return self._parts.total(_Losses(theta))

    def hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the Hessian (p, p)."""
        return self._parts.total(_Hessian(theta))

    def scores(self, theta: FloatArray) -> FloatMatrix:
        """Return the sum of the outer products of the rows' scores (p, p)."""
        return self._parts.total(_Scores(theta))

    def spread(self, theta: FloatArray) -> float:
        """Return the mean variance of the labels."""
        return self._parts.total(_Spread(theta))


@dataclass(frozen=True, slots=True)
class _Losses:
    theta: FloatArray

    def __call__(self, rows: Design) -> FloatArray:
        sums = logistic_sums(
            rows.matrix, rows.targets, rows.weights[:, None], self.theta[None, :]
        )
        return np.asarray(sums[0])


@dataclass(frozen=True, slots=True)
class _Hessian:
    theta: FloatArray

    def __call__(self, rows: Design) -> FloatMatrix:
        p = special.expit(rows.matrix @ self.theta)
        inner = (rows.weights * p * (1.0 - p))[:, None] * rows.matrix
        return np.asarray(rows.matrix.T @ inner)


@dataclass(frozen=True, slots=True)
class _Scores:
    theta: FloatArray

    def __call__(self, rows: Design) -> FloatMatrix:
        p = special.expit(rows.matrix @ self.theta)
        scored = (rows.weights * (p - rows.targets))[:, None] * rows.matrix
        return np.asarray(scored.T @ scored)


@dataclass(frozen=True, slots=True)
class _Spread:
    theta: FloatArray

    def __call__(self, rows: Design) -> float:
        p = special.expit(rows.matrix @ self.theta)
        return float(rows.weights @ (p * (1.0 - p)))
