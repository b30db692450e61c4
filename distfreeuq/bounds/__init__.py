"""Every bound as a pure function, with its theorem in the docstring.

Arguments are checked here, by the table below; the formulas are in the modules.
"""

from collections.abc import Mapping
from typing import Any

from distfreeuq._base.arguments import LARGEST, SMALLEST
from distfreeuq.bounds import unchecked
from distfreeuq.bounds.excess_risk_bounds import LossConstants
from distfreeuq.bounds.miscalibration_bounds import (
    LabelNoiseClassifier,
    SampleSizeEffect,
)
from distfreeuq.bounds.parameters import (
    BELOW_ONE,
    NON_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    TOLERANCE,
    Choice,
    Condition,
    Count,
    Number,
    Numbers,
    Pair,
    Reader,
    Vector,
    checked,
    read_terms,
)
from distfreeuq.bounds.target_error_bounds import FACTORS, CovariateShiftTerms

INFINITE = float("inf")

# ------------------------------------------------------ coverage, binomial intervals

ANY_COUNT = Count(0, high=int(LARGEST))  # levels of 1e-300 need as many rows
TRIALS = Numbers("non-negative whole numbers", high=2.0**53, whole=True)
HITS_AMONG_TRIALS = Condition("k", "at most n", lambda read: read["k"] <= read["n"])

beta_coverage_quantile = checked(
    unchecked.beta_coverage_quantile,
    Condition("rank", "at most n + 1", lambda read: read["rank"] <= read["n"] + 1),
    n=ANY_COUNT,
    rank=Count(1, high=int(LARGEST)),
    delta=PROBABILITY,
)
pac_rank = checked(
    unchecked.pac_rank, n=ANY_COUNT, alpha=PROBABILITY, delta=PROBABILITY
)
pac_smallest_sample = checked(
    unchecked.pac_smallest_sample, alpha=PROBABILITY, delta=PROBABILITY
)
clopper_pearson = checked(
    unchecked.clopper_pearson, HITS_AMONG_TRIALS, k=TRIALS, n=TRIALS, delta=PROBABILITY
)
clopper_pearson_lower = checked(
    unchecked.clopper_pearson_lower,
    HITS_AMONG_TRIALS,
    k=TRIALS,
    n=TRIALS,
    delta=PROBABILITY,
)

# --------------------------------------------------------- frequencies within bins

ROWS = Numbers("non-negative finite numbers of rows")
SETTINGS: dict[str, Reader] = {
    "n_bins": Count(1),
    "n_classes": Count(2),
    "alpha": PROBABILITY,
}

binning_hoeffding = checked(unchecked.binning_hoeffding, n=ROWS, **SETTINGS)
binning_weissman = checked(unchecked.binning_weissman, n=ROWS, **SETTINGS)
binning_mcdiarmid = checked(unchecked.binning_mcdiarmid, n=ROWS, **SETTINGS)
binning_smallest = checked(unchecked.binning_smallest, n=ROWS, **SETTINGS)
subset_clopper_pearson = checked(
    unchecked.subset_clopper_pearson,
    Condition("counts", "of shape (M, K)", lambda read: read["counts"].ndim == 2),
    Condition(
        "counts",
        "counts that sum to 2^53 at most in each bin",
        lambda read: read["counts"].sum(axis=1, dtype=float).max(initial=0.0) <= 2**53,
    ),
    counts=Vector(
        "whole numbers of rows, of shape (M, K) with K >= 2",
        high=2.0**53,
        least=2,
        rows=True,
        whole=True,
    ),
    n_bins=Count(1),
    alpha=PROBABILITY,
)

# ------------------------------------------------------ means of weighted numbers

SUMS = Pair("two arrays of non-negative finite numbers", Numbers("two such arrays"))
MEAN_WEIGHTS = Numbers("non-negative finite numbers, or NaN", allow_nan=True)
MEANS_WITHIN_BOUND = Condition(
    "mean_weight",
    "at most weight_bound",
    lambda read: ~(read["mean_weight"] > read["weight_bound"] * (1.0 + TOLERANCE)),
)


