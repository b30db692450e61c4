"""Temperatures of classes, some or all of them tied to one that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.calibration.inverse_temperature import (
    LossInAlpha,
    Minimum,
    ScaledRows,
    by_top,
    solve_increasing,
    together,
)
from distfreeuq.calibration.losses.temperature_loss import (
    CURVATURE,
    SQUARED_SCORE,
    WRONG,
)
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows
from distfreeuq.calibration.temperature import FittedGroups, temperature_std_err
from distfreeuq.calibration.tied.brier_temperatures import tie_brier

OWN, SHARED, AT_BOUND, LIMITED, NO_ERROR = range(5)


@dataclass(frozen=True, slots=True)
class FittedClasses:
    """Inverse temperatures of the predicted classes.

    Attributes
    ----------
    groups : FittedGroups
    status : ndarray (K,)
        `OWN`, `SHARED`, `AT_BOUND`, `LIMITED` or `NO_ERROR`.
    std_err : ndarray (K,)
        Standard errors of the temperatures.
    shared_alpha : float
        alpha_0; nan where there is none.
    """

    groups: FittedGroups
    status: IntArray
    std_err: FloatArray
    shared_alpha: float


class _Fit:
    """The passes over the rows that both ways of fitting have in common."""

    def __init__(
        self,
        rows: FitRows,
        group: Callable[[CalibrationRows], ScaledRows],
        n_groups: int,
        loss: str,
    ) -> None:
        self.rows = rows
        self.losses = LossInAlpha(rows, group, n_groups, loss)
        self.before, self.bins_before = self.losses.with_bins(np.ones(n_groups))

    def pooled(self, bounds: tuple[float, float]) -> Minimum:
        """Return the minimum of all rows together, with one temperature."""
        loss = "brier" if self.losses.brier else "nll"
        pooled = LossInAlpha(self.rows, together, 1, loss)
        return pooled.minimize(bounds, self.before.sum(axis=0, keepdims=True))

    def finish(self, minimum: Minimum) -> FittedGroups:
        """Return the fit with confidences as the last passes left them."""
        return FittedGroups(minimum, self.before, self.bins_before, self.losses.bins())


def fit_separately(
    rows: FitRows, own: BoolArray, loss: str, bounds: tuple[float, float]
) -> FittedClasses:
    """Fit classes by themselves, eq. (4.3) of Zhao, Chen and Oymak (2020).

    Those that `own` (K,) does not mark share the temperature of all rows; so do those
    that are predicted without an error, whose loss falls with T for ever, if there is
    an error elsewhere and the shared temperature is one.
    """
    fit = _Fit(rows, by_top, rows.n_classes, loss)
    minimum = fit.losses.minimize(bounds, fit.before)
    status = np.where(minimum.at_bound != 0, AT_BOUND, OWN)
    std_err = temperature_std_err(minimum)
    shared = np.nan
    certain = own & (minimum.at_bound > 0) & (fit.before[:, WRONG] == 0.0)
    if not own.all() or certain.any():
        pooled = fit.pooled(bounds)
        if pooled.at_bound[0] == 0:
            own = own & ~certain
            status = np.where(certain, NO_ERROR, status)
        shared = float(pooled.alphas[0])
        alphas = np.where(own, minimum.alphas, shared)
        sums = np.where(own[:, None], minimum.sums, fit.losses(alphas, ~own))
        minimum = replace(minimum, alphas=alphas, sums=sums)
        status = np.where(own | (status == NO_ERROR), status, SHARED)
        std_err = np.where(own, std_err, temperature_std_err(pooled))
    return FittedClasses(fit.finish(minimum), status, std_err, shared)


def fit_limited(
    rows: FitRows,
    group: Callable[[CalibrationRows], ScaledRows],
    own: BoolArray,
    gamma: float,
    bounds: tuple[float, float],
    loss: str = "nll",
) -> FittedClasses:
    """Fit groups within gamma of alpha_0, eq. (4.2) of Zhao, Chen and Oymak (2020).

    With alpha*_k the optimum of group k by itself, the smallest likelihood for a given
    alpha_0 is at alpha_k = alpha*_k clipped to alpha_0 +- gamma. Its derivative in
    alpha_0 is the sum of the clipped groups' gradients, which increases. The Brier
    score takes a search: see `tie_brier`. Groups that `own` (G,) does not mark have no
    rows, and get alpha_0.
    """
    fit = _Fit(rows, group, own.size, loss)
    alone = fit.losses.minimize(bounds, fit.before)
    low = float(alone.alphas[own].max()) - gamma
    high = float(alone.alphas[own].min()) + gamma
    if low <= high:  # the constraint is inactive for every alpha_0 in between
        pooled = fit.pooled(bounds)
        shared = min(max(float(pooled.alphas[0]), low), high)
        minimum, limited = alone, np.zeros(own.size, dtype=bool)
        shared_sums, shared_at_bound = pooled.sums[0], 0
    elif loss == "brier":
        found = tie_brier(fit.losses, own, gamma, bounds)
        shared, limited = found.shared, found.limited
        minimum = Minimum(
            alphas=found.alphas,
            sums=fit.losses(found.alphas, own),
            at_bound=_at_bound(found.alphas, bounds) * (own & ~limited),
        )
        shared_sums = minimum.sums[limited | ~own].sum(axis=0)
        shared_at_bound = int(_at_bound(np.array([shared]), bounds)[0])
    else:
        nested = _solve_nested(fit.losses, alone.alphas, own, gamma, bounds)
        shared = float(nested.alphas[0])
        alphas = np.clip(alone.alphas, shared - gamma, shared + gamma)
        limited = own & (np.abs(alone.alphas - shared) >= gamma)
        minimum = Minimum(
            alphas=alphas,
            sums=fit.losses(alphas, own),
            at_bound=np.where(limited, 0, alone.at_bound),
        )
        shared_sums, shared_at_bound = nested.sums[0], int(nested.at_bound[0])
    alphas = np.where(own, minimum.alphas, shared)
    minimum = replace(minimum, alphas=alphas)

    # classes at alpha_0 +- gamma, or at alpha_0, move with it
    error = np.nan
    if shared_at_bound == 0 and shared_sums[CURVATURE] > 0.0:
        error = np.sqrt(shared_sums[SQUARED_SCORE]) / shared_sums[CURVATURE]
    tied = limited | ~own
    std_err = np.where(tied, error / alphas**2, temperature_std_err(minimum))
    status = np.where(minimum.at_bound != 0, AT_BOUND, OWN)
    status = np.where(limited, LIMITED, np.where(own, status, SHARED))
    return FittedClasses(fit.finish(minimum), status, std_err, shared)


def _at_bound(alphas: FloatArray, bounds: tuple[float, float]) -> IntArray:
    """Return -1 at the lower bound, 1 at the upper, 0 between them."""
    above = (alphas >= bounds[1]).astype(np.int64)
    return above - (alphas <= bounds[0])


def _solve_nested(
    losses: LossInAlpha,
    alone: FloatArray,
    own: BoolArray,
    gamma: float,
    bounds: tuple[float, float],
) -> Minimum:
    """Return the minimum in alpha_0 of the loss that the clipped classes leave."""

    def evaluate(shared: FloatArray, _: BoolArray) -> FloatMatrix:
        alphas = np.clip(alone, shared[0] - gamma, shared[0] + gamma)
        clipped = own & (np.abs(alone - shared[0]) >= gamma)
        sums = losses(alphas, clipped)
        return np.asarray(sums.sum(axis=0, keepdims=True))

    # the gradient has kinks, beyond which a last step would not be to rounding
    start = np.array([np.median(alone[own])])
    return solve_increasing(evaluate, bounds, start, last_step=1e-13)
