"""Theorems on weights from confusion matrices: estimates, intervals, tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix
from distfreeuq.label_shift.anderson_rubin import AndersonRubin
from distfreeuq.label_shift.black_box import bbse, rlls
from distfreeuq.label_shift.confusion import Confusion, hard_covariance, solve
from distfreeuq.label_shift.homogeneity import compare_counts
from distfreeuq.label_shift.intervals import normal_intervals, standard_errors
from distfreeuq.label_shift.regularised import default_regularization, weights_of
from distfreeuq.label_shift.result import LabelShiftResult
from distfreeuq.theorems.claims import Claim
from distfreeuq.theorems.experiment import Experiment, Theorem
from distfreeuq.theorems.weight_draws import (
    FAMILY,
    GOOD,
    LABEL_SHIFT,
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

ALPHA = 0.1
INVERTIBLE = "the confusion matrix is invertible"
Fit = Callable[..., LabelShiftResult]
Interval = Callable[[Confusion], FloatMatrix]
Estimate = Callable[[Confusion], FloatArray | None]


# ---------------------------------------------------------------------------- the draws


def public_intervals(
    generator: np.random.Generator,
    n_draws: int,
    *,
    fit: Fit,
    n: int,
    scenario: str = "three-gaussians",
    method: str = "asymptotic",
) -> dict[str, BoolArray]:
    """Ask whether ``fit(...).confint(alpha, method)`` holds each weight."""
    weight = true_weight(scenario)
    held = []
    for pair in pairs(generator, n_draws, scenario=scenario, n=n, m=n):
        ends = fit(*pair).confint(ALPHA, method, n_boot=199, rng=generator)
        held.append(within(ends, weight))
    return by_class(held)


def count_intervals(
    generator: np.random.Generator,
    n_draws: int,
    *,
    interval: Interval,
    n: int,
    conditional: FloatMatrix = GOOD,
) -> dict[str, BoolArray]:
    """Ask the same of intervals of confusion matrices, drawn as counts."""
    drawn = confusions(generator, n_draws, conditional=conditional, n=n, m=n)
    return by_class([within(interval(c), WEIGHT) for c in drawn])


def public_error(
    generator: np.random.Generator,
    n_draws: int,
    *,
    fit: Fit,
    n: int,
    within: float,
    scenario: str = "three-gaussians",
) -> dict[str, BoolArray]:
    """Ask whether all of ``fit(...).label_weight`` are near the true ones."""
    weight = true_weight(scenario)
    drawn = pairs(generator, n_draws, scenario=scenario, n=n, m=n)
    errors = [np.abs(fit(*pair).label_weight - weight).max() for pair in drawn]
    return {"near": np.array(errors) <= within}


def count_error(
    generator: np.random.Generator, n_draws: int, *, estimate: Estimate, n: int
) -> dict[str, BoolArray]:
    """Ask the same of an estimate from counts."""
    near = np.empty(n_draws, dtype=np.bool_)
    for i, confusion in enumerate(confusions(generator, n_draws, n=n, m=n)):
        weight = estimate(confusion)
        near[i] = weight is not None and bool(np.abs(weight - WEIGHT).max() <= 0.05)
    return {"near": near}


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
    df: int = 3,
) -> dict[str, BoolArray]:
    """Ask whether the region {w : statistic <= chi^2} holds all weights."""
    limit = special.chdtri(df, ALPHA)
    drawn = confusions(generator, n_draws, conditional=of_accuracy(accuracy), n=n, m=n)
    statistics = [AndersonRubin(c).statistic(WEIGHT) for c in drawn]
    return {"holds all": np.array(statistics) <= limit}


# ----------------------------------------------------------- intervals, and broken ones


def delta_method(confusion: Confusion) -> FloatMatrix:
    """Return the package's intervals."""
    weight = solve(confusion)
    if weight is None:
        return np.tile([-np.inf, np.inf], (WEIGHT.size, 1))
    spread = standard_errors(hard_covariance(confusion, weight), weight.size)
    return normal_intervals(weight, spread, ALPHA)


def _transpose(confusion: Confusion) -> Confusion:
    return dataclasses.replace(confusion, joint=confusion.joint.T)


def transposed(confusion: Confusion) -> FloatMatrix:
    """Confuse classes and predictions."""
    return delta_method(_transpose(confusion))


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


def regularised(confusion: Confusion) -> FloatArray | None:
    """Return RLLS's weights by its own default."""
    n_classes = confusion.target.size
    return weights_of(confusion, default_regularization(confusion.n, n_classes))


def solved_transposed(confusion: Confusion) -> FloatArray | None:
    """Return the solution of C' w = mu."""
    return solve(_transpose(confusion))


def inverted(confusion: Confusion) -> FloatArray | None:
    """Return p / q."""
    weight = solve(confusion)
    return None if weight is None else 1.0 / weight


soft_bbse = partial(bbse, soft=True)


def covers_each(tolerance: float) -> tuple[Claim, ...]:
    """Return the claim of asymptotic intervals, for each class."""
    return tuple(
        Claim(f"holds weight {k}", equals=1.0 - ALPHA, tolerance=tolerance)
        for k in range(3)
    )


NEAR = (Claim("near", at_least=0.99, tolerance=0.1),)
LEVELS = {
    tolerance: (
        Claim("p <= 0.1", equals=0.1, tolerance=tolerance),
        Claim("p <= 0.5", equals=0.5, tolerance=2 * tolerance),
    )
    for tolerance in (0.02, 0.06)
}

