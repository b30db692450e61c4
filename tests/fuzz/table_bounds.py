"""Rows of the table: bounds."""

from typing import Any

import distfreeuq as dfu
from tests.fuzz import kinds
from tests.fuzz.entry import Entry
from tests.fuzz.kinds import choice
from tests.fuzz.parameters import made

VALUES = {"n": kinds.counts_array, "delta": kinds.level}
CTS = {
    "n": kinds.counts_array,
    "alpha_bounds": kinds.pair,
    "lipschitz": kinds.positive,
    "loss_bound": kinds.positive,
    "smallest_class": kinds.level,
}
LABEL_SHIFT_BINS = {
    "frequencies": kinds.unit_rows,
    "label_weight": kinds.class_weight,
    "low": kinds.unit_rows,
    "high": kinds.unit_rows,
}


def _terms() -> Any:
    return dfu.bounds.covariate_shift_terms([0.5, 0.5], [0.2, 0.8], [1, 0], [0.5, 0.3])


BOUNDS: dict[str, Entry] = {
    "bounds.beta_coverage_quantile": Entry(0.3),
    "bounds.betting_interval": Entry(
        0.2,
        {
            "values": kinds.unit_array,
            "low": kinds.number(0.0, -1.0),
            "high": kinds.number(1.0, 2.0),
            "side": kinds.choice("both", "lower", "upper"),
        },
    ),
    "bounds.binary_label_shift": Entry(
        0.2, {"p": kinds.unit_array, "weight_ratio": kinds.positive}
    ),
    "bounds.binning_hoeffding": Entry(0.2, VALUES),
    "bounds.binning_mcdiarmid": Entry(0.2, VALUES),
    "bounds.binning_smallest": Entry(0.2, VALUES),
    "bounds.binning_weissman": Entry(0.2, VALUES),
    "bounds.clipped_nll_constants": Entry(0.2, {"logit_range": kinds.positive}),
    "bounds.clopper_pearson": Entry(0.2, {**VALUES, "k": kinds.counts_array}),
    "bounds.clopper_pearson_lower": Entry(0.2, {**VALUES, "k": kinds.counts_array}),
    "bounds.condition_number": Entry(0.2, {"label_weight": kinds.class_weight}),
    "bounds.covariate_shift_bound": Entry(
        0.2,
        {
            "weighted_error": kinds.non_negative,
            "discriminator_error": kinds.non_negative,
            "best_discriminator_error": kinds.non_negative,
            "upper": kinds.positive,
            "t": kinds.level,
            "form": choice("sharp", "printed", "jensen"),
        },
    ),
    "bounds.covariate_shift_bound_printed": Entry(
        0.1, {"terms": made(lambda s: _terms())}
    ),
    "bounds.covariate_shift_factor": Entry(
        0.2, {"upper": kinds.positive, "t": kinds.level}
    ),
    "bounds.covariate_shift_terms": Entry(
        0.2,
        {
            "p": kinds.prior,
            "q": kinds.prior,
            "loss": kinds.unit_array,
            "source_probability": kinds.unit_array,
            "t": kinds.level,
        },
    ),
    "bounds.cts_class_excess_risk": Entry(0.2, CTS),
    "bounds.cts_corollary": Entry(0.2, {**CTS, "n": kinds.row_count}),
    "bounds.cts_excess_risk": Entry(0.2, CTS),
    "bounds.cts_excess_risk_tight": Entry(0.2, CTS),
    "bounds.empirical_bernstein": Entry(0.2, {"width": kinds.positive}),
    "bounds.half_brier_constants": Entry(0.1, {"logit_range": kinds.positive}),
    "bounds.importance_variance": Entry(
        0.2,
        {
            "divergence": kinds.positive,
            "risk": kinds.level,
            "exponent": kinds.positive,
            "loss_bound": kinds.positive,
        },
    ),
    "bounds.importance_variance_printed": Entry(
        0.2,
        {
            "divergence": kinds.positive,
            "weighted_risk": kinds.level,
            "exponent": kinds.positive,
        },
    ),
    "bounds.label_noise_confidence": Entry(
        0.2, {"p_plus": kinds.level, "p_minus": kinds.level, "p_test": kinds.level}
    ),
    "bounds.label_shift_source_radius": Entry(
        0.2,
        {
            "radius": kinds.unit_array,
            "largest_weight": kinds.positive,
            "smallest_mass": kinds.unit_array,
        },
    ),
    "bounds.interval_elimination": Entry(
        0.1,
        {
            "lower": kinds.probs,
            "upper": kinds.probs,
            "mu_low": kinds.prior,
            "mu_high": kinds.prior,
        },
    ),
    "bounds.stratified_chernoff": Entry(
        0.2, {"mean": kinds.level, "largest_weight": kinds.positive}
    ),
    "bounds.label_shift_tilt_radius": Entry(0.2, LABEL_SHIFT_BINS),
    "bounds.label_shift_weight_radius": Entry(0.2, LABEL_SHIFT_BINS),
    "bounds.nll_constants": Entry(
        0.2, {"logit_range": kinds.positive, "alpha_max": kinds.positive}
    ),
    "bounds.pac_rank": Entry(0.4),
    "bounds.pac_smallest_sample": Entry(0.2),
    "bounds.renyi_divergence": Entry(
        0.2, {"target": kinds.prior, "source": kinds.prior}
    ),
    "bounds.renyi_from_weights": Entry(0.2),
    "bounds.sample_size_effect": Entry(
        0.2, {"multiple": kinds.positive, "radius": kinds.level}
    ),
    "bounds.subset_clopper_pearson": Entry(
        0.2, {"counts": made(lambda s: s.np.integers(0, 30, (3, s.K)))}
    ),
    "bounds.theorem4_printed": Entry(
        0.2,
        {
            "radius": kinds.unit_array,
            "label_weight": kinds.class_weight,
            "weight_error": kinds.non_negative,
        },
    ),
    "bounds.weighted_bernstein": Entry(
        0.2,
        {
            **VALUES,
            "sums": made(lambda s: (s.np.random(3), s.np.random(3))),
            "squares": made(lambda s: (s.np.random(3), s.np.random(3))),
            "weight_bound": kinds.positive,
        },
    ),
    "bounds.weighted_betting_interval": Entry(
        0.2,
        {
            "values": made(lambda s: s.np.random(3)),
            "weights": made(lambda s: s.np.random(3)),
            "weight_bound": kinds.positive,
            "low": kinds.number(0.0, -1.0),
            "high": kinds.number(1.0, 2.0),
            "side": kinds.choice("both", "lower", "upper"),
        },
    ),
    "bounds.weighted_chernoff": Entry(
        0.2,
        {
            **VALUES,
            "frequency": kinds.unit_array,
            "mean_weight": kinds.unit_array,
            "weight_bound": kinds.positive,
        },
    ),
    "bounds.weighted_hoeffding": Entry(
        0.2, {**VALUES, "mean_weight": kinds.unit_array, "weight_bound": kinds.positive}
    ),
}
