"""Anderson-Rubin intervals: without inverting the confusion matrix.

The region holds the weights w >= 0 whose residual C w - mu is within the sampling noise
that these very weights imply (theory page, 4.5); the intervals are its projections.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import special

from distfreeuq._typing import FloatArray, FloatMatrix
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.label_shift.confusion import Confusion

_RIDGE = 1e-12
"""Relative; at w = 1 the residual and its covariance both vanish along (1, ..., 1)."""


class AndersonRubin:
    """The statistic (C w - mu)' S(w)^-1 (C w - mu) of hard predictions."""

    def __init__(self, confusion: Confusion) -> None:
        self.c, self.mu = confusion.matrix, confusion.frequencies
        self.n = confusion.n
        self.target = (np.diag(self.mu) - np.outer(self.mu, self.mu)) / confusion.m
        self.df = int(((self.c.sum(axis=1) + self.mu) > 0).sum())

    def statistic(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the statistic and its gradient in w, shape (K,)."""
        cw = self.c @ w
        noise = (np.diag(self.c @ w**2) - np.outer(cw, cw)) / self.n + self.target
        noise[np.diag_indices_from(noise)] += _RIDGE * np.trace(noise)
        residual = cw - self.mu
        try:
            x = np.linalg.solve(noise, residual)
        except np.linalg.LinAlgError:  # no noise at all in some direction: outside
            return np.inf, np.zeros_like(w)
        along = x @ self.c
        by_noise = (2.0 * w * (x**2 @ self.c) - 2.0 * along * (x @ cw)) / self.n
        return float(residual @ x), 2.0 * along - by_noise


def anderson_rubin_intervals(confusion: Confusion, alpha: float) -> FloatMatrix:
    """Return the range of each weight over the region, shape (K, 2).

    They hold for all classes at once. If the region is empty, label shift is
    contradicted: the intervals shrink to the best-fitting weights, with a warning.
    """
    from scipy.optimize import minimize

    test = AndersonRubin(confusion)
    n_classes = test.mu.size
    limit = float(special.chdtri(test.df, alpha))
    limits = [(0.0, None)] * n_classes
    start = _best_fit(test)
    if test.statistic(start)[0] > limit:
        warnings.warn(
            f"no weights fit the data at alpha={alpha:g}: label shift is contradicted, "
            "and the intervals are the best-fitting weights alone.",
            DistFreeWarning,
            stacklevel=4,
        )
        return np.column_stack([start, start])
    inside = {
        "type": "ineq",
        "fun": lambda w: limit - test.statistic(w)[0],
        "jac": lambda w: -test.statistic(w)[1],
    }

    def end(k: int, sign: float) -> float:
        """Return the largest (sign 1) or smallest (sign -1) weight k of the region."""
        unit = np.zeros(n_classes)
        unit[k] = -sign
        solution = minimize(
            lambda w: float(unit @ w),
            start,
            jac=lambda w: unit,
            bounds=limits,
            constraints=[inside],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-10},
        )
        slack = limit * (1.0 + 1e-6)
        if np.isfinite(solution.x).all() and test.statistic(solution.x)[0] <= slack:
            return max(float(solution.x[k]), 0.0)
        return 0.0 if sign < 0 else np.inf  # not found: the widest answer is safe

    return np.array([[end(k, -1.0), end(k, 1.0)] for k in range(n_classes)])


def _best_fit(test: AndersonRubin) -> FloatArray:
    from scipy.optimize import minimize, nnls

    w, _ = nnls(test.c, test.mu)
    solution = minimize(
        test.statistic, w, jac=True, bounds=[(0.0, None)] * w.size, method="L-BFGS-B"
    )
    better = np.isfinite(solution.fun) and solution.fun <= test.statistic(w)[0]
    return np.asarray(solution.x) if better else np.asarray(w)
