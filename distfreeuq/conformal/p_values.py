"""Conformal p-values: how much calibration mass looks at least as strange."""

import numpy as np

from distfreeuq._typing import FloatArray, FloatMatrix


def weighted_p_values(
    scores: FloatMatrix,
    sorted_scores: FloatArray,
    sorted_weights: FloatArray,
    own_weight: FloatArray | float,
) -> FloatMatrix:
    """Return (sum of w_i over r_i >= s, plus w) / (sum of all w_i, plus w)."""
    mass_from = np.append(np.cumsum(sorted_weights[::-1])[::-1], 0.0)
    first = np.searchsorted(sorted_scores, scores, side="left")
    p: FloatMatrix = (mass_from[first] + own_weight) / (mass_from[0] + own_weight)
    return p


def exchangeable_p_values(scores: FloatMatrix, sorted_scores: FloatArray) -> FloatMatrix:
    """Return (1 + number of calibration scores >= s) / (n + 1)."""
    return weighted_p_values(scores, sorted_scores, np.ones(sorted_scores.size), 1.0)
