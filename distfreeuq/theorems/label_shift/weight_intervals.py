"""Theorems on weights from confusion matrices: intervals, and the test of no shift."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.confusion_estimators import bbse, rlls
from distfreeuq.label_shift.inference.anderson_rubin import AndersonRubin
from distfreeuq.label_shift.inference.delta_method import (
    hard_covariance,
    normal_intervals,
    standard_errors,
)
from distfreeuq.label_shift.inference.moments.counted_moments import moments_of_counts
from distfreeuq.label_shift.inference.score_intervals import score_ends
from distfreeuq.label_shift.inference.shift_test import (
    ShiftTest,
    compare_counts,
    compare_means,
)
from distfreeuq.label_shift.linear_solution import solve
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.theorems.draws.weight_designs import shift_test_designs
from distfreeuq.theorems.draws.weight_draws import (
    GOOD,
    SOURCE,
    WEIGHT,
    by_class,
    confusions,
    of_accuracy,
    of_counts,
    pairs,
    true_weight,
    within,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem
from distfreeuq.theorems.label_shift.weight_estimates import (
    ASSUMPTIONS,
    FAMILY,
    INVERTIBLE,
    Fit,
    soft_bbse,
    transpose,
)

ALPHA = 0.1
Interval = Callable[[Confusion], FloatMatrix]


# ---------------------------------------------------------------------------- the draws


def public_intervals(
    generator: np.random.Generator,
    n_draws: int,
    *,
    fit: Fit,
    n: int,
    m: int | None = None,
    scenario: str = "three-gaussians",
    method: str = "asymptotic",
) -> dict[str, BoolArray]:
    """Ask whether ``fit(...).confint(alpha, method)`` holds each weight."""
    weight = true_weight(scenario)
    held = []
    m = n if m is None else m
    for pair in pairs(generator, n_draws, scenario=scenario, n=n, m=m):
        ends = fit(*pair).confint(ALPHA, method, n_boot=199, rng=generator)
        held.append(within(ends, weight))
    return by_class(held)


def count_intervals(
    generator: np.random.Generator,
    n_draws: int,
    *,
    interval: Interval,
    n: int,
    m: int | None = None,
    conditional: FloatMatrix = GOOD,
) -> dict[str, BoolArray]:
    """Ask the same of intervals of confusion matrices, drawn as counts."""
    m = n if m is None else m
    drawn = confusions(generator, n_draws, conditional=conditional, n=n, m=m)
    return by_class([within(interval(c), WEIGHT) for c in drawn])


def public_test(
    generator: np.random.Generator, n_draws: int, *, fit: Fit, n: int, m: int
) -> dict[str, BoolArray]:
    """Test for a shift where there is none."""
    drawn = pairs(generator, n_draws, n=n, m=m, domain="source")
    return _levels([fit(*pair).test() for pair in drawn])


def sparse_count_test(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    factor: int = 1,
    limit: bool = False,
) -> dict[str, BoolArray]:
    """Test counts of 101 classes, most of them rare.

    A `factor` takes the source's frequencies for known, `limit` the statistic for
    chi-squared.
    """
    law = 1.0 / np.arange(1, 102) ** 2
    law /= law.sum()
    source = generator.multinomial(n, law, size=n_draws)
    target = generator.multinomial(m, law, size=n_draws)
    return _levels(
        [
            compare_counts(a * factor, b, generator)
            for a, b in zip(source, target, strict=True)
        ],
        limit,
    )


def sparse_mean_test(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int,
    m: int,
    limit: bool = False,
) -> dict[str, BoolArray]:
    """Test outputs of 30 classes, most of them rare."""
    law = 1.0 / np.arange(1, 31) ** 2
    law /= law.sum()
    outputs = 0.9 * np.eye(30) + 0.1 / 30
    tests = []
    for _ in range(n_draws):
        source, target = (
            RowsInMemory.of(outputs[generator.choice(30, p=law, size=size)])
            for size in (n, m)
        )
        tests.append(compare_means(source, target, generator))
    return _levels(tests, limit)


def _levels(tests: list[ShiftTest], limit: bool = False) -> dict[str, BoolArray]:
    p = np.array(
        [
            special.chdtrc(test.df, test.statistic) if limit else test.p_value
            for test in tests
        ]
    )
    return {"p <= 0.05": p <= 0.05, "p <= 0.5": p <= 0.5}


def anderson_rubin(
    generator: np.random.Generator,
    n_draws: int,
    *,
    accuracy: float,
    n: int,
    m: int | None = None,
    df: int | None = None,
) -> dict[str, BoolArray]:
    """Ask whether the region {w : statistic <= chi^2} holds all weights.

    With `df`, of so many degrees of freedom in place of the package's own.
    """
    m = n if m is None else m
    drawn = confusions(generator, n_draws, conditional=of_accuracy(accuracy), n=n, m=m)
    held = np.empty(n_draws, dtype=np.bool_)
    for i, confusion in enumerate(drawn):
        test = AndersonRubin(confusion)
        limit = test.limit(ALPHA) if df is None else special.chdtri(df, ALPHA)
        held[i] = test.statistic(WEIGHT) <= limit
    return {"holds all": held}


# ----------------------------------------------------------- intervals, and broken ones


def score(confusion: Confusion) -> FloatMatrix:
    """Return the package's intervals."""
    return score_ends(moments_of_counts(confusion), ALPHA)


