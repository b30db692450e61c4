"""Theorems on prediction sets under shift with the true weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.thresholds import (
    exchangeable_threshold,
    label_shift_thresholds,
)
from distfreeuq.references import (
    CHOSEN_ELSEWHERE,
    IID,
    LABEL_SHIFT,
    PODKOPAEV_RAMDAS_2021,
    TIBSHIRANI_2019,
    TRUE_LABEL_WEIGHT,
)
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws.calibration_draws import (
    EXACT,
    ScoredDraws,
    covered_by_fits,
    exact_event,
    exactly,
    in_words,
    overshoot,
    scenario_rows,
    scored_draws,
)
from distfreeuq.theorems.draws.set_designs import label_shift_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem, as_event

BASICS = (LABEL_SHIFT, IID, CHOSEN_ELSEWHERE)
ASSUMPTIONS = (*BASICS, TRUE_LABEL_WEIGHT)

Rule = Callable[[FloatArray, IntArray, FloatArray, float], FloatArray]
"""``rule(scores, labels, label_weight, alpha)``: the thresholds (K,)."""


# ---------------------------------------------------------------------------- the draws


def public(
    generator: np.random.Generator, n_draws: int, *, scenario: str, n: int, alpha: float
) -> dict[str, BoolArray]:
    """Fit and predict by the public functions."""
    weights = scenarios.get(scenario).label_weight
    covered, _ = covered_by_fits(
        generator,
        n_draws,
        partial(_fit, label_weight=weights, alpha=alpha),
        source=partial(scenario_rows, scenario=scenario),
        target=partial(scenario_rows, scenario=scenario, domain="target"),
        n=n,
    )
    return {"covered": covered}


def _fit(
    probs: FloatMatrix, labels: IntArray, *, label_weight: FloatArray, **options: Any
) -> ConformalResult:
    fit: ConformalResult = label_shift_conformal(probs, labels, label_weight, **options)
    return fit


def draw_sets(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str,
    n: int,
    randomized: bool = True,
) -> ScoredDraws:
    """Draw calibration sets of the source with test rows of the target."""
    return scored_draws(
        generator,
        n_draws,
        source=partial(scenario_rows, scenario=scenario),
        target=partial(scenario_rows, scenario=scenario, domain="target"),
        n=n,
        randomized=randomized,
    )


def batch(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str,
    n: int,
    alpha: float,
    randomized: bool = True,
    rule: Rule = label_shift_thresholds,
) -> dict[str, BoolArray]:
    """Threshold by `rule`, which is the package's own unless something is broken."""
    draws = draw_sets(generator, n_draws, scenario=scenario, n=n, randomized=randomized)
    weights = scenarios.get(scenario).label_weight
    covered = draws.covered(
        draws.thresholds(lambda scores, labels: rule(scores, labels, weights, alpha))
    )
    all_weights = weights[np.column_stack([draws.labels, draws.test_labels])]
    largest = all_weights.max(axis=1) / all_weights.sum(axis=1)
    scores = np.column_stack([draws.scores, draws.test_scores])
    excess = overshoot(scores, all_weights, alpha)
    return {
        "covered": covered,
        UPPER: as_event((covered + 1.0 - largest) / 2.0, generator),
        EXACT: exact_event(covered, excess, generator),
    }


UPPER = "(covered + 1 - largest share) / 2"


def source_lacks_a_class(
    generator: np.random.Generator, n_draws: int, *, n: int, alpha: float
) -> dict[str, BoolArray]:
    """Let class 0 be in the target only: an infinite weight.

    Its rows are always covered, and those of the other classes as if it did not exist.
    """
    draws = draw_sets(generator, n_draws, scenario="three-gaussians", n=2 * n)
    weights = np.array([np.inf, *scenarios.get("three-gaussians").label_weight[1:]])
    always, others = np.empty((2, n_draws), dtype=np.bool_)
    new = draw_sets(generator, 20 * n_draws, scenario="three-gaussians", n=0)
    known = np.flatnonzero(new.test_labels > 0)[:n_draws]
    for i, (scores, labels) in enumerate(zip(draws.scores, draws.labels, strict=True)):
        kept = np.flatnonzero(labels > 0)[:n]
        t = label_shift_thresholds(scores[kept], labels[kept], weights, alpha)
        always[i] = np.isinf(t[0])
        others[i] = new.test_scores[known[i]] <= t[new.test_labels[known[i]]]
    return {"class 0 always in": always, "others covered": others}


# ---------------------------------------------------------------------- broken variants


def weights_inverted(
    scores: FloatArray, labels: IntArray, weights: FloatArray, alpha: float
) -> FloatArray:
    """Return thresholds by p/q."""
    return label_shift_thresholds(scores, labels, 1.0 / weights, alpha)


def not_weighted(
    scores: FloatArray, labels: IntArray, weights: FloatArray, alpha: float
) -> FloatArray:
    """Return the exchangeable threshold, whatever the shift."""
    return np.full(weights.size, exchangeable_threshold(scores, alpha))


def atom_dropped(
    scores: FloatArray, labels: IntArray, weights: FloatArray, alpha: float
) -> FloatArray:
    """Return the weighted quantile of the calibration scores by themselves."""
    return np.full(weights.size, _plain_quantile(scores, weights[labels], 1.0 - alpha))


def atom_not_in_the_total(
    scores: FloatArray, labels: IntArray, weights: FloatArray, alpha: float
) -> FloatArray:
    """Return quantiles at a level lowered by the atom's share of the rows' mass."""
    own = weights / weights[labels].sum()
    quantile = partial(_plain_quantile, scores, weights[labels])
    return np.array([quantile(max(0.0, 1.0 - alpha - w)) for w in own])


