"""Density ratios from a classifier that tells target rows from source rows.

By Bayes' rule q(x)/p(x) = (n_s/n_t) P(target | x)/P(source | x): Pampari and Ermon
(2020), section 4.2. Park et al. (2020) calibrate the classifier by a temperature before
its odds are used.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy import special

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, BoolMatrix, FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.progress import progress_bar
from distfreeuq._base.stored_state import State, part, real, require
from distfreeuq._numerics.networks import Network
from distfreeuq.density_ratios.cross_fitting import (
    Folds,
    RatioEstimate,
    fit_inverse_temperature,
    least_squares_inverse_temperature,
)

_MOST_LOG_ODDS = 700.0  # whose exponential is finite


class Discriminator(Protocol):
    """A fitted classifier of target against source."""

    def log_odds(self, x: FloatMatrix) -> FloatArray:
        """Return log P(target | x) / P(source | x), shape (n,)."""


class Learner(Protocol):
    """Fits discriminators on chosen rows of one pooled sample."""

    def fit_all(self) -> Discriminator:
        """Return the fit on all rows."""

    def held_out_log_odds(self, fits: BoolMatrix) -> FloatMatrix:
        """Return all rows' log-odds (n, r) by fits on the rows that r columns mark."""


@register("discriminator-ratio")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DiscriminatorRatio:
    """The ratio that a discriminator implies.

    Attributes
    ----------
    discriminator : Discriminator
    log_prior : float
        log(n_source / n_target) of the rows it was fitted on.
    inverse_temperature : float
        Factor of the log-ratio; 1 without calibration.
    """

    discriminator: Any
    log_prior: float
    inverse_temperature: float

    _state: ClassVar[State] = {
        "discriminator": part(object),
        "log_prior": real(),
        "inverse_temperature": real(),
    }

    def _validate_state(self) -> None:
        network = isinstance(self.discriminator, Network)
        outputs = self.discriminator.output_bias.size if network else 2
        fits = hasattr(self.discriminator, "log_odds") and outputs == 2
        require(fits, "a discriminator of two samples")

    @property
    def n_features(self) -> int | None:
        """Number of columns d of x; None where a user's estimator knows."""
        return getattr(self.discriminator, "n_features", None)

    def ratio(self, x: FloatMatrix) -> FloatArray:
        """Return q(x)/p(x) as estimated, shape (n,)."""
        log_ratio = self.discriminator.log_odds(x) + self.log_prior
        return _exponential(self.inverse_temperature * log_ratio)


def cross_fit(
    learner: Learner,
    is_target: BoolArray,
    folds: Folds,
    calibrate: bool,
    loss: str = "nll",
) -> RatioEstimate:
    """Return the ratio by a fit on all rows, and every row's by fits without it.

    With `calibrate`, each round fits on some folds, takes its temperature from the
    next, and weights one that neither has seen. The fit on all rows takes its own
    temperature from all rounds' held-out log-ratios. `loss` is what it minimises.
    """
    log_ratio, tempered = np.empty(is_target.size), np.empty(is_target.size)
    rounds = list(folds.rounds(calibrate))
    log_odds = learner.held_out_log_odds(np.column_stack([r.fit for r in rounds]))
    for fold, column in zip(rounds, log_odds.T, strict=True):
        values = column + _log_prior(is_target, fold.fit)
        values = np.clip(values, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        beta = _inverse_temperature(values, is_target, fold.calibrate, loss)
        log_ratio[fold.held_out] = values[fold.held_out]
        tempered[fold.held_out] = beta * values[fold.held_out]
    all_rows = np.ones(is_target.size, dtype=bool)
    beta = 1.0
    if calibrate:
        beta = _inverse_temperature(log_ratio, is_target, all_rows, loss)
    model = DiscriminatorRatio(learner.fit_all(), _log_prior(is_target, all_rows), beta)
    ratio = _exponential(tempered)
    return RatioEstimate(model, ratio[~is_target], ratio[is_target])


def _inverse_temperature(
    log_ratio: FloatArray, is_target: BoolArray, rows: BoolArray, loss: str
) -> float:
    if not rows.any():
        return 1.0
    of_both = log_ratio[rows & ~is_target], log_ratio[rows & is_target]
    if loss == "brier":
        return least_squares_inverse_temperature(*of_both)
    return fit_inverse_temperature(*of_both)


def _log_prior(is_target: BoolArray, rows: BoolArray) -> float:
    n_target = int((rows & is_target).sum())
    return float(np.log((int(rows.sum()) - n_target) / n_target))


def _exponential(log_ratio: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.clip(log_ratio, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)))


def show(fits: BoolMatrix, progress: bool) -> Iterable[BoolArray]:
    """Return the rounds (r, n) of cross-fitting, under a progress bar if asked."""
    bar: Iterable[BoolArray] = progress_bar(fits, shown=progress, desc="cross-fitting")
    return bar


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserDiscriminator:
    """A fitted classifier that the user supplied, which cannot be saved.

    Attributes
    ----------
    estimator : object with predict_proba
    n_rows : int
        Rows that it was fitted on; probabilities are kept 1 / (n_rows + 2) away from 0
        and 1.
    """

    estimator: Any
    n_rows: int

    def log_odds(self, x: FloatMatrix) -> FloatArray:
        """Return log P(target | x) / P(source | x), shape (n,)."""
        given = np.asarray(self.estimator.predict_proba(x))
        if given.shape != (x.shape[0], 2) or not np.isfinite(given).all():
            Arguments("density_ratio").invalid(
                "method",
                "an object whose predict_proba returns finite probabilities (n, 2), "
                "of source and target",
                f"an array of shape {given.shape} for {x.shape[0]} rows",
            )
        margin = 1.0 / (self.n_rows + 2)
        p = np.clip(given[:, 1].astype(np.float64), margin, 1.0 - margin)
        return np.asarray(special.logit(p))


class UserLearner:
    """Fits deep copies of a user's estimator."""

    def __init__(
        self, x: FloatMatrix, is_target: BoolArray, estimator: Any, progress: bool
    ) -> None:
        self.x, self.labels = x, is_target.astype(np.int64)
        self.estimator, self.progress = estimator, progress

    def fit_all(self) -> UserDiscriminator:
        """Return the fit on all rows."""
        return self._fit(np.ones(self.labels.size, dtype=bool))

    def held_out_log_odds(self, fits: BoolMatrix) -> FloatMatrix:
        """Return all rows' log-odds (n, r) by fits on the rows that r columns mark."""
        rounds = show(fits.T, self.progress)
        return np.column_stack([self._fit(f).log_odds(self.x) for f in rounds])

    def _fit(self, rows: BoolArray) -> UserDiscriminator:
        fresh = copy.deepcopy(self.estimator)
        fitted = fresh.fit(self.x[rows], self.labels[rows])
        return UserDiscriminator(fresh if fitted is None else fitted, int(rows.sum()))
