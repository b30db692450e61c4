"""Intervals that tables print beside what they estimate, and those of this checker."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from distfreeuq import metrics
from distfreeuq._base.array_types import BoolArray
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.references import (
    ASSESSED_ELSEWHERE,
    CLOPPER_PEARSON_1934,
    IID,
    INDEPENDENT,
    SETS_ASSESSED_ELSEWHERE,
    WEIGHTS_BY_INPUTS,
)
from distfreeuq.theorems.assessment.metric_tables import FAMILY
from distfreeuq.theorems.draws import outcome_designs
from distfreeuq.theorems.draws.calibration_draws import PowerScores
from distfreeuq.theorems.draws.interval_designs import binomial_designs, of_sets
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
from distfreeuq.theorems.engine.sequential import exact_interval, plan_for

# --------------------------------------------------------------------- coverage of sets


def evaluated(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    repeats: int = 1,
    normal: bool = False,
) -> dict[str, BoolArray]:
    """Evaluate sets on n new rows, the sets' true coverage being a formula.

    Broken: every row `repeats` times; the `normal` interval in place of the exact one.
    """
    law = PowerScores()
    held, of_class = np.empty((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        fit = split_conformal(*law.rows(generator, 40), alpha=0.2, score="lac")
        by_class = law.class_coverage(np.full(3, fit.thresholds[0]))
        probs, labels = law.rows(generator, n)
        probs, labels = np.repeat(probs, repeats, axis=0), np.repeat(labels, repeats)
        found = fit.predict(probs).evaluate(labels, level=0.9)
        low, high = found.interval
        if normal:
            share = found.coverage
            half = special.ndtri(0.95) * np.sqrt(share * (1.0 - share) / found.n)
            low, high = share - half, share + half
        held[i] = low <= by_class @ law.source_prior <= high
        table = found.to_frame()  # all rows, then class 0
        of_class[i] = table["low"][1] <= by_class[0] <= table["high"][1]
    return {"holds the coverage": held, "holds that of class 0": of_class}


HOLDS_COVERAGE = (Claim("holds the coverage", at_least=0.9, tolerance=0.05),)

EVALUATED = Theorem(
    name="evaluated-coverage",
    title="The interval of evaluated sets holds their coverage",
    reference=CLOPPER_PEARSON_1934,
    statement=(
        "P(interval holds the sets' true coverage | calibration rows) >= confidence, "
        "and the same in each class, by itself."
    ),
    assumptions=(IID, SETS_ASSESSED_ELSEWHERE),
    family=FAMILY,
    designs=partial(binomial_designs, ends=of_sets),
    experiments=(
        Experiment(
            "public: 25 new rows",
            partial(evaluated, n=25),
            (
                *HOLDS_COVERAGE,
                Claim("holds that of class 0", at_least=0.9, tolerance=0.05),
            ),
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "normal intervals",
            partial(evaluated, n=6, normal=True),
            HOLDS_COVERAGE,
            batch=100,
        ),
        Experiment(
            "every row four times",
            partial(evaluated, n=25, repeats=4),
            HOLDS_COVERAGE,
            batch=100,
        ),
    ),
)


# ------------------------------------------------ reliability diagrams of weighted rows


def weighted_bins(
    generator: np.random.Generator, n_draws: int, *, n: int, broken: str | None = None
) -> dict[str, BoolArray]:
    """Ask whether intervals of all bins hold the weighted accuracies given the inputs.

    Broken: the "counts" of rows in place of effective ones; weights that depend on the
    "labels".
    """
    edges = np.linspace(0.0, 1.0, 6)
    held = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        confidence = generator.random(n)
        hits = generator.random(n) < confidence**2
        weights = np.exp(3.0 * generator.standard_normal(n))
        if broken == "labels":
            weights = np.where(hits, 5.0, 1.0)
        table = metrics.reliability(
            confidence, hits, n_bins=5, sample_weight=weights, level=0.7
        )
        bins = np.searchsorted(edges[1:-1], confidence)
        sums = np.bincount(bins, weights=weights, minlength=5)
        truth = np.bincount(bins, weights=weights * confidence**2, minlength=5) / sums
        low, high = table.low, table.high
        if broken == "counts":
            counts = np.bincount(bins, minlength=5)
            radius = np.sqrt(0.5 * np.log(10.0 / 0.3) / counts)
            low, high = table.accuracy - radius, table.accuracy + radius
        held[i] = bool(((low <= truth) & (truth <= high)).all())
    return {"all bins hold": held}


ALL_HOLD = (Claim("all bins hold", at_least=0.7, tolerance=0.05),)

WEIGHTED_BINS = Theorem(
    name="weighted-reliability-intervals",
    title="Intervals of weighted reliability diagrams hold in all bins at once",
    reference="Hoeffding (1963), with a union over the bins",
    statement=(
        "P(weighted mean accuracy given the rows' inputs within its interval, in every "
        "bin) >= level, in bins that are fixed in advance."
    ),
    assumptions=(
        INDEPENDENT,
        WEIGHTS_BY_INPUTS,
        ASSESSED_ELSEWHERE,
        "bins fixed in advance",
    ),
    family=FAMILY,
    designs=outcome_designs.weighted_bin_designs,
    experiments=(
        Experiment(
            "public: five bins, n = 200",
            partial(weighted_bins, n=200),
            ALL_HOLD,
            batch=200,
        ),
    ),
    controls=tuple(
        Experiment(
            name, partial(weighted_bins, n=200, broken=broken), ALL_HOLD, batch=200
        )
        for name, broken in (
            ("numbers of rows in place of effective ones", "counts"),
            ("weights that depend on the labels", "labels"),
        )
    ),
)


# --------------------------------------------------------------------- this checker

ERROR = 0.2


def verdicts(
    generator: np.random.Generator, n_draws: int, *, p: float, shared: bool = True
) -> dict[str, BoolArray]:
    """Judge a claim that is true to the letter, at every look that is planned.

    Its error is 0.2, so that errors can be seen. Unless it is `shared`, each look has
    all of it.
    """
    claim = Claim("event", at_most=p, tolerance=0.1)
    plan = plan_for((claim,), error=ERROR, batch=10)
    interval = plan.interval if shared else partial(exact_interval, error=ERROR)
    steps = np.diff(plan.looks, prepend=0)
    paths = generator.binomial(steps, p, size=(n_draws, steps.size)).cumsum(axis=1)
    misses, violated = np.empty((2, n_draws), dtype=np.bool_)
    for i, hits in enumerate(paths.tolist()):
        ends = [interval(h, draws) for h, draws in zip(hits, plan.looks, strict=True)]
        misses[i] = any(p < low or p > high for low, high in ends)
        violated[i] = any(claim.verdict(*pair) == "violated" for pair in ends)
    return {"a look misses": misses, "called violated": violated}


SELDOM = (
    Claim("a look misses", at_most=ERROR, tolerance=0.03),
    Claim("called violated", at_most=ERROR, tolerance=0.03),
)

SEQUENTIAL = Theorem(
    name="verdict-error",
    title="No verdict of this checker is wrong more often than it says",
    reference=f"{CLOPPER_PEARSON_1934}; Bonferroni",
    statement=(
        "P(any planned look's interval misses the probability) <= error, hence also "
        "P(a true claim is called violated at any of them)."
    ),
    assumptions=("draws independent", "looks planned before any draw"),
    family=FAMILY,
    unsearched="computed exactly, look by look, by the tests of the checker",
    experiments=tuple(
        Experiment(f"p = {p}", partial(verdicts, p=p), SELDOM, batch=1000)
        for p in (0.1, 0.5)
    ),
    controls=(
        Experiment(
            "every look at the whole error",
            partial(verdicts, p=0.5, shared=False),
            SELDOM,
            batch=500,
        ),
    ),
)

THEOREMS = (EVALUATED, WEIGHTED_BINS, SEQUENTIAL)
