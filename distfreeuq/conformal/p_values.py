"""Conformal p-values: the share of calibration mass with scores at least as large."""

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._kernels import _bins
from distfreeuq._kernels.threads import threads_for


def weighted_p_values(
    scores: FloatMatrix,
    sorted_scores: FloatArray,
    weights: FloatArray,
    own_weight: FloatArray | float,
) -> FloatMatrix:
    """Return (sum of w_i over r_i >= s, plus w) / (sum of all w_i, plus w).

    Parameters
    ----------
    scores : ndarray (m, K)
        Scores of the labels whose p-values are wanted.
    sorted_scores, weights : ndarray (n,)
        The calibration rows', ascending in the scores.
    own_weight : float or ndarray that broadcasts with `scores`
        The label's own mass; the p-value is 1 if it is infinite or the total mass is 0.
    """
    mass_from = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    n_below = np.empty(scores.size, dtype=np.int64)
    _bins._assign_bins(
        np.ascontiguousarray(scores).ravel(),
        sorted_scores,
        True,
        n_below,
        threads_for(scores.size),
    )
    own = np.asarray(own_weight, dtype=np.float64)
    total = mass_from[0] + own
    p: FloatMatrix = mass_from[n_below].reshape(scores.shape)
    p += own
    with np.errstate(invalid="ignore"):
        p /= total
    defined = (total > 0.0) & (own < np.inf)
    return p if defined.all() else np.where(defined, p, 1.0)
