"""Write the files of `format2`: a small result of every kind, and what it gives.

``python -m tests.files.write_format2 FOLDER`` wrote them. Once a release has begun the
format they are never written again; new kinds are added.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import distfreeuq as dfu
from distfreeuq import theorems
from distfreeuq._base.files.rows_left_out import without_rows
from tests.unit.simulation_study import study

GENERATOR = np.random.default_rng(2)
LOGITS = GENERATOR.normal(size=(40, 3)).round(2)
LABELS = (LOGITS + GENERATOR.gumbel(size=(40, 3))).argmax(axis=1)
# The softmax of LOGITS, kept to the bit: releases differ in the last one, and with it
# in the uniforms that are hashes of rows.
PROBS = np.load(Path(__file__).with_name("probs_of_format2.npy"))
TARGET = PROBS[::2][:, [1, 0, 2]]
TWO = PROBS[:, 1] / (PROBS[:, 0] + PROBS[:, 1])
OF_TWO = (GENERATOR.random(40) < TWO).astype(int)
X = GENERATOR.normal(size=(40, 2)).round(2)
X_TARGET = (X[:30] + 0.5).round(2)
WEIGHTS = GENERATOR.uniform(0.5, 2.0, 40).round(2)
# of many classes, three have rows
MANY = (np.eye(501)[10 * LABELS[::-2]], 10 * LABELS[::2], np.eye(501)[10 * LABELS])
NAMES = ["benign", "malignant", ("other", 1)]


def results() -> dict[str, Any]:
    """Return a result of every kind, and of every form that its fields have."""
    named = [NAMES[k] for k in LABELS]
    prior = [0.3, 0.3, 0.4]
    split = dfu.split_conformal(PROBS, LABELS, alpha=0.3, rng=0)
    bbse = dfu.bbse(PROBS, LABELS, TARGET)
    mlls = dfu.mlls(PROBS, LABELS, TARGET)
    known = dfu.label_weights(prior, [0.4, 0.3, 0.3])
    ratios = {
        name: dfu.density_ratio(X, X_TARGET, method=name, rng=0)
        for name in ("logistic", "mlp", "knn", "ulsif", "rulsif", "kliep", "kmm")
    }
    ratios["mlp-deep"] = dfu.density_ratio(
        X, X_TARGET, method="mlp", n_hidden=(4, 3), rng=0
    )
    sets = split.predict(PROBS[:9])
    found: dict[str, Any] = {
        "sets-of-frame": split.predict(pd.DataFrame(PROBS[:3], index=["a", "b", "c"])),
        "split-hashed": split,
        "split-ids": dfu.split_conformal(PROBS, LABELS, ids=range(40), rng=0),
        "split-named": dfu.split_conformal(PROBS, named, classes=NAMES, score="lac"),
        "split-raps": dfu.split_conformal(PROBS, LABELS, score=dfu.RAPS(0.1, 1), rng=0),
        "split-saps": dfu.split_conformal(PROBS, LABELS, score=dfu.SAPS(0.3), rng=0),
        "split-rank": dfu.split_conformal(PROBS, LABELS, score="rank", rng=0),
        "split-margin": dfu.split_conformal(PROBS, LABELS, score="margin"),
        "split-confidence": dfu.split_conformal(
            PROBS, LABELS, alpha=0.3, confidence=0.9, never_empty=True, rng=0
        ),
        "split-ties": dfu.split_conformal(
            PROBS, LABELS, score=dfu.APS(ties="random"), rng=0
        ),
        "split-pas": dfu.split_conformal(PROBS, LABELS, score=dfu.PAS(prior)),
        "plan": dfu.plan(0.1, 0.9, source_prior=prior),
        "tally": dfu.tally(PROBS, named, classes=NAMES, rng=0),
        "tally-grid": dfu.tally(PROBS, named, classes=NAMES, rng=0, per_unit=10),
        "tally-sums": dfu.tally(PROBS, named, classes=NAMES, score=None, n_bins=4),
        "tally-counts": dfu.tally(TARGET),
        "monitor": dfu.shift_monitor(PROBS, LABELS, alpha=0.2, rng=0).update(TARGET),
        "risk-monitor": dfu.risk_monitor(PROBS, LABELS, loss="brier", tolerance=0.1)
        .update(PROBS[:20], ids=[f"row {i}" for i in range(20)])
        .update_labels(LABELS[2:12], ids=[f"row {i}" for i in range(2, 12)])
        .update_labels(LABELS[:1], ids=["row 0"]),
        "interpolated": dfu.interpolated_conformal(PROBS, LABELS, alpha=0.3),
        "clustered": dfu.clustered_conformal(PROBS, LABELS, alpha=0.5, rng=0),
        "cross": dfu.cross_conformal(PROBS, LABELS, np.arange(40) % 4, rng=0),
        "cross-by-class": dfu.cross_conformal(
            PROBS,
            LABELS,
            ["a", "b"] * 20,
            alpha=0.3,
            method="label-conditional",
            score="lac",
        ),
        "rank-calibrated": dfu.rank_calibrated_conformal(
            PROBS, LABELS, alpha=0.5, rng=0
        ),
        "label-conditional": dfu.label_conditional_conformal(
            PROBS, LABELS, alpha=[0.3, 0.4, 0.5], rng=0
        ),
        "label-conditional-confidence": dfu.label_conditional_conformal(
            PROBS, LABELS, alpha=0.5, confidence=0.6, randomized=False
        ),
        "chosen": dfu.prediction_sets(PROBS, LABELS, alpha=0.3, rng=0),
        "grouped": dfu.split_conformal(
            PROBS, LABELS, alpha=0.3, groups=["north", "south"] * 20, rng=0
        ),
        "label-shift-known": dfu.label_shift_conformal(
            PROBS, LABELS, [0.5, 1.0, 1.5], alpha=0.3, rng=0
        ),
        "label-shift-confidence": dfu.label_shift_conformal(
            PROBS, LABELS, known, alpha=0.4, confidence=0.8, rng=0
        ),
        "label-shift-robust": dfu.label_shift_conformal(
            PROBS, LABELS, bbse, alpha=0.5, robust=True, rng=0
        ),
        "covariate-shift-conformal": dfu.covariate_shift_conformal(
            PROBS, LABELS, WEIGHTS, alpha=0.3, rng=0
        ),
        "covariate-shift-confidence": dfu.covariate_shift_conformal(
            PROBS, LABELS, WEIGHTS, alpha=0.5, confidence=0.7, weight_bound=2.0, rng=0
        ),
        "covariate-shift-ratio": dfu.covariate_shift_conformal(
            PROBS, LABELS, ratios["knn"], features=X, alpha=0.3, rng=0
        ),
        "sets": sets,
        "coverage": sets.evaluate(LABELS[:9]),
        "coverage-by-group": sets.evaluate(LABELS[:9], groups=[0, 1, 1] * 3),
        "coverage-in-blocks": sets.evaluate(LABELS[:9], blocks=[0, 1, 1] * 3),
        "coverage-table": dfu.coverage_table({"split": sets}, LABELS[:9]),
        "ratio-of-texts": dfu.density_ratio(
            pd.DataFrame({"x": X[:, 0], "site": ["a", "b"] * 20}),
            pd.DataFrame({"x": X_TARGET[:, 0], "site": ["a", "b", "b"] * 10}),
            rng=0,
        ),
        "bbse": bbse,
        "bbse-cells": bbse,
        "bbse-labelled": dfu.bbse(
            PROBS, LABELS, TARGET, labels_target=[0, 1, 2, *[None] * (len(TARGET) - 3)]
        ),
        "bbse-soft": dfu.bbse(PROBS, LABELS, TARGET, soft=True),
        "rlls": dfu.rlls(PROBS, LABELS, TARGET),
        "rlls-many": dfu.rlls(*MANY),
        "mlls": mlls,
        "mlls-vector": dfu.mlls(PROBS, LABELS, TARGET, calibrate="vs"),
        "label-weights": known,
        "bins-canonical": dfu.histogram_binning(PROBS, LABELS, n_bins=4, rng=0),
        "bins-two": dfu.histogram_binning(TWO, OF_TWO, n_bins=3, rng=0),
        "bins-weighted": dfu.histogram_binning(
            TWO, OF_TWO, scheme=[0.5], sample_weight=WEIGHTS
        ),
        "bins-classwise": dfu.histogram_binning(
            PROBS, LABELS, n_bins=3, mode="classwise", rng=0
        ),
        "bins-top-label": dfu.histogram_binning(
            PROBS, LABELS, n_bins=3, mode="top-label", rng=0
        ),
        "temperature": dfu.temperature_scaling(LOGITS, LABELS),
        "classwise": dfu.classwise_temperature_scaling(LOGITS, LABELS, min_rows=1),
        "vector": dfu.vector_scaling(LOGITS, LABELS),
        "platt": dfu.platt_scaling(LOGITS, LABELS),
        "platt-two": dfu.platt_scaling(LOGITS[:, :2], OF_TWO),
        "isotonic": dfu.isotonic_calibration(PROBS, LABELS),
        "dirichlet": dfu.dirichlet_scaling(LOGITS, LABELS),
        "beta": dfu.beta_calibration(PROBS, LABELS),
        "venn-abers": dfu.venn_abers(PROBS, LABELS),
        "scaling-binning": dfu.scaling_binning(LOGITS, LABELS, n_bins=2, rng=0),
        "groupwise": dfu.groupwise_calibration("temperature", LOGITS, LABELS),
        "groupwise-tied": dfu.groupwise_calibration(
            "binning",
            PROBS,
            LABELS,
            groups=dfu.class_bundles(PROBS, LABELS, by="confidence"),
            n_bins=2,
            gamma=[0.1, 0.2],
        ),
        "assessment": dfu.assess(PROBS, LABELS, n_boot=20, rng=0),
        "comparison": dfu.compare({"a": PROBS, "b": PROBS[:, ::-1]}, LABELS, n_boot=0),
        "comparison-of-calibrations": dfu.compare_calibrations(
            LOGITS, LABELS, LOGITS[:20], LABELS[:20], n_rep=2, rng=0
        ),
        "performance": dfu.target_performance(
            PROBS, LABELS, PROBS[::-1], shift=np.ones(PROBS.shape[1])
        ),
        "isotonic-band": dfu.metrics.isotonic_band(TWO, OF_TWO == 1, n_blocks=5),
        "reliability": dfu.metrics.reliability(TWO, OF_TWO == 1, n_bins=3),
        "features": dfu.indistinguishable_features(
            X, LABELS, X_TARGET, n_hidden=3, n_epochs=2, rng=0
        ),
        "features-conditional": dfu.indistinguishable_features(
            X,
            LABELS,
            X_TARGET,
            n_hidden="auto",
            adversary="conditional",
            n_epochs=2,
            rng=0,
        ),
        "simulation": study(n_rep=4),
        "decisions": dfu.decision_calibration(
            LOGITS, LABELS, LABELS[::-1], sample_weight=WEIGHTS, weight_bound=2.0
        ),
        "theorems": theorems.verify("aps-uniform", rng=0),
        "search": theorems.search("split-coverage", n_designs=3, rng=0),
    }
    found["choice"] = dfu.choose_calibration(
        LOGITS, LABELS, None, None, ["platt", "vector"], ratio=WEIGHTS, rng=0
    )
    # what `save(rows=False)` writes
    found["split-no-rows"] = without_rows(split)
    for name in ("label-conditional", "rank-calibrated", "label-shift-known", "mlls"):
        found[f"{name}-no-rows"] = without_rows(found[name])
    found["decisions-judged"] = found["decisions"].evaluate(LOGITS, LABELS)
    for mode in ("bins-classwise", "bins-top-label"):
        found[f"{mode}-shift"] = found[mode].under_label_shift([0.5, 1.0, 1.5])
    found |= {f"ratio-{name}": ratio for name, ratio in ratios.items()}
    for name in ("temperature", "binning"):
        found[f"shifted-{name}"] = dfu.covariate_shift_calibration(
            PROBS if name == "binning" else LOGITS,
            LABELS,
            X,
            X_TARGET,
            calibrator=name,
            rng=0,
        )
    found["shifted-features"] = dfu.covariate_shift_calibration(
        None,
        LABELS,
        X,
        X_TARGET,
        feature_learning={"n_hidden": 3, "n_epochs": 2},
        rng=0,
    )
    return found


def numbers_of(fit: Any) -> dict[str, Any]:
    """Return what a later version must give again: the table, and predictions."""
    found = {"frame": fit.to_frame().select_dtypes("number").to_numpy(np.float64)}
    if isinstance(fit, dfu.ConformalResult):
        weights = (WEIGHTS,) if hasattr(fit, "sample_weight") else ()
        options = {"ids": range(40)} if fit.row_key and fit.row_key.by_id else {}
        if fit.score.uses_uniforms and fit.randomized and fit.row_key is None:
            options = {"rng": 0}
        found["predict"] = fit.predict(PROBS, *weights, **options).mask
    elif isinstance(fit, dfu.ChosenConformalResult):
        found["predict"] = fit.predict(PROBS).mask
    elif isinstance(fit, dfu.CrossConformalResult):
        found["predict"] = fit.predict([PROBS] * len(fit.folds)).mask
    elif isinstance(fit, dfu.GroupedConformalResult):
        found["predict"] = fit.predict(PROBS, ["north", "south"] * 20).mask
    elif isinstance(
        fit,
        dfu.BinningResult | dfu.IsotonicResult | dfu.VennAbersResult | dfu.BetaResult,
    ):
        found["predict"] = fit.predict(TWO if len(fit.classes) == 2 else PROBS)
    elif isinstance(fit, dfu.GroupwiseResult) and fit.calibrator == "binning":
        found["predict"] = fit.predict(PROBS)
    elif isinstance(fit, dfu.CalibrationResult):
        found["predict"] = fit.predict(LOGITS[:, : len(fit.classes)])
    elif isinstance(fit, dfu.CovariateShiftCalibrationResult):
        takes_probs = "binning" in fit.method
        rows = X if fit.feature_map is not None else PROBS if takes_probs else LOGITS
        found["predict"] = fit.predict(rows)
    elif isinstance(fit, dfu.DensityRatioResult) and fit.design is not None:
        found["weight"] = fit.weight(pd.DataFrame({"x": X[:, 0], "site": ["b"] * 40}))
    elif isinstance(fit, dfu.DensityRatioResult) and fit.auc is not None:
        found["weight"] = fit.weight(X)
    elif isinstance(fit, dfu.DecisionCalibrationResult):
        found["predict"] = fit.predict(LOGITS)
    elif isinstance(fit, dfu.FeatureMapResult):
        found["logits"] = fit.logits(X)
    elif isinstance(fit, dfu.Tally) and fit.scores is not None:
        found["scores"] = fit.scores.scores
    elif isinstance(fit, dfu.LabelShiftResult) and len(fit.classes) == 3:
        found["adapt"] = fit.adapt(PROBS)
    return found


if __name__ == "__main__":
    folder, recorded = Path(sys.argv[1]), {}
    for name, result in results().items():
        result.save(folder / f"{name}.npz")
        for what, numbers in numbers_of(result).items():
            recorded[f"{name}.{what}"] = numbers
    np.savez_compressed(folder / "recorded.npz", **recorded)