def delta_method(confusion: Confusion) -> FloatMatrix:
    """Invert the confusion matrix, whatever its noise."""
    weight = solve(confusion)
    if weight is None:
        return np.tile([-np.inf, np.inf], (WEIGHT.size, 1))
    spread = standard_errors(hard_covariance(confusion, weight), weight.size)
    return normal_intervals(weight, spread, ALPHA)


def transposed(confusion: Confusion) -> FloatMatrix:
    """Confuse classes and predictions."""
    return score(transpose(confusion))


def a_tenth_shorter(confusion: Confusion) -> FloatMatrix:
    """Take standard errors for a tenth smaller than they are."""
    ends = score(confusion)
    middle = ends.mean(axis=1, keepdims=True)
    shorter: FloatMatrix = middle + 0.9 * (ends - middle)
    return shorter


def without_target_noise(confusion: Confusion) -> FloatMatrix:
    """Take the target's frequencies for known."""
    weight, many = solve(confusion), 10**9
    assert weight is not None
    known = dataclasses.replace(
        confusion, target=confusion.target * many, m=confusion.m * many
    )
    spread = standard_errors(hard_covariance(known, weight), weight.size)
    return normal_intervals(weight, spread, ALPHA)


def without_weights(confusion: Confusion) -> FloatMatrix:
    """Take C for diag(C w^2): the source's noise without the weights."""
    weight = solve(confusion)
    assert weight is not None
    noise = hard_covariance(confusion, np.ones_like(weight))
    spread = standard_errors(noise, weight.size)
    return normal_intervals(weight, spread, ALPHA)


def covers_each(tolerance: float) -> tuple[Claim, ...]:
    """Return the claim of asymptotic intervals, for each class."""
    return tuple(
        Claim(f"holds weight {k}", equals=1.0 - ALPHA, tolerance=tolerance)
        for k in range(3)
    )


def covers_at_least(tolerance: float) -> tuple[Claim, ...]:
    """Return the claim where score intervals, not yet in their limit, are wider."""
    return tuple(
        Claim(f"holds weight {k}", at_least=1.0 - ALPHA, tolerance=tolerance)
        for k in range(3)
    )


LEVELS = {
    tolerance: (
        Claim("p <= 0.05", at_most=0.05, tolerance=tolerance),
        Claim("p <= 0.5", at_most=0.5, tolerance=2 * tolerance),
    )
    for tolerance in (0.03, 0.06)
}


def rare_confusions(
    generator: np.random.Generator, n_draws: int, *, interval: Interval
) -> dict[str, BoolArray]:
    """Ask for weights where most classes are all but absent from a large target."""
    conditional, target = of_accuracy(0.995), np.array([0.001, 0.989, 0.01])
    drawn = confusions(
        generator, n_draws, conditional=conditional, n=500, m=10_000, target=target
    )
    return by_class([within(interval(c), target / SOURCE) for c in drawn])


