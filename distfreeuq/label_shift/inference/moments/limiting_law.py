"""The normal law that estimated weights have in the limit, for bounds in a direction.

Regions hold all weights at once, and pay for each class. One linear combination c.w,
such as the mass that a threshold leaves out, needs its own standard error alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.moment_estimate import (
    MomentEstimate,
    covariance_of_predictions,
)
from distfreeuq.label_shift.inference.moments.counted_moments import (
    covariance_of_counts,
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
    covariance: FloatMatrix | ClassMatrix | None,
    confusion: Confusion,
    samples: Samples | None,
) -> LimitLaw:
    """Return the law of a moment estimate.

    Parameters
    ----------
    moments : MomentEstimate
    covariance : ndarray (K, K), ClassMatrix or None
        That of q / p, if it is known already; else it is that of soft predictions, or
        without samples that of counted ones.
    confusion : Confusion
    samples : Samples or None
    """
    if covariance is None:
        covariance = (
            covariance_of_counts(confusion)
            if samples is None
            else covariance_of_predictions(samples.rows)
        )
    return law_of(moments.prior, covariance, moments)


def law_of(
    prior: FloatArray, covariance: FloatMatrix | ClassMatrix, moments: MomentEstimate
) -> LimitLaw:
    """Return the law of q / p from the estimate q, and that covariance.

    An infinite variance is that of a class which is not told from others.
    """
    present = moments.counts > 0
    told = present & np.isfinite(covariance.diagonal())
    center = np.zeros(present.size)
    np.divide(prior, moments.source_prior, out=center, where=present)
    matrix = np.asarray(covariance)
    finite = np.where(np.outer(told, told), matrix, 0.0)
    return LimitLaw(center, finite, present, told)


def law_of_prior(law: LimitLaw, q: FloatArray, moments: MomentEstimate) -> LimitLaw:
    """Return the law of q itself: without the noise of the label frequencies p.

    That is a part of the covariance of q / p, and is taken out of it again. `q` is the
    estimate with which it was put in.
    """
    p, n = moments.source_prior, moments.n
    ratio = np.divide(q, p, out=np.zeros_like(p), where=p > 0)
    of_labels = (np.diag(ratio * q) - np.outer(q, q)) / n
    both = np.outer(law.told, law.told)
    covariance = np.where(both, law.covariance * np.outer(p, p) - of_labels, 0.0)
    return LimitLaw(law.center * p, covariance, law.present, law.told)
