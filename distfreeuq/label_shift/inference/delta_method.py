"""Intervals and regions of an estimate: which number of the result each kind needs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq.label_shift.confusion import exact_region, norm_region, solve
from distfreeuq.label_shift.inference import resampled_weights as bootstrap
from distfreeuq.label_shift.inference.intervals import normal_intervals, standard_errors
from distfreeuq.label_shift.inference.regions import Box, Polytope

if TYPE_CHECKING:
    from distfreeuq.label_shift.results import LabelShiftResult


def delta_errors(result: LabelShiftResult) -> FloatArray:
    """Return standard errors (K,); at zero at most where the likelihood is at 1/e."""
    spread = standard_errors(result.covariance, len(result.classes))
    return np.asarray(np.minimum(spread, _falls_by(result, 1.0)))


def delta_intervals(result: LabelShiftResult, alpha: float) -> FloatMatrix:
    """Return asymptotic intervals (K, 2).

    A weight that MLLS puts at zero ends where the likelihood has fallen by the factor
    alpha / 2: the probability, at that weight, of a target without a row of its class.
    """
    center = result.raw
    if result.regularization is not None and result.confusion is not None:
        center = solve(result.confusion)
    spread = standard_errors(result.covariance, len(result.classes))
    ends = normal_intervals(center, spread, alpha)
    ends[:, 1] = np.minimum(ends[:, 1], _falls_by(result, np.log(2.0 / alpha)))
    return ends


def _falls_by(result: LabelShiftResult, drop: float) -> FloatArray:
    """Return weights by which the log-likelihood has fallen so much, or +inf.

    It is concave, so that its tangent at zero is an upper bound.
    """
    out = np.full(len(result.classes), np.inf)
    if result.slope_at_zero is not None:
        np.divide(drop, result.slope_at_zero, out=out, where=result.slope_at_zero > 0)
    return out


def resampled_weights(
    result: LabelShiftResult,
    n_boot: int,
    generator: np.random.Generator,
    n_jobs: int,
    progress: bool,
) -> FloatMatrix:
    """Return the weights (B, K) of resamples of both samples."""
    if result.samples is None:
        assert result.confusion is not None
        return bootstrap.resample_counts(
            result.confusion, result.regularization, n_boot, generator, progress
        )
    refit: bootstrap.Refit
    if result.method == "MLLS":
        from distfreeuq.label_shift.maximum_likelihood import refit_mlls

        refit = partial(refit_mlls, calibration=result.calibration, prior=result.prior)
    else:
        refit = partial(bootstrap.soft_weights, regularization=result.regularization)
    return bootstrap.resample_rows(
        result.samples, refit, n_boot, generator, n_jobs, progress
    )


def region_of(result: LabelShiftResult, delta: float) -> Box | Polytope:
    """Return a region of all weights at level 1 - delta."""
    if result.known:
        return Box(result.label_weight, result.label_weight, True)
    if result.method == "MLLS":
        low, high = delta_intervals(result, delta / len(result.classes)).T
        return Box(low, high, False)
    assert result.confusion is not None
    make = norm_region if result.confusion.soft else exact_region
    return make(result.confusion, delta)
