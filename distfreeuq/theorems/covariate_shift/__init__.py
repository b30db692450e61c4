"""The family of covariate shift: weighted losses, bounds, and what fits print."""

from distfreeuq.theorems.covariate_shift import (
    cross_validated_scores,
    decision_errors,
    ratio_weights,
    target_errors,
    weighted_fits,
    weighted_losses,
)

THEOREMS = (
    *weighted_losses.THEOREMS,
    *ratio_weights.THEOREMS,
    *target_errors.THEOREMS,
    *weighted_fits.THEOREMS,
    *decision_errors.THEOREMS,
    *cross_validated_scores.THEOREMS,
)
