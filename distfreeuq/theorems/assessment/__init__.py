"""The family of assessment: what metrics, tables and printed intervals claim."""

from distfreeuq.theorems.assessment import (
    block_coverage,
    bootstrap_intervals,
    calibration_on_target,
    metric_tables,
    printed_intervals,
)

THEOREMS = (
    *block_coverage.THEOREMS,
    *metric_tables.THEOREMS,
    *calibration_on_target.THEOREMS,
    *printed_intervals.THEOREMS,
    *bootstrap_intervals.THEOREMS,
)
