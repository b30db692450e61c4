"""The family of scaling: temperatures, and what spoils confidence."""

from distfreeuq.theorems.scaling import (
    excess_risk,
    scaling_invariance,
    spoilt_confidence,
    temperature_intervals,
)

THEOREMS = (
    *excess_risk.THEOREMS,
    *spoilt_confidence.THEOREMS,
    *scaling_invariance.THEOREMS,
    *temperature_intervals.THEOREMS,
)
