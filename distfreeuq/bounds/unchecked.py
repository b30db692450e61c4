"""Every bound without a check of its arguments, as the rest of the package calls it.

`distfreeuq.bounds` is where users enter: the same functions, with their arguments read
and checked first. A formula is called thousands of times in some fits, with numbers
that are right by then.
"""

from distfreeuq.bounds.betting_bounds import (
    betting_ends,
    betting_interval,
    weighted_betting_interval,
)
from distfreeuq.bounds.bin_bounds import (
    binning_hoeffding,
    binning_mcdiarmid,
    binning_smallest,
    binning_weissman,
    clopper_pearson_lower,
    subset_clopper_pearson,
)
from distfreeuq.bounds.coverage_bounds import (
    beta_coverage_quantile,
    clopper_pearson,
    pac_rank,
    pac_smallest_sample,
)
from distfreeuq.bounds.excess_risk_bounds import (
    clipped_nll_constants,
    cts_class_excess_risk,
    cts_corollary,
    cts_excess_risk,
    cts_excess_risk_tight,
    half_brier_constants,
    nll_constants,
)
from distfreeuq.bounds.importance_bounds import (
    importance_variance,
    importance_variance_printed,
    renyi_divergence,
    renyi_from_weights,
)
from distfreeuq.bounds.label_shift_bounds import (
    binary_label_shift,
    condition_number,
    label_shift_source_radius,
    label_shift_tilt_radius,
    label_shift_weight_radius,
    theorem4_printed,
)
from distfreeuq.bounds.miscalibration_bounds import (
    label_noise_confidence,
    sample_size_effect,
)
from distfreeuq.bounds.target_error_bounds import (
    covariate_shift_bound,
    covariate_shift_bound_printed,
    covariate_shift_factor,
    covariate_shift_terms,
)
from distfreeuq.bounds.target_prior_bounds import (
    interval_elimination,
    stratified_chernoff,
)
from distfreeuq.bounds.weighted_mean_bounds import (
    empirical_bernstein,
    weighted_bernstein,
    weighted_chernoff,
    weighted_hoeffding,
)

__all__ = [
    "beta_coverage_quantile",
    "betting_ends",
    "betting_interval",
    "binary_label_shift",
    "binning_hoeffding",
    "binning_mcdiarmid",
    "binning_smallest",
    "binning_weissman",
    "clipped_nll_constants",
    "clopper_pearson",
    "clopper_pearson_lower",
    "condition_number",
    "covariate_shift_bound",
    "covariate_shift_bound_printed",
    "covariate_shift_factor",
    "covariate_shift_terms",
    "cts_class_excess_risk",
    "cts_corollary",
    "cts_excess_risk",
    "cts_excess_risk_tight",
    "empirical_bernstein",
    "half_brier_constants",
    "importance_variance",
    "importance_variance_printed",
    "interval_elimination",
    "label_noise_confidence",
    "label_shift_source_radius",
    "label_shift_tilt_radius",
    "label_shift_weight_radius",
    "nll_constants",
    "pac_rank",
    "pac_smallest_sample",
    "renyi_divergence",
    "renyi_from_weights",
    "sample_size_effect",
    "stratified_chernoff",
    "subset_clopper_pearson",
    "theorem4_printed",
    "weighted_bernstein",
    "weighted_betting_interval",
    "weighted_chernoff",
    "weighted_hoeffding",
]
