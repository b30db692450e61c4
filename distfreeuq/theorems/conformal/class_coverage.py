"""Theorems on one threshold per class: every class covered, under any label shift."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq._numerics.quantiles import conformal_rank, smallest_order_statistic
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.thresholds import (
    exchangeable_threshold,
    label_conditional_thresholds,
    label_shift_thresholds,
)
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    CLASS_EXCHANGEABLE,
    LABEL_SHIFT,
    PODKOPAEV_RAMDAS_2021,
    VOVK_2005,
)
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws.calibration_draws import (
    EXACT,
    covered_by_fits,
    exact_event,
    exactly,
    in_words,
    scenario_rows,
    scored_draws,
)
from distfreeuq.theorems.draws.set_designs import label_conditional_designs
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHAS = (0.2, 0.1, 0.05)


def public(
    generator: np.random.Generator, n_draws: int, *, n: int, label: int, alpha: float
) -> dict[str, BoolArray]:
    """Fit by the public function, and predict rows of one class at its own level."""
    alphas = np.where(np.arange(3) == label, alpha, 0.5)
    covered, fits = covered_by_fits(
        generator,
        n_draws,
        partial(label_conditional_conformal, alpha=alphas),
        source=partial(scenario_rows, scenario="three-gaussians"),
        target=partial(scenario_rows, scenario="three-gaussians", label=label),
        n=n,
    )
    rows = np.array([fit.class_counts[label] for fit in fits])
    excess = rank_excess(rows, alpha)
    return {"covered": covered, EXACT: exact_event(covered, excess, generator)}


def rank_excess(rows: IntArray, alpha: float) -> FloatArray:
    """Return by how much rank / (rows + 1) exceeds 1 - alpha, for classes of n rows."""
    shares = {
        n: min(conformal_rank(n, alpha), n + 1) / (n + 1) for n in set(rows.tolist())
    }
    return np.array([shares[n] for n in rows.tolist()]) - (1.0 - alpha)


def batch(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str,
    n: int,
    label: int | None = None,
    randomized: bool = True,
    rule: Callable[
        [FloatArray, IntArray, FloatArray], FloatArray
    ] = label_conditional_thresholds,
) -> dict[str, BoolArray]:
    """Threshold by `rule(scores, labels, alphas)`; test all classes, or one."""
    draws = scored_draws(
        generator,
        n_draws,
        source=partial(scenario_rows, scenario=scenario),
        target=partial(scenario_rows, scenario=scenario, domain="target", label=label),
        n=n,
        randomized=randomized,
    )
    alphas = np.resize(ALPHAS, scenarios.get(scenario).n_classes)
    thresholds = draws.thresholds(lambda s, y: rule(s, y, alphas))
    covered = draws.covered(thresholds)
    events = {"covered": covered}
    if label is not None:
        excess = rank_excess((draws.labels == label).sum(axis=1), ALPHAS[label])
        events[EXACT] = exact_event(covered, excess, generator)
    return events


def one_for_all(scores: FloatArray, labels: IntArray, alphas: FloatArray) -> FloatArray:
    """Return the threshold of all classes together, at each class's level."""
    return np.array([exchangeable_threshold(scores, float(a)) for a in alphas])


def by_weights(scores: FloatArray, labels: IntArray, alphas: FloatArray) -> FloatArray:
    """Return the thresholds of label shift, right on average over classes only."""
    weights = scenarios.get("three-gaussians").label_weight
    thresholds = [label_shift_thresholds(scores, labels, weights, a) for a in alphas]
    return np.diag(np.array(thresholds))


def atom_dropped(
    scores: FloatArray, labels: IntArray, alphas: FloatArray
) -> FloatArray:
    """Return each class's quantile of its calibration scores by themselves."""
    by_class = [scores[labels == k] for k in range(alphas.size)]
    return np.array(
        [
            smallest_order_statistic(own, max(1, math.ceil((1.0 - a) * own.size)))
            for own, a in zip(by_class, alphas, strict=True)
        ]
    )


def target_level(scenario: str) -> float:
    """Return 1 - sum_y q_y alpha_y."""
    prior = scenarios.get(scenario).prior("target")
    return float(1.0 - prior @ np.resize(ALPHAS, prior.size))


COVERAGE = Theorem(
    name="label-conditional-coverage",
    title="Thresholds by class cover every class, under any label shift",
    reference=f"{VOVK_2005}; {PODKOPAEV_RAMDAS_2021}, eq. (10)",
    statement=(
        "P(Y in C(X) | Y = y) >= 1 - alpha_y for every class, with equality to "
        "E[rank / (n_y + 1)] if no two scores can tie; hence P(Y in C(X)) >= 1 - sum "
        "q_y alpha_y for every target prior q."
    ),
    assumptions=(LABEL_SHIFT, CLASS_EXCHANGEABLE, CHOSEN_ELSEWHERE),
    family=FAMILY,
    designs=label_conditional_designs,
    experiments=(
        Experiment(
            "public: three Gaussians, class 1, n = 40",
            partial(public, n=40, label=1, alpha=0.2),
            (*covers(0.2, 0.03), exactly(0.2, 0.04)),
            batch=400,
        ),
        *(
            Experiment(
                f"three Gaussians, class {k}, n = 60",
                partial(batch, scenario="three-gaussians", n=60, label=k),
                (*covers(alpha), exactly(alpha, 0.015)),
            )
            for k, alpha in enumerate(ALPHAS)
        ),
        *(
            Experiment(
                f"{in_words(name)}, all classes, n = {n}",
                partial(batch, scenario=name, n=n, randomized=randomized),
                covers(1.0 - target_level(name)),
                batch=60_000 // n,
            )
            for name, n, randomized in (
                ("heavy-imbalance", 300, True),
                ("fifty-classes", 200, True),
                ("ties-everywhere", 50, False),
            )
        ),
    ),
    controls=tuple(
        Experiment(
            name,
            partial(batch, scenario="three-gaussians", n=60, label=label, rule=rule),
            covers(ALPHAS[label]),
        )
        for name, label, rule in (
            ("one threshold for all classes", 0, one_for_all),
            ("thresholds by weights, right on average only", 0, by_weights),
            ("atom at infinity dropped", 1, atom_dropped),
        )
    ),
)

THEOREMS = (COVERAGE,)
