"""The family of assessment: what metrics, tables and printed intervals claim."""

from distfreeuq.theorems.assessment import (
    block_coverage,
    bootstrap_intervals,
    calibration_on_target,
    isotonic_bands,
    metric_tables,
    printed_intervals,
    squared_errors,
)

THEOREMS = (
    *metric_tables.THEOREMS,
    *calibration_on_target.THEOREMS,
    *isotonic_bands.THEOREMS,
    *squared_errors.THEOREMS,
    *printed_intervals.THEOREMS,
    *bootstrap_intervals.THEOREMS,
    *block_coverage.THEOREMS,
)
