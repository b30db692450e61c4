"""Logistic regression that tells target rows from source rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import special

from distfreeuq._persistence import register
from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix
from distfreeuq.calibration.gram import Gram
from distfreeuq.calibration.newton import Curvature, minimise_convex
from distfreeuq.covariate_shift.networks import standardisation
from distfreeuq.results import read_only

_MOST_BY_NEWTON = 400
"""Columns up to which a Hessian is made; beyond, L-BFGS does without."""
_MOST_FOR_INFERENCE = 250_000
"""Entries of the matrix up to which statsmodels fits it in a fraction of a second."""
_SEPARATED = 25.0
"""Log-odds of the unpenalised fit beyond which it has run away: separated samples."""
_TOLERANCE = 1e-16


@register
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearDiscriminator:
    """Log-odds of target against source, linear in standardised features.

    Attributes
    ----------
    center, scale : ndarray (d,)
        Of the standardisation.
    coef : ndarray (d,)
        By standard deviation of each feature; from the ridge fit.
    intercept : float
    glm_coef, glm_std_err : ndarray (d,) or None
        statsmodels' maximum likelihood estimates without ridge, and their standard
        errors; None for large or separated samples.
    """

    center: FloatArray
    scale: FloatArray
    coef: FloatArray
    intercept: float
    glm_coef: FloatArray | None
    glm_std_err: FloatArray | None

    def log_odds(self, x: FloatMatrix) -> FloatArray:
        """Return log P(target | x) / P(source | x), shape (n,)."""
        return np.asarray((x - self.center) / self.scale @ self.coef + self.intercept)


class LogisticLearner:
    """Ridge fits on chosen rows of one pooled sample.

    The penalty is ridge/2 times the sum of squared coefficients of standardised
    features, beside the *sum* of the log losses (so scikit-learn's C is 1/ridge). The
    intercept is free.

    Parameters
    ----------
    x : ndarray (n, d)
        Source rows, then target rows.
    is_target : ndarray (n,)
    ridge : float
        Positive: it keeps coefficients finite where the samples are separable, and
        unique where d > n.
    """

    def __init__(self, x: FloatMatrix, is_target: BoolArray, ridge: float) -> None:
        self.center, self.scale = standardisation(x)
        n, d = x.shape
        self.design = np.empty((n, d + 1))
        np.subtract(x, self.center, out=self.design[:, :d])
        self.design[:, :d] /= self.scale
        self.design[:, d] = 1.0
        self.labels = is_target.astype(np.float64)
        self.penalty = np.append(np.full(d, ridge), 0.0)
        self.theta, self.metric = self._fit(np.ones(n), np.zeros(d + 1), None)

    def everyone(self) -> LinearDiscriminator:
        """Return the fit on all rows, with statsmodels' inference if it is cheap."""
        coef, std_err = self._inference()
        return LinearDiscriminator(
            center=read_only(self.center),
            scale=read_only(self.scale),
            coef=read_only(self.theta[:-1]),
            intercept=float(self.theta[-1]),
            glm_coef=coef,
            glm_std_err=std_err,
        )

    def held_out_log_odds(self, fit: BoolArray) -> FloatArray:
        """Return all rows' log-odds (n,) by a fit on the rows marked."""
        theta, _ = self._fit(fit.astype(np.float64), self.theta, self.metric)
        return np.asarray(self.design @ theta)

    def _fit(
        self, weights: FloatArray, start: FloatArray, metric: Curvature | None
    ) -> tuple[FloatArray, Curvature | None]:
        """Return the minimiser (d+1,), and the Hessian there if one was made.

        The loss is strictly convex but for an intercept that the data determine, so
        that neither start nor metric leave a trace in the minimiser.
        """
        n = float(weights.sum())
        weights, penalty = weights / n, self.penalty / n

        def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
            log_odds = self.design @ theta
            losses = np.logaddexp(0.0, log_odds) - self.labels * log_odds
            residuals = weights * (special.expit(log_odds) - self.labels)
            pulled = penalty * theta
            loss = float(weights @ losses) + 0.5 * float(theta @ pulled)
            return loss, residuals @ self.design + pulled

        def curvature(theta: FloatArray) -> Curvature:
            p = special.expit(self.design @ theta)
            gram = Gram(theta.size)
            gram.add(self.design, weights * p * (1.0 - p))
            hessian = gram.total() + np.diag(penalty)
            return Curvature(hessian, np.zeros((theta.size, 0)))

        if start.size <= _MOST_BY_NEWTON:
            theta = minimise_convex(
                evaluate, curvature, start, metric=metric, tolerance=_TOLERANCE
            )
            return theta, curvature(theta) if metric is None else None
        from scipy.optimize import minimize

        options = {"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9}
        found = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x), None

    def _inference(self) -> tuple[FloatArray | None, FloatArray | None]:
        n, p = self.design.shape
        if self.design.size > _MOST_FOR_INFERENCE or n < 5 * p:
            return None, None
        import statsmodels.api as sm

        varies = np.append(self.design[:, :-1].any(axis=0), True)
        with warnings.catch_warnings():  # of separation, which is judged above
            warnings.simplefilter("ignore")
            model = sm.GLM(
                self.labels, self.design[:, varies], family=sm.families.Binomial()
            )
            fit = model.fit()
        if float(np.abs(model.exog @ fit.params).max()) > _SEPARATED:
            return None, None
        coef, std_err = np.full((2, p), np.nan)
        coef[varies], std_err[varies] = fit.params, fit.bse
        return read_only(coef[:-1]), read_only(std_err[:-1])
