"""Anderson-Rubin intervals: without inverting the confusion matrix.

The region holds the weights w >= 0 whose residual C w - mu is within the sampling noise
that these very weights imply (theory page, 4.5); the intervals are its projections.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.user_warnings import warn_user
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.label_shift.confusion import Confusion

# Added to the covariance, relatively: at w = 1 the residual and its covariance both
# vanish along (1, ..., 1).
_RIDGE = 1e-12
# And absolutely, as one class alone has no noise at all.
_NO_NOISE = 1e-200

# A weight that may be as large as this is reported as unbounded.
_FAR = 1e6


class AndersonRubin:
    """The statistic (C w - mu)' S(w)^-1 (C w - mu) of hard predictions."""

    def __init__(self, confusion: Confusion) -> None:
        self.c, self.mu = confusion.matrix, confusion.frequencies
        self.n = confusion.n
        self.target = (np.diag(self.mu) - np.outer(self.mu, self.mu)) / confusion.m
        self.prior = self.c.sum(axis=0)
        self.df = int(((self.c.sum(axis=1) + self.mu) > 0).sum())

    def _residual(self, w: FloatArray) -> tuple[FloatArray, FloatMatrix]:
        """Return C w - mu and its covariance matrix S(w)."""
        cw = self.c @ w
        noise = (np.diag(self.c @ w**2) - np.outer(cw, cw)) / self.n + self.target
        noise[np.diag_indices_from(noise)] += _RIDGE * np.trace(noise) + _NO_NOISE
        return cw - self.mu, noise

    def statistic(self, w: FloatArray) -> float:
        """Return the statistic at w, chi-squared in the limit at the true weights."""
        scores = self.scores(w)
        return float(scores @ scores)

    def limit(self, alpha: float) -> float:
        """Return what the statistic exceeds with probability alpha, in the limit."""
        return float(special.chdtri(self.df, alpha))

    def scores(self, w: FloatArray) -> FloatArray:
        """Return the standardised residuals, whose squares add up to the statistic."""
        from scipy.linalg import solve_triangular

        residual, noise = self._residual(w)
        try:
            root = np.linalg.cholesky(noise)
        except np.linalg.LinAlgError:  # by rounding, where weights differ very much
            values, vectors = np.linalg.eigh(noise)
            least = _RIDGE * float(np.abs(values).max()) + _NO_NOISE
            return np.asarray(
                (vectors.T @ residual) / np.sqrt(np.maximum(values, least))
            )
        return np.asarray(solve_triangular(root, residual, lower=True))

    def smallest(self, start: FloatArray, fixed: int | None = None) -> FloatArray:
        """Return the w >= 0 with the smallest statistic, one weight held if `fixed`.

        By least squares of the standardised residuals: the statistic is badly
        conditioned near w = 1, which Gauss-Newton handles and BFGS does not.
        """
        from scipy.optimize import least_squares

        free = np.arange(start.size) != fixed
        w = start.copy()

        def scores(x: FloatArray) -> FloatArray:
            w[free] = x
            return self.scores(w)

        x = np.maximum(start[free], 1e-8)
        solution = least_squares(scores, x, bounds=(0.0, np.inf), x_scale="jac")
        w[free] = solution.x
        better = self.statistic(w) <= self.statistic(start)
        return w if better else start


def anderson_rubin_intervals(confusion: Confusion, alpha: float) -> FloatMatrix:
    """Return the range of each weight over the region, shape (K, 2).

    They hold for all classes at once. If the region is empty, label shift is
    contradicted: the intervals shrink to the best-fitting weights, with a warning.
    """
    from scipy.optimize import nnls

    test = AndersonRubin(confusion)
    limit = test.limit(alpha)
    best = test.smallest(nnls(test.c, test.mu)[0])
    if test.statistic(best) > limit:
        warn_user(
            f"no weights fit the data at alpha={alpha:g}: label shift is contradicted, "
            "and the intervals are the best-fitting weights alone.",
            DistFreeWarning,
        )
        return np.column_stack([best, best])
    return np.array(
        [
            [_end(test, best, k, sign, limit) for sign in (-1, 1)]
            for k in range(best.size)
        ]
    )


def _end(
    test: AndersonRubin, best: FloatArray, k: int, sign: int, limit: float
) -> float:
    """Return the smallest (sign -1) or largest (sign 1) weight k of the region.

    Walk outwards until the statistic, smallest over the other weights, exceeds its
    limit; then bisect.
    """
    inside, step = best, max(0.1 * float(best[k]), 0.01)

    def moved(value: float) -> FloatArray:
        # start on sum p w = 1: off it, the statistic has a pole at equal weights
        w = inside.copy()
        w[k] = 0.0
        rest = float(test.prior @ w)
        w *= max(1.0 - test.prior[k] * value, 0.0) / rest if rest > 0 else 0.0
        w[k] = value
        return test.smallest(w, fixed=k)

    while True:
        outside = max(float(inside[k]) + sign * step, 0.0)
        w = moved(outside)
        if test.statistic(w) > limit:
            break
        if outside == 0.0 or outside > _FAR:
            return 0.0 if outside == 0.0 else np.inf
        inside, step = w, 2.0 * step
    while abs(outside - float(inside[k])) > 1e-6 * max(outside, 1e-3):
        middle = 0.5 * (outside + float(inside[k]))
        w = moved(middle)
        if test.statistic(w) > limit:
            outside = middle
        else:
            inside = w
    return outside
