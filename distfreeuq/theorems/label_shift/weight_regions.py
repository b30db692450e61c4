"""Theorems on regions of the weights: all classes at once, in finite samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.bounds import clopper_pearson
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.inference.finite_sample_regions import (
    exact_region,
    norm_region,
)
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.linear_solution import invertibility, solve
from distfreeuq.theorems.draws.cell_designs import (
    draw_of_target_cells,
    known_sample_designs,
)
from distfreeuq.theorems.draws.weight_designs import region_designs
from distfreeuq.theorems.draws.weight_draws import (
    GOOD,
    SINGULAR,
    WEIGHT,
    confusions,
    of_accuracy,
    pairs,
    true_weight,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import ASSUMPTIONS, FAMILY

Region = Callable[[Confusion, float], Box | Polytope]


def public(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str,
    n: int,
    m: int,
    delta: float,
    soft: bool = False,
    invert: bool = False,
    ranges: bool = False,
) -> dict[str, BoolArray]:
    """Ask whether ``bbse(...).region(delta)`` holds the true weights.

    `invert` is the broken variant p / q; `ranges` asks for the coordinates' intervals.
    """
    weight = true_weight(scenario)
    if invert:
        weight = 1.0 / weight
    held = np.empty(n_draws, dtype=np.bool_)
    drawn = pairs(generator, n_draws, scenario=scenario, n=n, m=m)
    for i, (probs, labels, target) in enumerate(drawn):
        fit = bbse(probs, labels, target, soft=soft)
        if ranges:
            ends = fit.confint(delta, "finite-sample")
            held[i] = bool(((ends[:, 0] <= weight) & (weight <= ends[:, 1])).all())
        else:
            held[i] = fit.region(delta).contains(weight)
    return {"holds": held}


def of_counts(
    generator: np.random.Generator,
    n_draws: int,
    *,
    region: Region,
    conditional: FloatMatrix = GOOD,
    n: int,
    m: int,
    delta: float,
) -> dict[str, BoolArray]:
    """Ask the same of a region of confusion matrices, drawn as counts."""
    drawn = confusions(generator, n_draws, conditional=conditional, n=n, m=m)
    return {"holds": np.array([region(c, delta).contains(WEIGHT) for c in drawn])}


# -------------------------------------------------------------------- broken variants


def transposed(confusion: Confusion, delta: float) -> Polytope:
    """Return the region with classes and predictions confused."""
    region = exact_region(confusion, delta)
    return Polytope(region.lower.T, region.upper.T, region.mu_low, region.mu_high, True)


def without_noise(confusion: Confusion, delta: float) -> Polytope:
    """Return the region as if frequencies were probabilities."""
    c, mu = confusion.matrix, confusion.frequencies
    return Polytope(c, c, mu, mu, True)


def without_union(confusion: Confusion, delta: float) -> Polytope:
    """Return the region with all of delta for each of the K^2 + K cells."""
    lower, upper = clopper_pearson(confusion.joint, confusion.n, delta)
    mu_low, mu_high = clopper_pearson(confusion.target, confusion.m, delta)
    return Polytope(lower, upper, mu_low, mu_high, True)


def too_fast(confusion: Confusion, delta: float) -> Box:
    """Return the ball with deviations of order 1/N in place of 1/sqrt(N)."""
    raw, room = solve(confusion), invertibility(confusion).smallest
    assert raw is not None
    factor = 1.0 + math.sqrt(2.0 * math.log(2.0 / delta))
    radius = factor * (1.0 / confusion.m + np.abs(raw).max() / confusion.n) / room
    return Box(raw - radius, raw + radius, True)


def holds(delta: float, tolerance: float = 0.03) -> tuple[Claim, ...]:
    """Return the claim of every region."""
    return (Claim("holds", at_least=1.0 - delta, tolerance=tolerance),)


SHARPEST: dict[str, Any] = {
    "conditional": np.eye(3),
    "n": 10**9,
    "m": 3000,
    "delta": 0.5,
}
"""Where nothing but the target's predictions is uncertain, the region is narrowest."""

