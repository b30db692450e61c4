"""Logistic regression that tells target rows from source rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import BoolArray, BoolMatrix, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, maybe, real
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.logistic_regression import DesignRows, LogisticRows
from distfreeuq._numerics.passes.pooled_features import (
    FeatureRows,
    center_and_scale_of,
)
from distfreeuq._numerics.passes.row_parts import OnePart, Parts

_MOST_FOR_INFERENCE = 250_000
"""Entries of a matrix that statsmodels still fits in a fraction of a second."""
_BLOCK_ENTRIES = 1 << 15
_SEPARATED = 25.0
"""Log-odds of the unpenalised fit beyond which the samples count as separated."""


@register("linear-discriminator")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearDiscriminator:
    """Log-odds of target against source, linear in standardised features.

    Attributes
    ----------
    center, scale : ndarray (d,)
        Means and standard deviations by which features are standardised.
    coef : ndarray (d,)
        Coefficients of the ridge fit, by standard deviation of each feature.
    intercept : float
    glm_coef, glm_std_err : ndarray (d,) or None
        statsmodels' maximum likelihood estimates without ridge, and their standard
        errors; None for large or separated samples, NaN for a constant feature.
    """

    center: FloatArray
    scale: FloatArray
    coef: FloatArray
    intercept: float
    glm_coef: FloatArray | None
    glm_std_err: FloatArray | None

    _state: ClassVar[State] = {
        "center": floats("d", finite=True),
        "scale": floats("d", low=1e-170, nan=False),
        "coef": floats("d", finite=True),
        "intercept": real(),
        "glm_coef": maybe(floats("d")),
        "glm_std_err": maybe(floats("d")),
    }

    @property
    def n_features(self) -> int:
        """Number of columns d of x."""
        return self.coef.size

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
    x : ndarray (n, d) or parts of FeatureRows
        Source rows, then target rows.
    is_target : ndarray (n,)
    ridge : float
        Positive: it keeps coefficients finite where the samples are separable, and
        unique where d > n.
    """

    def __init__(
        self, x: FloatMatrix | Parts[FeatureRows], is_target: BoolArray, ridge: float
    ) -> None:
        n, parts = is_target.size, x
        if isinstance(parts, np.ndarray):
            parts = OnePart(FeatureRows(parts, is_target.astype(np.float64)))
        self.center, self.scale = center_and_scale_of(parts, n)
        designed = parts.then(_Standardize(self.center, self.scale))
        penalty = np.append(np.full(self.center.size, ridge), 0.0)
        self.rows = LogisticRows(designed, n, penalty)
        self.theta, self.metric = self.rows.fit_all()

    def fit_all(self) -> LinearDiscriminator:
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

    @on_one_blas_thread
    def held_out_log_odds(self, fits: BoolMatrix) -> FloatMatrix:
        """Return all rows' log-odds (n, r) by fits on the rows that r columns mark."""
        thetas = self.rows.fit_parts(fits, self.theta, self.metric)
        return self.rows.log_odds(thetas)

    def _inference(self) -> tuple[FloatArray | None, FloatArray | None]:
        n, p = self.rows.n, self.rows.penalty.size
        if n * p > _MOST_FOR_INFERENCE or n < 5 * p:
            return None, None
        design, labels, _ = self.rows.every(1)
        import statsmodels.api as sm
        from statsmodels.tools.sm_exceptions import ModelWarning

        varies = np.append(design[:, :-1].any(axis=0), True)
        with warnings.catch_warnings():  # separated samples are recognised below
            warnings.simplefilter("ignore", ModelWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            model = sm.GLM(labels, design[:, varies], family=sm.families.Binomial())
            fit = model.fit()
        if float(np.abs(model.exog @ fit.params).max()) > _SEPARATED:
            return None, None
        coef, std_err = np.full((2, p), np.nan)
        coef[varies], std_err[varies] = fit.params, fit.bse
        return read_only(coef[:-1]), read_only(std_err[:-1])


@dataclass(frozen=True, slots=True)
class _Standardize:
    """Makes the design matrix of some rows: on a common scale, and a column of ones."""

    center: FloatArray
    scale: FloatArray

    def __call__(self, rows: FeatureRows) -> DesignRows:
        x, (n, d) = rows.x, rows.x.shape
        design = np.empty((n, d + 1))
        step = max(1, _BLOCK_ENTRIES // (d + 1))
        for start in range(0, n, step):  # blocks that stay in the cache
            block = slice(start, start + step)
            away = x[block] - self.center
            np.divide(away, self.scale, out=design[block, :d])
        design[:, d] = 1.0
        return DesignRows(design, rows.labels, rows.start)
