"""The family of covariate shift: weighted losses, bounds, and what fits print."""

from distfreeuq.theorems import importance_weights, target_error, weighted_calibration

THEOREMS = (
    *importance_weights.THEOREMS,
    *target_error.THEOREMS,
    *weighted_calibration.THEOREMS,
)