def atom_counted_twice(
    scores: FloatArray, labels: IntArray, weights: FloatArray, alpha: float
) -> FloatArray:
    """Return the thresholds of rows that weigh half of what they should."""
    halved = np.concatenate([weights / 2.0, weights])
    thresholds = label_shift_thresholds(scores, labels, halved, alpha)
    return thresholds[weights.size :]


def sorted_apart(
    scores: FloatArray, labels: IntArray, weights: FloatArray, alpha: float
) -> FloatArray:
    """Sort scores and weights, each by itself: the weights belong to other rows."""
    by_weight = labels[np.argsort(weights[labels])]
    return label_shift_thresholds(np.sort(scores), by_weight, weights, alpha)


def _plain_quantile(scores: FloatArray, weights: FloatArray, level: float) -> float:
    order = np.argsort(scores)
    mass = np.cumsum(weights[order])
    place = np.searchsorted(mass, level * mass[-1] - 1e-12)
    return float(scores[order][min(place, scores.size - 1)])


# ------------------------------------------------------------------------- the theorems

COVERAGE = Theorem(
    name="label-shift-coverage",
    title="Weighted conformal sets cover under label shift",
    reference=f"{TIBSHIRANI_2019}; {PODKOPAEV_RAMDAS_2021}, Thm 2",
    statement="P(Y in C(X)) >= 1 - alpha for a new target row, with w = q/p known.",
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=label_shift_designs,
    experiments=(
        Experiment(
            "public: three Gaussians, n = 60",
            partial(public, scenario="three-gaussians", n=60, alpha=0.1),
            covers(0.1, 0.02),
            batch=400,
        ),
        *(
            Experiment(
                f"{in_words(name)}, n = {n}, alpha = {alpha}",
                partial(batch, scenario=name, n=n, alpha=alpha),
                covers(alpha, tolerance),
                batch=120_000 // n,
            )
            for name, n, alpha, tolerance in (
                ("three-gaussians", 9, 0.1, 0.01),
                ("three-gaussians", 60, 0.3, 0.015),
                ("binary-gaussians", 30, 0.05, 0.01),
                ("wide-weights", 200, 0.2, 0.015),
                ("heavy-imbalance", 200, 0.1, 0.015),
                ("fifty-classes", 100, 0.1, 0.015),
                ("absent-class", 40, 0.1, 0.01),
                ("useless-classifier", 40, 0.1, 0.01),
                ("atoms", 40, 0.1, 0.01),
            )
        ),
        *(
            Experiment(
                f"{in_words(name)}, not randomised, n = 40",
                partial(batch, scenario=name, n=40, alpha=0.2, randomized=False),
                covers(0.2, 0.015),
            )
            for name in ("ties-everywhere", "perfect-classifier", "atoms")
        ),
        Experiment(
            "a class that the source lacks, n = 30",
            partial(source_lacks_a_class, n=30, alpha=0.2),
            (
                Claim("class 0 always in", at_least=1.0),
                Claim("others covered", at_least=0.8, tolerance=0.02),
            ),
        ),
    ),
    controls=tuple(
        Experiment(
            name,
            partial(batch, scenario="three-gaussians", n=n, alpha=0.1, rule=rule),
            covers(0.1, 0.015),
            batch=100_000 // n,
        )
        for name, n, rule in (
            ("weights inverted", 60, weights_inverted),
            ("exchangeable sets under label shift", 60, not_weighted),
            ("atom dropped", 9, atom_dropped),
            ("atom left out of the total mass", 30, atom_not_in_the_total),
        )
    ),
)

COVERAGE_EXACT = Theorem(
    name="label-shift-coverage-exact",
    title="Weighted conformal sets cover no more than they must",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 2, upper side; theory page, 1.2",
    statement=(
        "P(Y in C(X)) = 1 - alpha + E[overshoot], by how much the mass up to the "
        "quantile exceeds 1 - alpha, if no two scores can tie; this is at most the "
        "largest share of the mass that one row has."
    ),
    assumptions=(*ASSUMPTIONS, "scores are continuous"),
    family=FAMILY,
    unsearched="an equality, whose lower side label-shift-coverage has designs for",
    experiments=tuple(
        Experiment(
            f"{in_words(name)}, n = {n}, alpha = {alpha}",
            partial(batch, scenario=name, n=n, alpha=alpha),
            (
                exactly(alpha, tolerance),
                Claim(UPPER, at_most=1.0 - alpha / 2, tolerance=0.02, mean=True),
            ),
            batch=60_000 // n,
        )
        for name, n, alpha, tolerance in (
            ("three-gaussians", 60, 0.1, 0.01),
            ("binary-gaussians", 30, 0.1, 0.01),
            ("fifty-classes", 300, 0.1, 0.03),
        )
    ),
    controls=(
        *(
            Experiment(
                name,
                partial(batch, scenario="three-gaussians", n=60, alpha=0.1, rule=rule),
                (exactly(0.1),),
            )
            for name, rule in (
                ("weights sorted apart from their scores", sorted_apart),
                ("atom counted twice", atom_counted_twice),
                ("atom dropped", atom_dropped),
            )
        ),
        Experiment(
            "scores that tie",
            partial(
                batch, scenario="ties-everywhere", n=100, alpha=0.3, randomized=False
            ),
            (Claim(UPPER, at_most=0.85, mean=True),),
        ),
    ),
)

THEOREMS = (COVERAGE, COVERAGE_EXACT)
