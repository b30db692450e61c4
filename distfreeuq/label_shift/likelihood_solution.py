"""The weights that maximise the likelihood of the target rows: MLLS's estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.mixture_likelihood import MixtureFit, maximize_likelihood
from distfreeuq.label_shift.confusion import Confusion, soft_confusion
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.scalings import Scaling

# A class whose mean prediction is below this has none.
_NEGLIGIBLE = 1e-30


@dataclass(frozen=True, slots=True)
class LikelihoodSolution:
    """The maximum, and what it was computed from.

    Attributes
    ----------
    calibrated : Samples
        The samples after the calibration, if there is one.
    confusion : Confusion
        Soft, of the calibrated samples.
    source_prior : ndarray (K,)
        p.
    fit : MixtureFit
        The target prior q at the maximum.
    weight : ndarray (K,)
        q / p, zero where p is.
    """

    calibrated: Samples
    confusion: Confusion
    source_prior: FloatArray
    fit: MixtureFit
    weight: FloatArray


def solve_likelihood(
    samples: Samples,
    calibration: Scaling | None,
    prior_from: str,
    row_weights: tuple[FloatArray, FloatArray] | None = None,
) -> LikelihoodSolution:
    """Maximise the likelihood of the calibrated target rows.

    Parameters
    ----------
    samples : Samples
    calibration : BiasCorrectedTemperature, LogScaling or None
        Fitted on the source already.
    prior_from : {"predictions", "labels"}
        What estimates the source prior.
    row_weights : (ndarray (n,), ndarray (m,)), optional
        How often each row of both samples counts.
    """
    calibrated = samples
    if calibration is not None:
        calibrated = calibration.of(samples)
    confusion = soft_confusion(
        calibrated.probs, calibrated.labels, calibrated.probs_target, row_weights
    )
    p = confusion.joint.sum(axis=0 if prior_from == "labels" else 1) / confusion.n
    p[p < _NEGLIGIBLE] = 0.0
    of_target = None if row_weights is None else row_weights[1]
    fit = maximize_likelihood(calibrated.probs_target, p, of_target)
    weight = np.divide(fit.prior, p, out=np.zeros(p.size), where=p > 0)
    return LikelihoodSolution(calibrated, confusion, p, fit, weight)