def with_rare_confusions(name: str, interval: Interval) -> Experiment:
    """Return an experiment of them."""
    return Experiment(
        name,
        partial(rare_confusions, interval=interval),
        covers_at_least(0.04),
        batch=500,
    )


SCARCE = np.array([0.5, 0.25, 0.25])
OFTEN_MISTAKEN = np.array([[0.6, 0.05, 0.05], [0.35, 0.9, 0.05], [0.05, 0.05, 0.9]])


def scarce_class(
    generator: np.random.Generator,
    n_draws: int,
    *,
    interval: Interval,
    rows: int,
) -> dict[str, BoolArray]:
    """Ask for the others' weights where half the target is of a class of few rows."""
    n, m = 4000, 4000
    prior = np.array([rows / n, 0.5, 0.5 - rows / n])
    held = []
    for _ in range(n_draws):
        cells = generator.multinomial(n, (OFTEN_MISTAKEN * prior).ravel())
        drawn = of_counts(
            cells.reshape(3, 3), generator.multinomial(m, OFTEN_MISTAKEN @ SCARCE)
        )
        held.append(within(interval(drawn), SCARCE / prior))
    events = by_class(held)
    return {f"holds weight {k}": events[f"holds weight {k}"] for k in (1, 2)}


def scarce_noise_as_normal(confusion: Confusion) -> FloatMatrix:
    """Take the class means of a handful of rows for normal."""
    moments = moments_of_counts(confusion)
    no_reach = np.zeros_like(moments.reach)
    return score_ends(dataclasses.replace(moments, reach=no_reach), ALPHA)


def with_a_scarce_class(name: str, interval: Interval, rows: int) -> Experiment:
    """Return an experiment of it; classes of many rows are judged."""
    return Experiment(
        name,
        partial(scarce_class, interval=interval, rows=rows),
        covers_at_least(0.02)[1:],
        batch=500,
    )


INTERVALS = Theorem(
    name="bbse-intervals",
    title="BBSE's intervals cover, in the limit",
    reference="score intervals of the moment equations; theory page, 4.6",
    statement=(
        "P(w_k in interval) -> 1 - alpha as n, m -> infinity (asymptotic: no claim at "
        "a given sample size); here at n = m = 1000 and 20000, where the target has "
        "twenty times the source's rows, and where half of it is of a class of 3 or 30."
    ),
    assumptions=(*ASSUMPTIONS, INVERTIBLE),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        *(
            Experiment(
                f"public functions, {name}, n = m = 1000",
                partial(public_intervals, fit=fit, n=1000),
                covers_each(0.06),
                batch=100,
            )
            for name, fit in (
                ("BBSE", bbse),
                ("soft BBSE", soft_bbse),
                ("RLLS, unregularised", rlls),
            )
        ),
        Experiment(
            "bootstrap, n = m = 1000",
            partial(public_intervals, fit=bbse, n=1000, method="bootstrap"),
            covers_each(0.12),
            batch=50,
        ),
        Experiment(
            "counts, n = m = 20000",
            partial(count_intervals, interval=score, n=20_000),
            covers_each(0.02),
            batch=1000,
        ),
        with_rare_confusions("rare confusions, n = 500, m = 10000", score),
        with_a_scarce_class("3 source rows of half the target", score, 3),
        with_a_scarce_class("30 source rows of half the target", score, 30),
        *(
            Experiment(
                f"counts, n = {n}, m = {m}",
                partial(count_intervals, interval=score, n=n, m=m),
                covers_at_least(0.03),
                batch=1000,
            )
            for n, m in ((20_000, 1000), (2000, 50_000))
        ),
    ),
    controls=(
        with_rare_confusions("delta method, rare confusions", delta_method),
        with_a_scarce_class(
            "3 source rows, their noise taken for normal", scarce_noise_as_normal, 3
        ),
        *(
            Experiment(
                name,
                partial(count_intervals, interval=interval, n=20_000),
                covers_each(0.02),
                batch=1000,
            )
            for name, interval in (
                ("standard errors a tenth too small", a_tenth_shorter),
                ("target's frequencies taken for known", without_target_noise),
                ("source's noise without the weights", without_weights),
                ("confusion matrix transposed", transposed),
            )
        ),
    ),
)

