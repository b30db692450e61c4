"""Theorems on label-shift prediction sets whose weights are estimated."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.thresholds import label_shift_thresholds, union_thresholds
from distfreeuq.guarantees import Guarantee
from distfreeuq.label_shift.confusion_estimators import bbse, rlls
from distfreeuq.label_shift.inference.prior_distance import (
    coverage_with_weights,
    total_variation,
    total_variation_bound,
)
from distfreeuq.label_shift.inference.regions import Box
from distfreeuq.references import PODKOPAEV_RAMDAS_2021
from distfreeuq.theorems.conformal.known_weights import BASICS, draw_sets
from distfreeuq.theorems.conformal.split_coverage import FAMILY, covers
from distfreeuq.theorems.draws.calibration_draws import scored_draws, simplex_rows
from distfreeuq.theorems.draws.row_designs import variation_designs
from distfreeuq.theorems.draws.weight_designs import union_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import (
    ASYMPTOTIC,
    Experiment,
    Theorem,
    as_event,
)

TOY: Any = scenarios.three_gaussians()
WEIGHT, SOURCE, TARGET = TOY.label_weight, TOY.source_prior, TOY.target_prior
BLUNT = np.array([[0.52, 0.0, 0.48], [0.0, 1.0, 0.0], [0.48, 0.0, 0.52]])
"""Mixes classes 0 and 2: the confusion matrix is nearly singular."""


def probs_of(x: FloatMatrix, *, blunt: bool = False) -> FloatMatrix:
    """Return the source's Bayes rule, or a blunted one."""
    probs: FloatMatrix = TOY.posterior(x)
    return probs @ BLUNT if blunt else probs


# -------------------------------------------------------------- weights in the limit


def plug_in(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    alpha: float,
    moved: tuple[float, float] = (0.0, 0.0),
) -> dict[str, BoolArray]:
    """Estimate by BBSE from n + m rows, calibrate on the same n, test one target row.

    With `moved`, the target's features are moved: label shift is violated.
    """
    covered = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, labels = TOY.sample(n, "source", rng=generator)
        new, new_labels = TOY.sample(m + 1, "target", rng=generator)
        probs, new_probs = probs_of(x), probs_of(new + np.array(moved))
        estimate = bbse(probs, labels, new_probs[:m])
        fit = label_shift_conformal(probs, labels, estimate, alpha=alpha, rng=generator)
        sets = fit.predict(new_probs[m:], rng=generator)
        covered[i] = sets.mask[0, new_labels[m]]
    return {"covered": covered}


def fixed_weights(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    used: tuple[float, ...],
) -> dict[str, BoolArray]:
    """Use weights that were fixed beforehand, right or wrong."""
    draws = draw_sets(generator, n_draws, scenario="three-gaussians", n=n)
    rule = partial(label_shift_thresholds, label_weight=np.array(used), alpha=alpha)
    return {"covered": draws.covered(draws.thresholds(rule))}


def jump(generator: np.random.Generator, n_draws: int) -> dict[str, BoolArray]:
    """Perturb equal weights by 1e-6 with n = 9 and alpha = 0.1: a jump, but upwards."""
    rows = partial(simplex_rows, n_classes=3)
    draws = scored_draws(generator, n_draws, source=rows, n=9)
    thresholds = np.empty((n_draws, 3))
    for i, (scores, labels) in enumerate(zip(draws.scores, draws.labels, strict=True)):
        used = 1.0 + 1e-6 * generator.standard_normal(3)
        thresholds[i] = label_shift_thresholds(scores, labels, used, 0.1)
    return {"covered": draws.covered(thresholds)}


def lower_semicontinuity(
    generator: np.random.Generator, n_draws: int, *, n: int, size: float
) -> dict[str, BoolArray]:
    """Return whether weights near the true ones lower a threshold."""
    draws = draw_sets(generator, n_draws, scenario="three-gaussians", n=n)
    lowered = np.empty(n_draws, dtype=np.bool_)
    for i, (scores, labels) in enumerate(zip(draws.scores, draws.labels, strict=True)):
        near = WEIGHT * (1.0 + size * generator.uniform(-1.0, 1.0, 3))
        exact = label_shift_thresholds(scores, labels, WEIGHT, 0.1)
        lowered[i] = (label_shift_thresholds(scores, labels, near, 0.1) < exact).any()
    return {"threshold lowered": lowered}


