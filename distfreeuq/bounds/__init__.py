"""Every bound as a pure function, with its theorem in the docstring."""

from distfreeuq.bounds.conformal import (
    beta_coverage_quantile,
    clopper_pearson,
    pac_rank,
    pac_smallest_sample,
)
from distfreeuq.bounds.miscalibration import (
    LabelNoiseClassifier,
    SampleSizeEffect,
    label_noise_confidence,
    sample_size_effect,
)
from distfreeuq.bounds.scaling import (
    LossConstants,
    clipped_nll_constants,
    cts_class_excess_risk,
    cts_corollary,
    cts_excess_risk,
    cts_excess_risk_tight,
    half_brier_constants,
    nll_constants,
)

__all__ = [
    "LabelNoiseClassifier",
    "LossConstants",
    "SampleSizeEffect",
    "beta_coverage_quantile",
    "clipped_nll_constants",
    "clopper_pearson",
    "cts_class_excess_risk",
    "cts_corollary",
    "cts_excess_risk",
    "cts_excess_risk_tight",
    "half_brier_constants",
    "label_noise_confidence",
    "nll_constants",
    "pac_rank",
    "pac_smallest_sample",
    "sample_size_effect",
]
