"""The normal law that estimated weights have in the limit, for bounds in a direction.

Regions hold all weights at once, and pay for each class. One linear combination c.w,
such as the mass that a threshold leaves out, needs its own standard error alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.moment_estimate import (
    MomentEstimate,
    covariance_of_counts,
    covariance_of_predictions,
)


@dataclass(frozen=True, slots=True)
class LimitLaw:
    """Mean and covariance of w = q / p as solved by the moment equations.

    Attributes
    ----------
    center : ndarray (K,)
        The estimate; may be negative. 0 for classes without source rows.
    covariance : ndarray (K, K)
        Zeros in the rows and columns of classes that are not told from others.
    present : ndarray (K,) of bool
        Classes with source rows.
    told : ndarray (K,) of bool
        Classes whose weights predictions identify; no others are.
    """

    center: FloatArray
    covariance: FloatMatrix
    present: BoolArray
    told: BoolArray


def limit_law(
    moments: MomentEstimate,
    covariance: FloatMatrix | None,
    confusion: Confusion,
    samples: Samples | None,
) -> LimitLaw:
    """Return the law of a moment estimate.

    Parameters
    ----------
    moments : MomentEstimate
    covariance : ndarray (K, K) or None
        That of q / p, if it is known already; else it is that of soft predictions, or
        without samples that of counted ones.
    confusion : Confusion
    samples : Samples or None
    """
    if covariance is None:
        covariance = (
            covariance_of_counts(confusion)
            if samples is None
            else covariance_of_predictions(samples)
        )
    present = moments.counts > 0
    told = present & np.isfinite(np.diag(covariance))
    center = np.zeros(present.size)
    np.divide(moments.prior, moments.source_prior, out=center, where=present)
    both = np.outer(told, told)
    return LimitLaw(center, np.where(both, covariance, 0.0), present, told)