# --------------------------------------------------------------------- union of sets


def union(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int | None = None,
    alpha: float,
    delta: float,
    blunt: bool = False,
) -> dict[str, BoolArray]:
    """Take the region from the calibration rows themselves and m target rows, or n."""
    m = n if m is None else m
    covered = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, labels = TOY.sample(n, "source", rng=generator)
        new, new_labels = TOY.sample(m + 1, "target", rng=generator)
        probs, new_probs = probs_of(x, blunt=blunt), probs_of(new, blunt=blunt)
        fit = label_shift_conformal(
            probs,
            labels,
            bbse(probs, labels, new_probs[:m]).region(delta),
            alpha=alpha,
            robust=True,
            rng=generator,
        )
        sets = fit.predict(new_probs[m:], rng=generator)
        covered[i] = sets.mask[0, new_labels[m]]
    return {"covered": covered}


def given_region(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    alpha: float,
    low: tuple[float, ...],
    high: tuple[float, ...],
) -> dict[str, BoolArray]:
    """Take the union over a fixed box; compare it with weights inside the box."""
    draws = draw_sets(generator, n_draws, scenario="three-gaussians", n=n)
    region = Box(np.array(low), np.array(high), True)
    thresholds = np.empty((n_draws, 3))
    below = np.empty(n_draws, dtype=np.bool_)
    for i, (scores, labels) in enumerate(zip(draws.scores, draws.labels, strict=True)):
        thresholds[i] = union_thresholds(scores, labels, region, alpha)
        inside = generator.uniform(region.low, region.high)
        single = label_shift_thresholds(scores, labels, inside, alpha)
        below[i] = (thresholds[i] < single).any()
    return {
        "covered": draws.covered(thresholds),
        "union below a member": below,
    }


# ------------------------------------------------------------------- total variation


def implied_prior(used: FloatArray) -> FloatArray:
    """Return the target prior that weights stand for."""
    prior: FloatArray = used * SOURCE / (used @ SOURCE)
    return prior


def independent(
    generator: np.random.Generator, n_draws: int, *, n: int, m: int, alpha: float
) -> dict[str, BoolArray]:
    """Estimate by RLLS from m + m rows other than the n of the calibration."""
    draws = draw_sets(generator, n_draws, scenario="three-gaussians", n=n)
    thresholds, cost = np.empty((n_draws, 3)), np.empty(n_draws)
    for i, (scores, labels) in enumerate(zip(draws.scores, draws.labels, strict=True)):
        used = estimated(rlls, generator, m).label_weight
        thresholds[i] = label_shift_thresholds(scores, labels, used, alpha)
        cost[i] = total_variation(implied_prior(used), TARGET)
    covered = draws.covered(thresholds)
    return {COST: as_event((covered + cost) / 2.0, generator)}


COST = "(covered + total variation) / 2"


def separated(
    generator: np.random.Generator, n_draws: int, *, n: int
) -> dict[str, BoolArray]:
    """Use weights for q = (.95, .05) where it is (.7, .3), at alpha = 0.1.

    All scores of class 1 lie above those of class 0, so that the rows given up are
    those that the weights underrate: hardly any coverage is left above the bound.
    """
    labels = (generator.random((n_draws, n + 1)) < 0.5).astype(np.int64)
    labels[:, n] = generator.random(n_draws) < 0.3
    scores = generator.random((n_draws, n + 1)) + labels
    used = np.array([0.95, 0.05])
    covered = np.empty(n_draws, dtype=np.bool_)
    for i, (s, y) in enumerate(zip(scores, labels, strict=True)):
        covered[i] = s[n] <= label_shift_thresholds(s[:n], y[:n], used, 0.1)[y[n]]
    return {"covered": covered}


