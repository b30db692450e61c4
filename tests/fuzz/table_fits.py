"""Rows of the table: fits, assessment, files, simulation."""

from typing import Any

import numpy as np

import distfreeuq as dfu
from tests.fuzz import fitted, kinds
from tests.fuzz.entry import Entry
from tests.fuzz.kinds import choice, number, optional
from tests.fuzz.parameters import made

PASSED_ON = "options that it passes on have names of their own"


def set_and_restore_threads(n: Any) -> None:
    """Set the number of threads, and set it back."""
    before = dfu.get_num_threads()
    try:
        dfu.set_num_threads(n)
    finally:
        dfu.set_num_threads(before)


CONFORMAL = {"features": optional(kinds.source)}
FITS: dict[str, Entry] = {
    # prediction sets
    "split_conformal": Entry(2.0),
    "label_shift_conformal": Entry(2.0, CONFORMAL),
    "label_conditional_conformal": Entry(2.0, {"alpha": kinds.levels}),
    "covariate_shift_conformal": Entry(2.0, {"sample_weight": fitted.row_weight}),
    "prediction_sets": Entry(
        0.5,
        {
            "shift": fitted.shift,
            "claim": choice("finite-sample", "asymptotic", "estimate"),
        },
    ),
    "tally": Entry(
        1.0,
        {
            "labels": optional(kinds.labels),
            "score": choice("aps", "lac", "raps", "margin", None, "tally"),
        },
    ),
    "shift_monitor": Entry(
        0.5,
        {
            "labels": optional(kinds.labels),
            "score": choice("confidence", "class", "class-confidence", "aps", 0),
            "features": optional(kinds.source),
            "bets": choice("power", ["slope", "histogram"], ("class",)),
        },
    ),
    "risk_monitor": Entry(
        0.5,
        {
            "predictions": lambda s: (
                kinds.probs(s)
                if s.r.random() < 0.8
                else kinds.same(s.np.random((s.n, s.K)) < 0.5)
            ),
            "loss": choice(None, "error", "brier", "miscoverage"),
            "order": choice("row", "arrival"),
            "tolerance": choice(0.0, 0.1, 1.0, -1.0, None),
            "limit": choice(None, 0.0, 0.1, 1.0, 2.0),
        },
    ),
    "report": Entry(
        0.015,
        {
            "labels_target": optional(kinds.labels),
            "claim": choice("finite-sample", "asymptotic", "combined", "estimate"),
            "title": choice("A page", "<script>alert(1)</script>", "", 3),
            "path": optional(fitted.new_path),
        },
        heavy=True,
        refuses="alpha, claim and score are read by prediction_sets, which it calls",
    ),
    "clustered_conformal": Entry(0.5),
    "cross_conformal": Entry(
        0.5,
        {
            "folds": kinds.row_groups,
            "method": choice("exchangeable", "label-conditional"),
        },
    ),
    "interpolated_conformal": Entry(0.5),
    "rank_calibrated_conformal": Entry(0.5),
    "nested_scores": Entry(1.0, {"labels": optional(kinds.labels)}),
    "conformal_thresholds": Entry(
        1.0,
        {
            "alpha": kinds.levels,
            "n_classes": made(lambda s: s.K),
            "method": choice("exchangeable", "label-shift", "label-conditional"),
            "label_weight": optional(kinds.class_weight),
        },
    ),
    "weighted_quantile": Entry(
        1.0, {"level": kinds.quantile_levels, "atom": kinds.non_negative}
    ),
    "coverage_table": Entry(
        0.3, {"sets": made(lambda s: {name: fitted.some_sets(s) for name in "ab"})}
    ),
    "in_kind": Entry(0.3, {"values": kinds.probs, "rows": kinds.probs}),
    "APS": Entry(0.05),
    "LAC": Entry(0.05),
    "RAPS": Entry(0.2),
    "SAPS": Entry(0.2),
    "Rank": Entry(0.05),
    "PAS": Entry(0.2),
    "plan": Entry(0.2, {"source_prior": optional(kinds.prior)}),
    "Margin": Entry(0.05),
    # label shift
    "bbse": Entry(
        1.0, {"labels_target": optional(kinds.some_labels_target)}, heavy=True
    ),
    "rlls": Entry(
        1.0, {"labels_target": optional(kinds.some_labels_target)}, heavy=True
    ),
    "mlls": Entry(
        0.5, {"labels_target": optional(kinds.some_labels_target)}, heavy=True
    ),
    "label_weights": Entry(1.0),
    "Box": Entry(0.5, {"delta": kinds.level_or_none}),
    "Polytope": Entry(
        0.5,
        {
            "lower": made(lambda s: s.np.dirichlet(np.ones(s.K), s.K) / s.K),
            "upper": made(lambda s: s.np.random((s.K, s.K))),
            "mu_low": made(lambda s: s.np.random(s.K) / s.K),
            "mu_high": made(lambda s: s.np.random(s.K)),
            "delta": kinds.level_or_none,
        },
        heavy=True,
    ),
    # binning and scaling
    "histogram_binning": Entry(2.0, {"scheme": fitted.bin_scheme}),
    "temperature_scaling": Entry(1.0),
    "classwise_temperature_scaling": Entry(1.0, {"gamma": optional(kinds.positive)}),
    "vector_scaling": Entry(0.5, heavy=True),
    "platt_scaling": Entry(0.25, heavy=True),
    "isotonic_calibration": Entry(1.0),
    "venn_abers": Entry(0.5),
    "scaling_binning": Entry(
        0.5,
        {
            "calibrator": fitted.any_calibrator,
            "mode": choice("auto", "canonical", "classwise", "top-label"),
            "split": choice((1 / 3, 1 / 3), (0.5, 0.0), (0.2, 0.7), (0.9, 0.2), 0.5),
        },
        heavy=True,
        refuses=PASSED_ON,
    ),
    "dirichlet_scaling": Entry(
        0.25, {"ridge_bias": optional(kinds.positive)}, heavy=True
    ),
    "beta_calibration": Entry(0.5, heavy=True),
    "groupwise_calibration": Entry(
        0.3,
        {
            "groups": kinds.groups,
            "gamma": choice(0.0, 0.1, 1.0, np.inf, "cv", [0.1, 0.3], -1.0, "bound"),
        },
        heavy=True,
        refuses=PASSED_ON,
    ),
    "class_bundles": Entry(
        0.5,
        {
            "by": choice("size", "confidence", "accuracy", "gap"),
            "n_bundles": choice(1, 2, 5),
        },
    ),
    "to_logits": Entry(0.5),
    # covariate shift
    "density_ratio": Entry(
        0.1,
        {
            "method": choice(
                "logistic",
                "logistic",
                "knn",
                "knn",
                "ulsif",
                "kliep",
                "kmm",
                "mlp",
            ),
            "loss": choice(None, None, "nll", "brier"),
            "n_hidden": kinds.effort_of(None, None, 2, (2, 3), ()),
            "calibrate": kinds.flag,
            "ridge": optional(kinds.positive),
            "n_kernels": kinds.effort_of(None, 1, 3),
        },
        heavy=True,
    ),
    "covariate_shift_calibration": Entry(
        0.1,
        {
            "logits": optional(kinds.logits),
            "calibrator": fitted.any_calibrator,
        },
        heavy=True,
        refuses=PASSED_ON,
    ),
    "choose_calibration": Entry(
        0.05,
        {"logits": optional(kinds.logits), "candidates": fitted.candidates},
        heavy=True,
        refuses=PASSED_ON,
    ),
    "decision_calibration": Entry(
        0.5,
        {
            "sample_weight": optional(fitted.row_weight),
        },
        heavy=True,
    ),
    "indistinguishable_features": Entry(
        0.1, {"n_hidden": kinds.effort_of(1, 2, 3, "auto")}, heavy=True
    ),
    # after deployment
    "target_performance": Entry(
        0.2,
        {
            "shift": fitted.target_shift,
            "conformal": optional(made(fitted.sets_of_rows)),
            "metrics": fitted.performance_metrics,
            "sample_weight": optional(kinds.sample_weight),
            "weight_bound": kinds.positive_or_none,
            "loss_bounds": choice(None, (0.0, 1.0), [0, 1e6], (1.0, 0.0), (0.5,)),
            "groups": optional(kinds.row_groups),
            "groups_target": optional(kinds.target_groups),
        },
        heavy=True,
    ),
    # assessment
    "assess": Entry(0.5, heavy=True),
    "compare": Entry(0.3, heavy=True),
    "compare_calibrations": Entry(
        0.1,
        {
            "sample_weight": optional(kinds.sample_weight),
            "label_weight": optional(fitted.label_weight),
            "logits_target": optional(kinds.logits_target),
        },
        heavy=True,
    ),
    "metrics.accuracy": Entry(0.4),
    "metrics.average_ece": Entry(0.4),
    "metrics.brier_decomposition": Entry(0.4, {"groups": kinds.metric_groups}),
    "metrics.brier_score": Entry(0.4),
    "metrics.classwise_ece": Entry(0.4),
    "metrics.debiased_ece": Entry(0.4),
    "metrics.ece": Entry(0.6),
    "metrics.l2_ece_interval": Entry(0.4),
    "metrics.max_ece": Entry(0.4),
    "metrics.mean_confidence": Entry(0.4),
    "metrics.nll": Entry(0.4),
    "metrics.overconfident_ece": Entry(0.4),
    "metrics.smooth_ece": Entry(
        0.4, {"bandwidth": choice(None, None, 0.05, 0.3, 1e-9)}
    ),
    "metrics.isotonic_band": Entry(
        0.5, {"confidence": kinds.uniforms, "n_blocks": choice(1, 5, 100, 0, 10**6)}
    ),
    "metrics.reliability": Entry(1.0, {"confidence": kinds.uniforms}),
    # files, threads, simulation
    "load": Entry(0.1, {"path": fitted.stored_path}),
    "simulate": Entry(
        0.1,
        {
            "scenario": fitted.scenario_like,
            "procedure": fitted.procedure,
            "parameters": fitted.parameters,
        },
    ),
    "get_num_threads": Entry(0.02),
    "set_num_threads": Entry(
        0.05, {"n": number(1, 2, 3)}, call=set_and_restore_threads
    ),
}