def _within_width(read: Mapping[str, Any]) -> bool:
    values = read["values"]
    if values.size == 0:
        return True
    reach = float(values.max()) - float(values.min())
    return reach <= float(read["width"]) * (1.0 + TOLERANCE)


def _part_of_whole(pair: str) -> Condition:
    return Condition(
        pair,
        "a part and its whole, which is not smaller",
        lambda read: bool((read[pair][0] <= read[pair][1] * (1.0 + TOLERANCE)).all()),
    )


empirical_bernstein = checked(
    unchecked.empirical_bernstein,
    Condition("values", "within an interval of length 'width'", _within_width),
    values=Vector("a vector of finite numbers", low=-LARGEST, least=0),
    delta=PROBABILITY,
    width=POSITIVE,
)
BETTING: dict[str, Reader] = {
    "values": Vector("a vector of finite numbers", low=-LARGEST, least=0),
    "delta": PROBABILITY,
    "low": Number("a finite number", -LARGEST),
    "high": Number("a finite number", -LARGEST),
    "side": Choice(("both", "lower", "upper")),
}
WITHIN_ENDS = (
    Condition("high", "above 'low'", lambda read: read["high"] > read["low"]),
    Condition(
        "values",
        "from 'low' to 'high'",
        lambda read: (read["values"] >= read["low"]) & (read["values"] <= read["high"]),
    ),
)
betting_interval = checked(unchecked.betting_interval, *WITHIN_ENDS, **BETTING)
weighted_betting_interval = checked(
    unchecked.weighted_betting_interval,
    *WITHIN_ENDS,
    Condition(
        "weights",
        "as long as 'values'",
        lambda read: len(read["weights"]) == len(read["values"]),
    ),
    Condition(
        "weights",
        "at most weight_bound",
        lambda read: read["weights"] <= read["weight_bound"] * (1.0 + TOLERANCE),
    ),
    weights=Vector("a vector of non-negative finite numbers", least=0),
    weight_bound=POSITIVE,
    **BETTING,
)
weighted_hoeffding = checked(
    unchecked.weighted_hoeffding,
    MEANS_WITHIN_BOUND,
    n=ROWS,
    mean_weight=MEAN_WEIGHTS,
    weight_bound=POSITIVE,
    **SETTINGS,
)
weighted_chernoff = checked(
    unchecked.weighted_chernoff,
    MEANS_WITHIN_BOUND,
    n=ROWS,
    frequency=Numbers("numbers from 0 to 1, or NaN", high=1.0, allow_nan=True),
    mean_weight=MEAN_WEIGHTS,
    weight_bound=POSITIVE,
    delta=PROBABILITY,
)
weighted_bernstein = checked(
    unchecked.weighted_bernstein,
    _part_of_whole("sums"),
    _part_of_whole("squares"),
    n=ROWS,
    sums=SUMS,
    squares=SUMS,
    weight_bound=POSITIVE,
    delta=PROBABILITY,
)

# --------------------------------------------------------------- reweighted bins

LABEL_WEIGHTS = Vector(
    "a vector of non-negative finite numbers, some of them positive", some_positive=True
)
RADII = Numbers("non-negative numbers", high=INFINITE)


def _of_one_length(parameter: str, other: str) -> Condition:
    return Condition(
        parameter,
        f"with as many numbers in a row as '{other}' has",
        lambda read: read[parameter].shape[-1] == read[other].shape[-1],
    )


WEIGHT_REGION: dict[str, Reader] = {
    "frequencies": Vector("rows of numbers from 0 to 1", high=1.0, rows=True),
    "label_weight": Vector("a vector of non-negative finite numbers"),
    "low": Vector("a vector of finite numbers", low=-LARGEST),
    "high": Vector("a vector of numbers", low=-LARGEST, high=INFINITE),
}
REGION_CONDITIONS = (
    *(_of_one_length(name, "label_weight") for name in ("frequencies", "low", "high")),
    Condition("high", "at least 'low'", lambda read: read["high"] >= read["low"]),
)