def stated(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int | None = None,
    delta: float,
) -> dict[str, BoolArray]:
    """Return whether what a fit with ``independent=True`` states is true."""
    true = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        estimate = estimated(bbse, generator, n, m)
        x, labels = TOY.sample(50, "source", rng=generator)
        fit = label_shift_conformal(
            probs_of(x),
            labels,
            estimate,
            alpha=0.1,
            delta=delta,
            independent=True,
            rng=generator,
        )
        assert isinstance(fit.guarantee, Guarantee)
        promised = fit.guarantee.lower
        assert promised is not None
        used = np.asarray(estimate.label_weight)
        true[i] = promised <= max(
            0.0, coverage_with_weights(0.1, used, WEIGHT, SOURCE) + 1e-12
        )
    return {"statement true": true}


def variation_bound(
    generator: np.random.Generator, n_draws: int, *, factor: float = 1.0
) -> dict[str, BoolArray]:
    """Compare the bound over regions of the weights, points among them, with the truth.

    At a point with a known source prior it is the total variation itself; a `factor`
    below one makes a bound that is none.
    """
    below = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        k = int(generator.integers(2, 10))
        p, q, implied = generator.dirichlet(np.ones(k), size=3)
        width = float(generator.choice([0.0, 0.3]))
        less, more = (
            1.0 - width * generator.random(k),
            1.0 + width * generator.random(k),
        )
        bound = total_variation_bound(
            generator.exponential() * implied / p,
            Box(less * q / p, more * q / p, True),
            less * p,
            more * p,
        )
        below[i] = factor * bound < total_variation(implied, q) - 1e-12
    return {"bound below the total variation": below}


def estimated(
    estimator: Any, generator: np.random.Generator, n: int, m: int | None = None
) -> Any:
    """Return an estimate from n rows of the source and m of the target, or n."""
    x, labels = TOY.sample(n, "source", rng=generator)
    new, _ = TOY.sample(n if m is None else m, "target", rng=generator)
    return estimator(probs_of(x), labels, probs_of(new))


# ------------------------------------------------------------------------- the theorems

LIMIT = Theorem(
    name="label-shift-coverage-limit",
    title="Consistent weights cover in the limit",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Cor. 1; theory page, 1.3",
    statement=(
        "liminf P(Y in C(X)) >= 1 - alpha as the estimated weights converge to the "
        "true ones: near them thresholds may jump upwards, never downwards. The "
        "paper's assumption that they do not jump is not needed."
    ),
    assumptions=(*BASICS, "the weights' estimator is consistent"),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        Experiment(
            "public: BBSE, n = m = 500",
            partial(plug_in, n=500, m=500, alpha=0.1),
            covers(0.1, 0.03),
            batch=200,
        ),
        *(
            Experiment(
                f"public: BBSE, n = {n}, m = {m}",
                partial(plug_in, n=n, m=m, alpha=0.1),
                covers(0.1, 0.04),
                batch=200,
            )
            for n, m in ((1000, 200), (200, 1000))
        ),
        Experiment(
            "equal weights with noise of 1e-6, n = 9",
            jump,
            (*covers(0.1), Claim("covered", equals=0.95)),
        ),
        Experiment(
            "weights within 1e-4 of the true ones, n = 30",
            partial(lower_semicontinuity, n=30, size=1e-4),
            (Claim("threshold lowered", at_most=0.0),),
        ),
    ),
    controls=(
        Experiment(
            "weights not consistent: no shift supposed",
            partial(fixed_weights, n=100, alpha=0.1, used=(1.0, 1.0, 1.0)),
            covers(0.1, 0.02),
        ),
        Experiment(
            "no label shift: the target's features are moved",
            partial(plug_in, n=500, m=500, alpha=0.1, moved=(2.0, 0.0)),
            covers(0.1, 0.03),
            batch=100,
        ),
        Experiment(
            "weights that are 30 % off",
            partial(lower_semicontinuity, n=30, size=0.3),
            (Claim("threshold lowered", at_most=0.0),),
        ),
    ),
)

