"""Every bound as a pure function, with its theorem in the docstring."""

from distfreeuq.bounds.conformal import (
    beta_coverage_quantile,
    clopper_pearson,
    pac_rank,
    pac_smallest_sample,
)

__all__ = [
    "beta_coverage_quantile",
    "clopper_pearson",
    "pac_rank",
    "pac_smallest_sample",
]
