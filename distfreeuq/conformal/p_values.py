"""Conformal p-values: how much calibration mass looks at least as strange."""

import numpy as np

from distfreeuq._typing import FloatArray, FloatMatrix


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
        Of the labels asked about.
    sorted_scores, weights : ndarray (n,)
        The calibration rows', ascending in the scores.
    own_weight : float or ndarray that broadcasts with `scores`
        The asked-about label's own mass; infinite gives 1, as does total mass 0.
    """
    mass_from = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    first = np.searchsorted(sorted_scores, scores, side="left")
    own = np.broadcast_to(np.asarray(own_weight, dtype=np.float64), scores.shape)
    total = mass_from[0] + own
    defined = (total > 0) & (own < np.inf)
    p: FloatMatrix = np.ones(scores.shape)
    np.divide(mass_from[first] + own, total, out=p, where=defined)
    return p
