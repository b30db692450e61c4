"""Theorems on sets for many classes: interpolated, clustered, rank-calibrated."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix, IntArray
from distfreeuq.conformal.many_classes.clustered_sets import clustered_conformal
from distfreeuq.conformal.many_classes.interpolated_sets import interpolated_conformal
from distfreeuq.conformal.many_classes.rank_calibrated_sets import (
    rank_calibrated_conformal,
)
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    CLASS_EXCHANGEABLE,
    DING_2023,
    DING_2025,
    EXCHANGEABLE,
    LABEL_SHIFT,
    SHI_2024,
    SPLIT_AT_RANDOM,
)
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws import procedure_designs
from distfreeuq.theorems.draws.calibration_draws import covered_by_fits, scenario_rows
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.2


def draw(
    generator: np.random.Generator,
    n_draws: int,
    *,
    procedure: str,
    n: int,
    scenario: str = "three-gaussians",
    label: int | None = None,
    **options: Any,
) -> dict[str, BoolArray]:
    """Fit by the public functions, and predict a row each, of one class if asked."""
    covered, _ = covered_by_fits(
        generator,
        n_draws,
        partial(_fit, procedure, **options),
        source=partial(scenario_rows, scenario=scenario),
        target=partial(scenario_rows, scenario=scenario, label=label),
        n=n,
    )
    return {"covered": covered}


def _fit(
    procedure: str, probs: FloatMatrix, labels: IntArray, **options: Any
) -> ConformalResult:
    functions: dict[str, Any] = {
        "interpolated": interpolated_conformal,
        "clustered": clustered_conformal,
        "rank": rank_calibrated_conformal,
        "split": split_conformal,
    }
    fit: ConformalResult = functions[procedure](
        probs, labels, **{"alpha": ALPHA, **options}
    )
    return fit


INTERPOLATED = Theorem(
    name="interpolated-coverage",
    title="Thresholds between all classes' and each class's own cover 1 - 2 alpha",
    reference=f"{DING_2025} (theory page, 1.8)",
    statement="P(Y in C(X)) >= 1 - 2 alpha for every weight of the two thresholds.",
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=procedure_designs.interpolated_designs,
    experiments=tuple(
        Experiment(
            f"public: {scenario}, n = {n}",
            partial(draw, procedure="interpolated", n=n, scenario=scenario),
            covers(2 * ALPHA, 0.03),
            400,
        )
        for scenario, n in (("heavy-imbalance", 60), ("fifty-classes", 100))
    ),
    controls=(
        Experiment(
            "three times alpha for each threshold",
            partial(
                draw,
                procedure="interpolated",
                n=100,
                scenario="heavy-imbalance",
                alpha=3 * ALPHA,
            ),
            covers(2 * ALPHA, 0.03),
            400,
        ),
    ),
)

CLUSTERED = Theorem(
    name="cluster-coverage",
    title="A threshold for each cluster of classes covers every cluster",
    reference=f"{DING_2023} (theory page, 1.9)",
    statement=(
        "P(Y in C(X) | cluster of Y) >= 1 - alpha for clusters that other rows chose; "
        "hence P(Y in C(X)) >= 1 - alpha."
    ),
    assumptions=(EXCHANGEABLE, CHOSEN_ELSEWHERE, SPLIT_AT_RANDOM),
    family=FAMILY,
    designs=procedure_designs.cluster_designs,
    experiments=(
        Experiment(
            "public: all rows, fifty classes, n = 200",
            partial(draw, procedure="clustered", n=200, scenario="fifty-classes"),
            covers(ALPHA, 0.03),
            200,
        ),
        Experiment(
            "public: one class to a cluster, n = 300",
            partial(draw, procedure="clustered", n=300, label=0, n_clusters=3),
            covers(ALPHA, 0.05),
            200,
        ),
    ),
    controls=(
        Experiment(
            "one threshold for all classes, of one class",
            partial(draw, procedure="split", n=150, label=0),
            covers(ALPHA, 0.03),
            400,
        ),
    ),
)

RANK = Theorem(
    name="rank-calibrated-coverage",
    title="Labels beyond a rank are left out, and every class is covered",
    reference=f"{SHI_2024} (theory page, 1.10)",
    statement=(
        "P(Y in C(X) | Y = y) >= 1 - alpha for every class, thresholds and largest "
        "ranks by class from the same rows."
    ),
    assumptions=(LABEL_SHIFT, CLASS_EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=procedure_designs.rank_designs,
    experiments=tuple(
        Experiment(
            f"public: three Gaussians, class {label}, share {share}",
            partial(draw, procedure="rank", n=80, label=label, rank_share=share),
            covers(ALPHA, 0.03),
            400,
        )
        for label, share in ((0, 0.5), (1, 1.0), (2, 0.5))
    ),
    controls=(
        Experiment(
            "alpha for ranks and alpha for scores",
            partial(draw, procedure="rank", n=80, label=2, rank_share=1.0, alpha=0.3),
            covers(ALPHA, 0.03),
            400,
        ),
        Experiment(
            "one threshold for all classes",
            partial(draw, procedure="split", n=80, label=0),
            covers(ALPHA, 0.03),
            400,
        ),
    ),
)

THEOREMS = (INTERPOLATED, CLUSTERED, RANK)
