"""The weights that maximise the likelihood of the target rows: MLLS's estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.mixture_likelihood import MixtureFit, likeliest_prior
from distfreeuq._numerics.passes.class_rows import AnyRows, RowsInMemory
from distfreeuq.label_shift.confusion import Confusion, soft_confusion
from distfreeuq.label_shift.data import SampleRows, TargetLabels
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
    known : rows in memory or in blocks
        The calibrated target rows; those with labels are sure of them.
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
    known: AnyRows
    confusion: Confusion
    source_prior: FloatArray
    fit: MixtureFit
    weight: FloatArray


def solve_likelihood(
    samples: SampleRows,
    calibration: Scaling | None,
    prior_from: str,
    labels: TargetLabels | None = None,
) -> LikelihoodSolution:
    """Maximise the likelihood of the calibrated target rows.

    A row with the label y has the likelihood q_y: that of a row which is sure of y, but
    for a factor 1 / p_y that does not depend on q.

    Parameters
    ----------
    samples : SampleRows
    calibration : BiasCorrectedTemperature, LogScaling or None
        Fitted on the source already.
    prior_from : {"predictions", "labels"}
        What estimates the source prior.
    labels : TargetLabels, optional
        Labels of some target rows, which are in memory then.
    """
    calibrated = samples
    if calibration is not None:
        calibrated = samples.calibrated(calibration.apply)
    confusion = soft_confusion(calibrated)
    p = confusion.joint.sum(axis=0 if prior_from == "labels" else 1) / confusion.n
    p[p < _NEGLIGIBLE] = 0.0
    known = calibrated.target
    if labels is not None:
        assert isinstance(known, RowsInMemory)
        sure = known.rows.probs.copy()
        sure[labels.known] = 0.0
        sure[np.flatnonzero(labels.known), labels.codes] = 1.0
        known = RowsInMemory.of(sure)
    fit = likeliest_prior(known, p)
    weight = np.divide(fit.prior, p, out=np.zeros(p.size), where=p > 0)
    return LikelihoodSolution(calibrated, known, confusion, p, fit, weight)
