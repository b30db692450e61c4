"""The family of covariate shift: weighted losses, bounds, and what fits print."""

from distfreeuq.theorems import (
    density_ratios,
    importance_weights,
    target_error,
    weighted_calibration,
)

THEOREMS = (
    *importance_weights.THEOREMS,
    *density_ratios.THEOREMS,
    *target_error.THEOREMS,
    *weighted_calibration.THEOREMS,
)