condition_number = checked(unchecked.condition_number, label_weight=LABEL_WEIGHTS)
theorem4_printed = checked(
    unchecked.theorem4_printed,
    radius=RADII,
    label_weight=Vector(
        "positive: the theorem as printed is false when a weight is zero", low=SMALLEST
    ),
    weight_error=NON_NEGATIVE,
)
label_shift_source_radius = checked(
    unchecked.label_shift_source_radius,
    radius=RADII,
    largest_weight=Number("a non-negative number", 0.0, INFINITE),
    smallest_mass=Numbers("non-negative finite numbers"),
)
label_shift_weight_radius = checked(
    unchecked.label_shift_weight_radius, *REGION_CONDITIONS, **WEIGHT_REGION
)
label_shift_tilt_radius = checked(
    unchecked.label_shift_tilt_radius, *REGION_CONDITIONS, **WEIGHT_REGION
)
binary_label_shift = checked(
    unchecked.binary_label_shift,
    p=Numbers("numbers from 0 to 1", high=1.0),
    weight_ratio=Numbers("non-negative numbers", high=INFINITE),
)

CELLS = Vector("numbers from 0 to 1, a row per predicted class", high=1.0, rows=True)
FREQUENCIES = Vector("numbers from 0 to 1, one per predicted class", high=1.0)

interval_elimination = checked(
    unchecked.interval_elimination,
    Condition(
        "lower",
        "a square matrix",
        lambda read: (
            read["lower"].ndim == 2 and read["lower"].shape[0] == read["lower"].shape[1]
        ),
    ),
    Condition(
        "upper",
        "of the shape of 'lower'",
        lambda read: read["upper"].shape == read["lower"].shape,
    ),
    Condition("upper", "at least 'lower'", lambda read: read["upper"] >= read["lower"]),
    Condition(
        "mu_low",
        "as long as 'lower' has rows",
        lambda read: len(read["mu_low"]) == len(read["lower"]),
    ),
    _of_one_length("mu_high", "mu_low"),
    Condition(
        "mu_high", "at least 'mu_low'", lambda read: read["mu_high"] >= read["mu_low"]
    ),
    lower=CELLS,
    upper=CELLS,
    mu_low=FREQUENCIES,
    mu_high=FREQUENCIES,
)
stratified_chernoff = checked(
    unchecked.stratified_chernoff,
    mean=PROBABILITY,
    largest_weight=POSITIVE,
    delta=PROBABILITY,
)

# -------------------------------------------------------------- importance weights

LAW = Vector("a vector of probabilities of sum one", high=1.0 + TOLERANCE, law=True)
ORDER = Number("a number of at least 1", 1.0, INFINITE)
DIVERGENCE = Number("a number of at least 1", 1.0 - TOLERANCE, INFINITE)
EXPONENT = Number("a finite number of at least 1", 1.0)

renyi_divergence = checked(
    unchecked.renyi_divergence,
    _of_one_length("source", "target"),
    target=LAW,
    source=LAW,
    order=ORDER,
)
renyi_from_weights = checked(
    unchecked.renyi_from_weights, weights=LABEL_WEIGHTS, order=ORDER
)
importance_variance = checked(
    unchecked.importance_variance,
    Condition(
        "risk",
        "at most loss_bound",
        lambda read: read["risk"] <= read["loss_bound"] * (1.0 + TOLERANCE),
    ),
    divergence=DIVERGENCE,
    risk=NON_NEGATIVE,
    exponent=EXPONENT,
    loss_bound=POSITIVE,
)
importance_variance_printed = checked(
    unchecked.importance_variance_printed,
    divergence=DIVERGENCE,
    weighted_risk=NON_NEGATIVE,
    exponent=POSITIVE,
)

# ------------------------------------------------------- errors on another target

