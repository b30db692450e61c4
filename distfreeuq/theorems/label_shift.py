"""The family of label shift: estimated weights, their regions, intervals and tests."""

from distfreeuq.theorems import likelihood, weight_intervals, weight_regions

THEOREMS = (
    *weight_regions.THEOREMS,
    *weight_intervals.THEOREMS,
    *likelihood.THEOREMS,
)