CONSISTENCY = Theorem(
    name="bbse-consistency",
    title="BBSE's and RLLS's weights tend to the true ones",
    reference="Lipton, Wang and Smola (2018); Azizzadenesheli et al. (2019)",
    statement=(
        "w_hat -> w in probability as n, m -> infinity: here all weights are within "
        "0.05 of the truth at n = m = 10^6, within 0.5 at n = m = 2 * 10^4."
    ),
    assumptions=(*LABEL_SHIFT, INVERTIBLE),
    family=FAMILY,
    experiments=(
        *(
            Experiment(
                f"public functions, {name}, n = m = 20000",
                partial(public_error, fit=fit, n=20_000, within=0.5),
                NEAR,
                batch=25,
            )
            for name, fit in (("BBSE", bbse), ("soft BBSE", soft_bbse), ("RLLS", rlls))
        ),
        *(
            Experiment(
                f"counts, {name}, n = m = 10^6",
                partial(count_error, estimate=estimate, n=10**6),
                NEAR,
                batch=200,
            )
            for name, estimate in (("BBSE", solve), ("RLLS", regularised))
        ),
    ),
    controls=(
        *(
            Experiment(
                name,
                partial(count_error, estimate=estimate, n=10**6),
                NEAR,
                batch=200,
            )
            for name, estimate in (
                ("confusion matrix transposed", solved_transposed),
                ("weights inverted: p/q", inverted),
            )
        ),
        Experiment(
            "covariate shift in place of label shift",
            partial(
                public_error,
                fit=bbse,
                n=20_000,
                within=0.05,
                scenario="covariance-shift",
            ),
            NEAR,
            batch=25,
        ),
    ),
)

INTERVALS = Theorem(
    name="bbse-intervals",
    title="BBSE's intervals cover, in the limit",
    reference="delta method; theory page, 4.5",
    statement=(
        "P(w_k in interval) -> 1 - alpha as n, m -> infinity (asymptotic: no claim at "
        "a given sample size); here at n = m = 1000 and 20000."
    ),
    assumptions=(*LABEL_SHIFT, INVERTIBLE, "true weights positive"),
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
    assumptions=LABEL_SHIFT,
    family=FAMILY,
    experiments=tuple(
        Experiment(
            f"accuracy {accuracy:.3g}, n = m = 20000",
            partial(anderson_rubin, accuracy=accuracy, n=20_000),
            HOLDS_ALL,
            batch=2000,
        )
        for accuracy in (1 / 3, 0.34, 0.9)
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
    assumptions=LABEL_SHIFT,
    family=FAMILY,
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


# ------------------------------------------------------------------------ RLLS's limits


def rlls_limits(
    generator: np.random.Generator, n_draws: int, *, squared: bool = False
) -> dict[str, BoolArray]:
    """Regularise below, between and above the two limits, on random counts.

    `squared` is another problem: least squares with a ridge.
    """
    names = ("not BBSE below", "not w = 1 above", "longer than BBSE between")
    events = {name: np.zeros(n_draws, dtype=np.bool_) for name in names}
    for i in range(n_draws):
        n_classes = int(generator.integers(2, 6))
        conditional = generator.dirichlet(np.full(n_classes, 0.3), size=n_classes).T
        conditional = 0.5 * conditional + 0.5 * np.eye(n_classes)
        prior, target = generator.dirichlet(np.full(n_classes, 3.0), size=2)
        joint = generator.multinomial(1000, (conditional * prior).ravel())
        predicted = generator.multinomial(1000, conditional @ target)
        confusion = of_counts(joint.reshape(n_classes, n_classes), predicted)
        solution = solve(confusion)
        if solution is None or np.linalg.cond(confusion.matrix) > 1e4:
            continue
        c, theta = confusion.matrix, solution - 1.0
        b = confusion.frequencies - c.sum(axis=1)
        if np.linalg.norm(b) < 1e-12:
            continue
        low = float(np.linalg.norm(theta) / np.linalg.norm(np.linalg.solve(c.T, theta)))
        high = float(np.linalg.norm(c.T @ b) / np.linalg.norm(b))
        weights = partial(_ridge if squared else weights_of, confusion)
        share = generator.random()
        near = 1e-6 * (1.0 + np.abs(theta).max())
        below, above = weights(0.99 * low * share), weights(1.01 * high)
        between = weights(low + share * (high - low))
        assert below is not None and above is not None and between is not None
        events[names[0]][i] = np.abs(below - solution).max() > near
        events[names[1]][i] = np.abs(above - 1.0).max() > near
        length = np.linalg.norm(between - 1.0)
        events[names[2]][i] = length > np.linalg.norm(theta) + near
    return events


def _ridge(confusion: Confusion, delta: float) -> FloatArray:
    c = confusion.matrix
    b = confusion.frequencies - c.sum(axis=1)
    theta: FloatArray = np.linalg.solve(c.T @ c + delta * np.eye(b.size), c.T @ b)
    return 1.0 + theta


NEVER = tuple(
    Claim(event, at_most=0.0, tolerance=0.01)
    for event in ("not BBSE below", "not w = 1 above", "longer than BBSE between")
)

RLLS = Theorem(
    name="rlls-limits",
    title="RLLS is exactly BBSE up to a regulariser, and exactly no shift from another",
    reference="theory page, 3",
    statement=(
        "The minimiser of |C theta - b| + D |theta| is C^-1 b if D <= |theta_B| / "
        "|C^-T theta_B|, zero if D >= |C'b| / |b|, and no longer than C^-1 b between."
    ),
    assumptions=(INVERTIBLE,),
    family=FAMILY,
    experiments=(Experiment("random confusion matrices", rlls_limits, NEVER, 100),),
    controls=(
        Experiment(
            "squared norms", partial(rlls_limits, squared=True), NEVER, batch=100
        ),
    ),
)

THEOREMS = (CONSISTENCY, INTERVALS, ANDERSON_RUBIN, NO_SHIFT, RLLS)
