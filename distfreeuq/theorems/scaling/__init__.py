"""The family of scaling: temperatures, and what spoils confidence."""

from distfreeuq.theorems.scaling import (
    certain_classes,
    excess_risk,
    sandwich_intervals,
    scaling_invariance,
    spoilt_confidence,
    venn_probabilities,
)

THEOREMS = (
    *excess_risk.THEOREMS,
    *spoilt_confidence.THEOREMS,
    *scaling_invariance.THEOREMS,
    *sandwich_intervals.THEOREMS,
    *certain_classes.THEOREMS,
    *venn_probabilities.THEOREMS,
)
