"""The family of scaling: temperatures, and what spoils confidence (paper D)."""

from distfreeuq.theorems import (
    excess_risk,
    miscalibration,
    scaling_invariance,
    temperature_intervals,
)

THEOREMS = (
    *excess_risk.THEOREMS,
    *miscalibration.THEOREMS,
    *scaling_invariance.THEOREMS,
    *temperature_intervals.THEOREMS,
)
