"""Theorems on weights from confusion matrices: intervals, and the test of no shift."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, FloatMatrix
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.confusion_estimators import bbse, rlls
from distfreeuq.label_shift.inference.anderson_rubin import AndersonRubin
from distfreeuq.label_shift.inference.delta_method import (
    hard_covariance,
    normal_intervals,
    standard_errors,
)
from distfreeuq.label_shift.inference.shift_test import compare_counts
from distfreeuq.label_shift.linear_solution import solve
from distfreeuq.theorems.draws.weight_designs import shift_test_designs
from distfreeuq.theorems.draws.weight_draws import (
    GOOD,
    SOURCE,
    WEIGHT,
    by_class,
    confusions,
    of_accuracy,
    pairs,
    true_weight,
    within,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem
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
    generator: np.random.Generator, n_draws: int, *, soft: bool, n: int, m: int
) -> dict[str, BoolArray]:
    """Test for a shift where there is none."""
    drawn = pairs(generator, n_draws, n=n, m=m, domain="source")
    p = np.array([bbse(*pair, soft=soft).test().p_value for pair in drawn])
    return {"p <= 0.1": p <= 0.1, "p <= 0.5": p <= 0.5}


def count_test(
    generator: np.random.Generator, n_draws: int, *, n: int, factor: int = 1
) -> dict[str, BoolArray]:
    """Test the same on counts; a `factor` takes the source's frequencies for known."""
    drawn = confusions(generator, n_draws, n=n, m=n, target=SOURCE)
    p = np.array(
        [compare_counts(c.joint.sum(axis=1) * factor, c.target).p_value for c in drawn]
    )
    return {"p <= 0.1": p <= 0.1, "p <= 0.5": p <= 0.5}


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


def delta_method(confusion: Confusion) -> FloatMatrix:
    """Return the package's intervals."""
    weight = solve(confusion)
    if weight is None:
        return np.tile([-np.inf, np.inf], (WEIGHT.size, 1))
    spread = standard_errors(hard_covariance(confusion, weight), weight.size)
    return normal_intervals(weight, spread, ALPHA)


def transposed(confusion: Confusion) -> FloatMatrix:
    """Confuse classes and predictions."""
    return delta_method(transpose(confusion))


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


LEVELS = {
    tolerance: (
        Claim("p <= 0.1", equals=0.1, tolerance=tolerance),
        Claim("p <= 0.5", equals=0.5, tolerance=2 * tolerance),
    )
    for tolerance in (0.02, 0.06)
}

INTERVALS = Theorem(
    name="bbse-intervals",
    title="BBSE's intervals cover, in the limit",
    reference="delta method; theory page, 4.5",
    statement=(
        "P(w_k in interval) -> 1 - alpha as n, m -> infinity (asymptotic: no claim at "
        "a given sample size); here at n = m = 1000 and 20000."
    ),
    assumptions=(*ASSUMPTIONS, INVERTIBLE, "true weights positive"),
    family=FAMILY,
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
            partial(count_intervals, interval=delta_method, n=20_000),
            covers_each(0.02),
            batch=1000,
        ),
        *(
            Experiment(
                f"counts, n = {n}, m = {m}",
                partial(count_intervals, interval=delta_method, n=n, m=m),
                covers_each(0.03),
                batch=1000,
            )
            for n, m in ((20_000, 1000), (2000, 50_000))
        ),
    ),
    controls=tuple(
        Experiment(
            name,
            partial(count_intervals, interval=interval, n=20_000),
            covers_each(0.02),
            batch=1000,
        )
        for name, interval in (
            ("target's frequencies taken for known", without_target_noise),
            ("source's noise without the weights", without_weights),
            ("confusion matrix transposed", transposed),
        )
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
    title="The test of no label shift has its level",
    reference="two-sample chi-squared tests of (mean) predictions",
    statement=(
        "If q = p, P(p-value <= a) -> a (asymptotic: no claim at a given sample size)."
    ),
    assumptions=ASSUMPTIONS,
    family=FAMILY,
    designs=shift_test_designs,
    experiments=(
        *(
            Experiment(
                f"public functions, {name} predictions, n = 500, m = 700",
                partial(public_test, soft=soft, n=500, m=700),
                LEVELS[0.06],
                batch=100,
            )
            for name, soft in (("hard", False), ("soft", True))
        ),
        Experiment(
            "counts, n = m = 20000",
            partial(count_test, n=20_000),
            LEVELS[0.02],
            batch=2000,
        ),
    ),
    controls=(
        Experiment(
            "source's frequencies taken for known",
            partial(count_test, n=20_000, factor=10**6),
            LEVELS[0.02],
            batch=2000,
        ),
    ),
)


THEOREMS = (INTERVALS, ANDERSON_RUBIN, NO_SHIFT)
