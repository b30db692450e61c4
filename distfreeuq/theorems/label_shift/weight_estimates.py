"""Theorems on weights from confusion matrices: where estimates tend to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.confusion_estimators import bbse, rlls
from distfreeuq.label_shift.linear_solution import solve
from distfreeuq.label_shift.regularized_solution import (
    default_regularization,
    regularized_weights,
)
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.references import (
    CLASSES_OVERLAP,
    FITTED_ELSEWHERE,
    LABEL_SHIFT,
    TWO_SAMPLES,
)
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.draws.weight_draws import (
    WEIGHT,
    confusions,
    of_counts,
    pairs,
    true_weight,
)
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import ASYMPTOTIC, Experiment, Theorem

FAMILY = "label shift"
ASSUMPTIONS = (LABEL_SHIFT, CLASSES_OVERLAP, TWO_SAMPLES, FITTED_ELSEWHERE)
INVERTIBLE = "the confusion matrix is invertible"
Fit = Callable[..., LabelShiftResult]
Estimate = Callable[[Confusion], FloatArray | None]

soft_bbse = partial(bbse, soft=True)


def transpose(confusion: Confusion) -> Confusion:
    """Confuse classes and predictions."""
    return dataclasses.replace(confusion, joint=confusion.counts.T)


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


def regularised(confusion: Confusion) -> FloatArray | None:
    """Return RLLS's weights by its own default."""
    n_classes = confusion.target.size
    return regularized_weights(
        confusion, default_regularization(confusion.n, n_classes)
    )


def solved_transposed(confusion: Confusion) -> FloatArray | None:
    """Return the solution of C' w = mu."""
    return solve(transpose(confusion))


def inverted(confusion: Confusion) -> FloatArray | None:
    """Return p / q."""
    weight = solve(confusion)
    return None if weight is None else 1.0 / weight


NEAR = (Claim("near", at_least=0.99, tolerance=0.1),)

CONSISTENCY = Theorem(
    name="bbse-consistency",
    title="BBSE's and RLLS's weights tend to the true ones",
    reference="Lipton, Wang and Smola (2018); Azizzadenesheli et al. (2019)",
    statement=(
        "w_hat -> w in probability as n, m -> infinity: here all weights are within "
        "0.05 of the truth at n = m = 10^6, within 0.5 at n = m = 2 * 10^4."
    ),
    assumptions=(*ASSUMPTIONS, INVERTIBLE),
    family=FAMILY,
    unsearched=ASYMPTOTIC,
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
        weights = partial(_ridge if squared else regularized_weights, confusion)
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

THEOREMS = (CONSISTENCY, with_instances(RLLS))