UNION = Theorem(
    name="union-coverage",
    title="Union sets cover with estimated weights",
    reference=f"theory page, 4.2; {PODKOPAEV_RAMDAS_2021}, Thm 2",
    statement=(
        "P(Y in C(X)) >= 1 - alpha - delta for a new target row in finite samples, if "
        "the weights lie in the region with probability 1 - delta, also where region "
        "and thresholds are from the same rows."
    ),
    assumptions=BASICS,
    family=FAMILY,
    designs=union_designs,
    experiments=(
        Experiment(
            "public: BBSE on the same rows, n = m = 300",
            partial(union, n=300, alpha=0.1, delta=0.05),
            covers(0.15, 0.04),
            batch=40,
        ),
        *(
            Experiment(
                f"public: BBSE on the same rows, n = {n}, m = {m}",
                partial(union, n=n, m=m, alpha=0.1, delta=0.05),
                covers(0.15, 0.05),
                batch=40,
            )
            for n, m in ((300, 40), (60, 600))
        ),
        Experiment(
            "public: nearly singular confusion, n = m = 300",
            partial(union, n=300, alpha=0.1, delta=0.05, blunt=True),
            covers(0.15, 0.04),
            batch=40,
        ),
        Experiment(
            "a box that holds the weights, n = 60",
            partial(
                given_region,
                n=60,
                alpha=0.1,
                low=tuple(0.9 * WEIGHT),
                high=tuple(1.1 * WEIGHT),
            ),
            (
                *covers(0.1, 0.02),
                Claim("union below a member", at_most=0.0),
            ),
            batch=200,
        ),
    ),
    controls=(
        Experiment(
            "a box that holds the inverted weights",
            partial(
                given_region,
                n=60,
                alpha=0.1,
                low=tuple(0.9 / WEIGHT),
                high=tuple(1.1 / WEIGHT),
            ),
            covers(0.1, 0.02),
            batch=200,
        ),
    ),
)

WRONG = (0.2, 1.0, 1.2)
"""Weights far from the true (3, 1/3, 5/3)."""

VARIATION = Theorem(
    name="total-variation-coverage",
    title="What independently estimated weights can cost",
    reference=f"theory page, 4.1; {PODKOPAEV_RAMDAS_2021}, Thm 2",
    statement=(
        "P(Y in C(X)) >= 1 - alpha - TV(q_used, q) with weights that are independent "
        "of the calibration and test rows and stand for a target prior q_used; the "
        "total variation is bounded with probability 1 - delta."
    ),
    assumptions=(*BASICS, "the weights come from other rows"),
    family=FAMILY,
    designs=variation_designs,
    experiments=(
        Experiment(
            "fixed wrong weights, n = 100",
            partial(fixed_weights, n=100, alpha=0.1, used=WRONG),
            (
                Claim(
                    "covered",
                    at_least=coverage_with_weights(
                        0.1, np.array(WRONG), WEIGHT, SOURCE
                    ),
                ),
            ),
        ),
        Experiment(
            "separated classes, total variation 0.25, n = 100",
            partial(separated, n=100),
            covers(0.1 + 0.25, 0.02),
        ),
        Experiment(
            "RLLS from 50 + 50 rows, n = 60",
            partial(independent, n=60, m=50, alpha=0.1),
            (Claim(COST, at_least=0.45, tolerance=0.03, mean=True),),
            batch=400,
        ),
        Experiment(
            "public: the bound stated, BBSE, n = m = 1000",
            partial(stated, n=1000, delta=0.1),
            (Claim("statement true", at_least=0.9, tolerance=0.06),),
            batch=20,
        ),
        Experiment(
            "public: the bound stated, BBSE, n = 1000, m = 200",
            partial(stated, n=1000, m=200, delta=0.1),
            (Claim("statement true", at_least=0.9, tolerance=0.1),),
            batch=20,
        ),
        Experiment(
            "the bound over random boxes and points",
            variation_bound,
            (Claim("bound below the total variation", at_most=0.0),),
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "half of the bound over boxes and points",
            partial(variation_bound, factor=0.5),
            (Claim("bound below the total variation", at_most=0.0),),
            batch=50,
        ),
        Experiment(
            "total variation left out",
            partial(fixed_weights, n=100, alpha=0.1, used=WRONG),
            covers(0.1),
        ),
        Experiment(
            "half of the total variation",
            partial(separated, n=100),
            covers(0.1 + 0.125, 0.02),
        ),
    ),
)

THEOREMS = (LIMIT, UNION, VARIATION)
