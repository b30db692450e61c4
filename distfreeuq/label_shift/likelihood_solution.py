"""The weights that maximise the likelihood of the target rows: MLLS's estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.mixture_likelihood import MixtureFit, likeliest_prior
from distfreeuq.label_shift.confusion import Confusion, soft_confusion
from distfreeuq.label_shift.data import SampleRows
from distfreeuq.label_shift.scalings import Scaling

# A class whose mean prediction is below this has none.
_NEGLIGIBLE = 1e-30


@dataclass(frozen=True, slots=True)
class LikelihoodSolution:
    """The maximum, and what it was computed from.

    Attributes
    ----------
    calibrated : SampleRows
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

    calibrated: SampleRows
    confusion: Confusion
    source_prior: FloatArray
    fit: MixtureFit
    weight: FloatArray


def solve_likelihood(
    samples: SampleRows, calibration: Scaling | None, prior_from: str
) -> LikelihoodSolution:
    """Maximise the likelihood of the calibrated target rows.

    Parameters
    ----------
    samples : SampleRows
    calibration : BiasCorrectedTemperature, LogScaling or None
        Fitted on the source already.
    prior_from : {"predictions", "labels"}
        What estimates the source prior.
    """
    calibrated = samples
    if calibration is not None:
        calibrated = samples.calibrated(calibration.apply)
    confusion = soft_confusion(calibrated)
    p = confusion.joint.sum(axis=0 if prior_from == "labels" else 1) / confusion.n
    p[p < _NEGLIGIBLE] = 0.0
    fit = likeliest_prior(calibrated.target, p)
    weight = np.divide(fit.prior, p, out=np.zeros(p.size), where=p > 0)
    return LikelihoodSolution(calibrated, confusion, p, fit, weight)