HOLDS_ALL = (Claim("holds all", equals=1.0 - ALPHA, tolerance=0.02),)

ANDERSON_RUBIN = Theorem(
    name="anderson-rubin",
    title="The Anderson-Rubin region covers, however weak the classifier",
    reference="Anderson and Rubin (1949); theory page, 4.5",
    statement=(
        "P(w in {w : (C w - mu)' S(w)^-1 (C w - mu) <= chi^2_K}) -> 1 - alpha "
        "(asymptotic: no claim at a given sample size); here at n = m = 20000. C need "
        "not be invertible."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    unsearched=ASYMPTOTIC,
    experiments=(
        *(
            Experiment(
                f"accuracy {accuracy:.3g}, n = m = 20000",
                partial(anderson_rubin, accuracy=accuracy, n=20_000),
                HOLDS_ALL,
                batch=2000,
            )
            for accuracy in (1 / 3, 0.34, 0.9)
        ),
        Experiment(
            "accuracy 0.6, n = 20000, m = 2000",
            partial(anderson_rubin, accuracy=0.6, n=20_000, m=2000),
            (Claim("holds all", equals=1.0 - ALPHA, tolerance=0.04),),
            batch=1000,
        ),
    ),
    controls=(
        Experiment(
            "chi-squared of K - 1",
            partial(anderson_rubin, accuracy=0.9, n=20_000, df=2),
            HOLDS_ALL,
            batch=2000,
        ),
        Experiment(
            "intervals that invert a weak confusion matrix",
            partial(
                count_intervals,
                interval=delta_method,
                conditional=of_accuracy(0.34),
                n=20_000,
            ),
            covers_each(0.02),
            batch=1000,
        ),
    ),
)

NO_SHIFT = Theorem(
    name="no-shift-test",
    title="The test of equal class proportions has its level, at every sample size",
    reference="permutation tests given the pooled outputs; theory page, 4.9",
    statement=(
        "If q = p, P(p-value <= a) <= a for every a and all n, m, over the rows and the"
        " drawn choices of the source."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=shift_test_designs,
    experiments=(
        *(
            Experiment(
                f"public functions, {name}, n = 60, m = 300",
                partial(public_test, fit=fit, n=60, m=300),
                LEVELS[0.06],
                batch=100,
            )
            for name, fit in (("BBSE", bbse), ("soft BBSE", soft_bbse), ("MLLS", mlls))
        ),
        Experiment(
            "101 classes, predicted classes, n = 20, m = 20000",
            partial(sparse_count_test, n=20, m=20_000),
            LEVELS[0.03],
            batch=200,
        ),
        Experiment(
            "30 classes, probabilities, n = 20, m = 2000",
            partial(sparse_mean_test, n=20, m=2000),
            LEVELS[0.06],
            batch=100,
        ),
        Experiment(
            "30 classes, probabilities, blocks of rows, n = 1100, m = 3000",
            partial(sparse_mean_test, n=1100, m=3000),
            LEVELS[0.06],
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "chi-squared limit, 101 classes, n = 20, m = 20000",
            partial(sparse_count_test, n=20, m=20_000, limit=True),
            LEVELS[0.03],
            batch=200,
        ),
        Experiment(
            "chi-squared limit, probabilities, n = 20, m = 2000",
            partial(sparse_mean_test, n=20, m=2000, limit=True),
            LEVELS[0.06],
            batch=100,
        ),
        Experiment(
            "source's frequencies taken for known",
            partial(sparse_count_test, n=200, m=200, factor=1000),
            LEVELS[0.03],
            batch=200,
        ),
    ),
)


THEOREMS = (INTERVALS, ANDERSON_RUBIN, NO_SHIFT)