UPPER = NON_NEGATIVE
T = Number("a positive number from 1e-12 to 1e12", 1e-12, 1e12)
FORM = Choice(FACTORS)
PRINTED_FOR_ONE_HALF = Condition(
    "t",
    "0.5 for the printed form",
    lambda read: read["form"] != "printed" or read["t"] == 0.5,
)
POINTS = ("q", "loss", "source_probability")

covariate_shift_terms = checked(
    unchecked.covariate_shift_terms,
    *(_of_one_length(parameter, "p") for parameter in POINTS),
    p=Vector("positive numbers", low=1e-300, high=1.0, law=True),
    q=Vector("numbers from 0 to 1", high=1.0, law=True),
    loss=Vector("numbers from 0 to 2", high=2.0),
    source_probability=Vector("numbers above 0, of at most 1", low=1e-300, high=1.0),
    t=T,
)
covariate_shift_factor = checked(
    unchecked.covariate_shift_factor, PRINTED_FOR_ONE_HALF, upper=UPPER, t=T, form=FORM
)
covariate_shift_bound = checked(
    unchecked.covariate_shift_bound,
    PRINTED_FOR_ONE_HALF,
    Condition(
        "best_discriminator_error",
        "a number from 0 to the discriminator's error",
        lambda read: (
            read["best_discriminator_error"] <= read["discriminator_error"] + 1e-12
        ),
    ),
    weighted_error=NON_NEGATIVE,
    discriminator_error=Number("a number from 0 to 1", 0.0, 1.0),
    best_discriminator_error=Number("a number from 0 to 1", 0.0, 1.0 + 1e-12),
    upper=UPPER,
    t=T,
    form=FORM,
)
covariate_shift_bound_printed = checked(
    unchecked.covariate_shift_bound_printed, terms=read_terms
)

# ------------------------------------------------------ excess risk of temperatures

LOGIT_RANGE = NON_NEGATIVE
GAMMA = Number("a non-negative number", 0.0, INFINITE)
TEMPERATURES: dict[str, Reader] = {
    "n_classes": Count(1),
    "delta": PROBABILITY,
    "alpha_bounds": Pair(
        "two non-negative finite numbers, the smaller one first",
        NON_NEGATIVE,
        increasing=True,
    ),
    "lipschitz": NON_NEGATIVE,
    "loss_bound": POSITIVE,
}

half_brier_constants = checked(unchecked.half_brier_constants, logit_range=LOGIT_RANGE)
nll_constants = checked(
    unchecked.nll_constants,
    logit_range=LOGIT_RANGE,
    n_classes=Count(2),
    alpha_max=NON_NEGATIVE,
)
clipped_nll_constants = checked(
    unchecked.clipped_nll_constants, logit_range=LOGIT_RANGE, floor=PROBABILITY
)
cts_excess_risk = checked(
    unchecked.cts_excess_risk, n=ROWS, gamma=GAMMA, **TEMPERATURES
)
cts_excess_risk_tight = checked(
    unchecked.cts_excess_risk_tight, n=ROWS, gamma=GAMMA, **TEMPERATURES
)
cts_class_excess_risk = checked(unchecked.cts_class_excess_risk, n=ROWS, **TEMPERATURES)
cts_corollary = checked(
    unchecked.cts_corollary,
    n=Count(1),
    smallest_class=Number("a number above 0, of at most 1", SMALLEST, 1.0),
    **TEMPERATURES,
)

# ------------------------------------------------- why classifiers are miscalibrated

NOISE = Number("a number in [0, 1/2)", 0.0, 0.5 * BELOW_ONE)

label_noise_confidence = checked(
    unchecked.label_noise_confidence, p_plus=NOISE, p_minus=NOISE, p_test=NOISE
)
sample_size_effect = checked(
    unchecked.sample_size_effect,
    n=Count(1),
    multiple=Number("a number from 1 to 1e12", 1.0, 1e12),
    radius=NON_NEGATIVE,
)

__all__ = [
    "CovariateShiftTerms",
    "LabelNoiseClassifier",
    "LossConstants",
    "SampleSizeEffect",
    "beta_coverage_quantile",
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