POLYTOPE = Theorem(
    name="bbse-region",
    title="The exact region of BBSE holds all weights",
    reference="Clopper and Pearson (1934); Oettli and Prager (1964); theory page, 4.3",
    statement=(
        "P(w in W) >= 1 - delta for W = {w >= 0 : L w <= b, U w >= a}, the weights "
        "compatible with Clopper-Pearson intervals of all cells, at every n and m, "
        "whatever the classifier."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=region_designs,
    experiments=(
        *(
            Experiment(
                f"public functions, {scenario.replace('-', ' ')}, n = {n}, m = {m}",
                partial(public, scenario=scenario, n=n, m=m, delta=0.2),
                holds(0.2),
                batch=50,
            )
            for scenario, n, m in (
                ("three-gaussians", 50, 100),
                ("heavy-imbalance", 500, 100),
                ("wide-weights", 500, 100),
                ("absent-class", 200, 100),
                ("useless-classifier", 100, 100),
                ("perfect-classifier", 100, 100),
                ("ties-everywhere", 100, 100),
                ("fifty-classes", 500, 500),
            )
        ),
        Experiment(
            "intervals of the coordinates, n = m = 500",
            partial(
                public, scenario="three-gaussians", n=500, m=500, delta=0.3, ranges=True
            ),
            holds(0.3, 0.15),
            batch=25,
        ),
        *(
            Experiment(
                f"counts, {name} classifier, n = {n}, m = {m}, delta = {delta}",
                partial(
                    of_counts,
                    region=exact_region,
                    conditional=conditional,
                    n=n,
                    m=m,
                    delta=delta,
                ),
                holds(delta),
                batch=200,
            )
            for name, conditional in (
                ("good", GOOD),
                ("weak", of_accuracy(0.34)),
                ("singular", SINGULAR),
            )
            for n, m, delta in ((20, 30, 0.1), (300, 500, 0.5))
        ),
        Experiment(
            "counts, perfect classifier, known source, m = 3000, delta = 0.5",
            partial(of_counts, region=exact_region, **SHARPEST),
            holds(0.5),
            batch=200,
        ),
    ),
    controls=(
        Experiment(
            "every cell at level delta",
            partial(of_counts, region=without_union, **SHARPEST),
            holds(0.5),
            batch=200,
        ),
        Experiment(
            "weights inverted: p/q",
            partial(
                public,
                scenario="three-gaussians",
                n=2000,
                m=2000,
                delta=0.2,
                invert=True,
            ),
            holds(0.2),
            batch=50,
        ),
        Experiment(
            "covariate shift in place of label shift",
            partial(public, scenario="covariance-shift", n=20_000, m=20_000, delta=0.2),
            holds(0.2),
            batch=25,
        ),
        *(
            Experiment(
                name,
                partial(of_counts, region=region, n=5000, m=5000, delta=0.5),
                holds(0.5),
                batch=200,
            )
            for name, region in (
                ("confusion matrix transposed", transposed),
                ("frequencies taken for probabilities", without_noise),
            )
        ),
    ),
)

BALL = Theorem(
    name="bbse-ball",
    title="A ball around BBSE's weights holds the true ones",
    reference="bounded differences; theory page, 4.4",
    statement=(
        "P(|w_raw - w|_2 <= (r_m + |w_raw|_inf r_n) / (sigma_min(C) - r_n)) >= 1 - "
        "delta, r_N = (1 + sqrt(2 ln(2/delta))) / sqrt(N); predictions hard or soft."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=partial(region_designs, soft=True),
    experiments=(
        Experiment(
            "public functions, soft, perfect classifier, n = m = 3000",
            partial(
                public,
                scenario="perfect-classifier",
                n=3000,
                m=3000,
                delta=0.3,
                soft=True,
            ),
            holds(0.3, 0.1),
            batch=25,
        ),
        Experiment(
            "public functions, soft, three Gaussians, n = m = 4000",
            partial(
                public, scenario="three-gaussians", n=4000, m=4000, delta=0.3, soft=True
            ),
            holds(0.3, 0.1),
            batch=25,
        ),
        *(
            Experiment(
                f"hard predictions, n = m = {n}",
                partial(of_counts, region=norm_region, n=n, m=n, delta=0.5),
                holds(0.5, 0.05),
                batch=200,
            )
            for n in (100, 2000, 20_000)
        ),
    ),
    controls=(
        Experiment(
            "deviations of order 1/N",
            partial(of_counts, region=too_fast, n=2000, m=2000, delta=0.5),
            holds(0.5, 0.05),
            batch=200,
        ),
    ),
)

# -------------------------------------------------------------- each cell by itself

EVENLY = np.array([[0.7, 0.3], [0.3, 0.7]])


def with_level(confusion: Confusion, delta: float, *, cells: float) -> Polytope:
    """Return the region with delta shared among another number of cells."""
    each = delta / cells
    lower, upper = clopper_pearson(confusion.joint, confusion.n, each)
    mu_low, mu_high = clopper_pearson(confusion.target, confusion.m, each)
    return Polytope(lower, upper, mu_low, mu_high, True)


def one_cell(
    rows: int, delta: float, region: Region = exact_region
) -> Callable[..., dict[str, BoolArray]]:
    """Return draws of a target of two predictions, the source being known."""
    return partial(
        draw_of_target_cells,
        rows=rows,
        delta=delta,
        conditional=EVENLY,
        region=region,
    )


CELLS = Theorem(
    name="bbse-cells",
    title="Every cell of BBSE's exact region has its share of delta",
    reference="Clopper and Pearson (1934); theory page, 4.3",
    statement=(
        "Where one sample is known, so that all noise is that of c cells of the other, "
        "the region misses the weights with probability c delta / (K^2 + K) at most; "
        "two cells that add up to a whole sample count once."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=known_sample_designs,
    experiments=tuple(
        Experiment(
            f"known source, two classes, m = {rows}, delta = {delta}",
            one_cell(rows, delta),
            (Claim("missed", at_most=delta / 6.0, tolerance=0.02),),
            batch=500,
        )
        for rows, delta in ((20, 0.9), (117, 0.9), (60, 0.5))
    ),
    controls=tuple(
        Experiment(
            name,
            one_cell(117, 0.9, partial(with_level, cells=cells)),
            (Claim("missed", at_most=0.15, tolerance=0.02),),
            batch=500,
        )
        for name, cells in (
            ("cells of the target not counted", 4.0),
            ("ends at the level of both", 3.0),
        )
    ),
)

THEOREMS = (POLYTOPE, BALL, CELLS)
