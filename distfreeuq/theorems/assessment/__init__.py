"""The family of assessment: what metrics, tables and printed intervals claim."""

from distfreeuq.theorems.assessment import metric_tables, printed_intervals

THEOREMS = (*metric_tables.THEOREMS, *printed_intervals.THEOREMS)
