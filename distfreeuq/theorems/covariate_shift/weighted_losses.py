"""Theorems on losses weighted by the true density ratio."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distfreeuq import bounds, metrics, scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.bounds import unchecked
from distfreeuq.references import (
    COVARIATE_SHIFT,
    INPUTS_OVERLAP,
    PAMPARI_ERMON_2020,
    TRUE_DENSITY_RATIO,
    TRUE_RATIO_TO_SCALE,
)
from distfreeuq.theorems.draws.finite_shift import (
    SAME,
    FiniteShift,
    RandomLaws,
    as_probs,
    merged,
)
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.draws.on_target import shift_error_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem, as_event

FAMILY = "covariate shift"
THREE_POINTS = FiniteShift()
UPPER = float(THREE_POINTS.ratio.max())
NEAR = (Claim("near", at_least=0.99, tolerance=0.1),)


def never(*events: str, tolerance: float = 0.01) -> tuple[Claim, ...]:
    """Return the claims that none of these ever happens."""
    return tuple(Claim(event, at_most=0.0, tolerance=tolerance) for event in events)


# ------------------------------------------------------- weighted losses, Theorem 4.1

WEIGHTED = "(w l + 1 - l of the target) / (U + 1)"


def weighted_loss(
    generator: np.random.Generator,
    n_draws: int,
    *,
    shift: FiniteShift = THREE_POINTS,
    weights: FloatArray | None = None,
    upper: float = UPPER,
) -> dict[str, BoolArray]:
    """Compare a weighted source row's loss with that of a target row.

    Weights (of the points) other than the ratio are wrong ones, of at most `upper`.
    """
    of_points = shift.ratio if weights is None else weights
    points, labels = shift.rows(generator, n_draws, shift.p)
    weighted = of_points[points] * shift.squared_error(points, labels)
    on_target = shift.squared_error(*shift.rows(generator, n_draws, shift.q))
    mean_weight = as_event(of_points[points] / upper, generator)
    return {
        WEIGHTED: as_event((weighted - on_target + 1.0) / (upper + 1.0), generator),
        "w / U": mean_weight,
    }


def weighted_gaussian_loss(
    generator: np.random.Generator, n_draws: int, *, scenario: str, upper: float
) -> dict[str, BoolArray]:
    """Compare the same in a scenario, for forecasts that are too high."""
    known: Any = scenarios.get(scenario)

    def loss(domain: Any) -> tuple[FloatArray, FloatArray]:
        x, labels = known.sample(n_draws, domain, rng=generator)
        too_high = np.sqrt(known.posterior(x)[:, 1])
        return known.density_ratio(x), (too_high - labels) ** 2

    (ratio, source), (_, target) = loss("source"), loss("target")
    value = (ratio * source - target + 1.0) / (upper + 1.0)
    return {WEIGHTED: as_event(value, generator)}


def weighted_metric(
    generator: np.random.Generator, n_draws: int, *, n: int, weighted: bool = True
) -> dict[str, BoolArray]:
    """Ask whether ``metrics.brier_score`` of weighted source rows is the target's."""
    truth = 2.0 * float(THREE_POINTS.losses() @ THREE_POINTS.q)
    near = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        points, labels = THREE_POINTS.rows(generator, n, THREE_POINTS.p)
        score = metrics.brier_score(
            as_probs(np.array(THREE_POINTS.forecast)[points]),
            labels,
            sample_weight=THREE_POINTS.ratio[points] if weighted else None,
        )
        near[i] = abs(score - truth) <= 0.05
    return {"near": near}


def same_mean(upper: float, tolerance: float = 0.01) -> Claim:
    """Return the claim that the two losses have one mean."""
    mean = 1.0 / (upper + 1.0)
    return Claim(WEIGHTED, equals=mean, tolerance=tolerance, mean=True)


MEAN_ONE = Claim("w / U", equals=1.0 / UPPER, mean=True)
GAUSSIAN_UPPER = 3.21
TARGET_LACKS_A_POINT = FiniteShift(q=(0.0, 0.4, 0.6))
SOURCE_LACKS_A_POINT = FiniteShift(p=(0.6, 0.4, 0.0))
BINARY_UPPER = 1.6

WEIGHTED_LOSS = Theorem(
    name="importance-weighted-loss",
    title="The weighted loss of the source is the target's loss",
    reference=f"{PAMPARI_ERMON_2020}, Thm 4.1; theory page, 6.1",
    statement="E_p[w l] = E_q[l] for every loss l; with l = 1, E_p[w] = 1.",
    assumptions=(COVARIATE_SHIFT, INPUTS_OVERLAP, TRUE_DENSITY_RATIO),
    family=FAMILY,
    designs=shift_error_designs.weighted_loss_designs,
    experiments=(
        Experiment(
            "three points",
            weighted_loss,
            (same_mean(UPPER), MEAN_ONE),
            batch=50_000,
        ),
        Experiment(
            "a point that the target lacks",
            partial(weighted_loss, shift=TARGET_LACKS_A_POINT),
            (same_mean(UPPER), MEAN_ONE),
            batch=50_000,
        ),
        Experiment(
            "Gaussians of changed covariance",
            partial(
                weighted_gaussian_loss,
                scenario="covariance-shift",
                upper=GAUSSIAN_UPPER,
            ),
            (same_mean(GAUSSIAN_UPPER),),
            batch=50_000,
        ),
        Experiment(
            "public: weighted Brier score, n = 20000",
            partial(weighted_metric, n=20_000),
            NEAR,
            batch=50,
        ),
    ),
    controls=(
        Experiment(
            "not weighted",
            partial(weighted_loss, weights=np.ones(3)),
            (same_mean(UPPER),),
            batch=10_000,
        ),
        Experiment(
            "ratio inverted: p/q",
            partial(weighted_loss, weights=1.0 / THREE_POINTS.ratio),
            (same_mean(UPPER),),
            batch=10_000,
        ),
        Experiment(
            "a point that the source lacks",
            partial(weighted_loss, shift=SOURCE_LACKS_A_POINT),
            (same_mean(UPPER),),
            batch=10_000,
        ),
        Experiment(
            "label shift: p(y | x) differs",
            partial(
                weighted_gaussian_loss, scenario="binary-gaussians", upper=BINARY_UPPER
            ),
            (same_mean(BINARY_UPPER, 0.005),),
            batch=20_000,
        ),
        Experiment(
            "public: Brier score not weighted, n = 20000",
            partial(weighted_metric, n=20_000, weighted=False),
            NEAR,
            batch=50,
        ),
    ),
)


# ----------------------------------------------------------- their variance, Lemma 4.2

EXPONENTS = (1.0, 1.5, 2.0, 5.0, 40.0)


def variance_bound(
    generator: np.random.Generator,
    n_draws: int,
    *,
    exponents: tuple[float, ...] = EXPONENTS,
    broken: str | None = None,
) -> dict[str, BoolArray]:
    """Compute the variance and its bound for random laws.

    At l = B and a = 1 the bound is the variance itself.
    """
    exceeded, slack = np.empty((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        laws = RandomLaws.draw(generator)
        a = float(generator.choice(exponents))
        variance = _variance(laws, laws.losses)
        limit = _limit(laws, laws.losses, a, broken)
        exceeded[i] = variance > limit + SAME * max(1.0, abs(limit))
        most = np.full_like(laws.losses, laws.loss_bound)
        variance, limit = _variance(laws, most), _limit(laws, most, 1.0, broken)
        slack[i] = abs(variance - limit) > SAME * max(1.0, abs(limit))
    return {"variance above bound": exceeded, "not attained at l = B": slack}


def _variance(laws: RandomLaws, losses: FloatArray) -> float:
    weighted = laws.ratio * losses
    return float(laws.p @ weighted**2 - (laws.p @ weighted) ** 2)


def _limit(laws: RandomLaws, losses: FloatArray, a: float, broken: str | None) -> float:
    divergence = bounds.renyi_divergence(laws.q, laws.p, a + 1.0)
    if broken == "printed":
        twice = float(laws.q @ (laws.ratio * losses))
        return bounds.importance_variance_printed(divergence, twice, exponent=a)
    if broken == "lower order":
        divergence = bounds.renyi_divergence(laws.q, laws.p, a)
    loss_bound = 0.5 * laws.loss_bound if broken == "loss" else laws.loss_bound
    risk = max(float(laws.q @ losses), 1e-12)  # for a < 1 it is a divisor
    # unchecked, as a broken variant has losses above their bound
    return unchecked.importance_variance(
        divergence, risk, exponent=a, loss_bound=loss_bound
    )


NOT_ABOVE = never("variance above bound", tolerance=0.003)

VARIANCE = Theorem(
    name="importance-variance",
    title="The variance of a weighted loss is bounded by a Renyi divergence",
    reference=f"{PAMPARI_ERMON_2020}, Lemma 4.2, corrected (theory page, 6.2)",
    statement=(
        "Var_p[w l] <= B^(1 + 1/a) d_(a+1)(q || p) R^(1 - 1/a) - R^2 with R = E_q[l], "
        "and equals it for l = B and a = 1."
    ),
    assumptions=(INPUTS_OVERLAP, TRUE_DENSITY_RATIO, "0 <= l <= B", "a >= 1"),
    family=FAMILY,
    experiments=(
        Experiment(
            "random laws and losses, a from 1 to 40",
            variance_bound,
            (*NOT_ABOVE, *never("not attained at l = B", tolerance=0.003)),
            batch=500,
        ),
    ),
    controls=(
        *(
            Experiment(
                name, partial(variance_bound, broken=broken), NOT_ABOVE, batch=100
            )
            for name, broken in (
                ("as printed, with E_q[w l]", "printed"),
                ("losses above B", "loss"),
                ("divergence of order a in place of a + 1", "lower order"),
            )
        ),
        Experiment(
            "a = 1/2",
            partial(variance_bound, exponents=(0.5,)),
            NOT_ABOVE,
            batch=100,
        ),
    ),
)


# ------------------------------------------------------------------ weights of features


def feature_bias(
    p: FloatArray, ratio: FloatArray, losses: FloatArray, groups: IntArray
) -> float:
    """Return -E_p Cov(w, l | feature), the feature being the group of a point."""
    mass = merged(p, groups)
    mass = np.where(mass > 0.0, mass, 1.0)
    w, loss, both = (
        merged(p * v, groups) / mass for v in (ratio, losses, ratio * losses)
    )
    return float(-(merged(p, groups) @ (both - w * loss)))


def feature_weights(
    average: FloatArray, ratio: FloatArray, groups: IntArray
) -> FloatArray:
    """Return the mean ratio of each point's group under a law, shape (m,)."""
    mass = merged(average, groups)
    means = np.divide(
        merged(average * ratio, groups), mass, out=np.zeros_like(mass), where=mass > 0.0
    )
    weights: FloatArray = means[groups]
    return weights


def feature_maps(
    generator: np.random.Generator, n_draws: int, *, broken: str | None = None
) -> dict[str, BoolArray]:
    """Merge points of random laws at random."""
    names = ("bias by another formula", "divergence grows", "biased though l is known")
    events = {name: np.empty(n_draws, dtype=np.bool_) for name in names}
    for i in range(n_draws):
        laws = RandomLaws.draw(generator)
        p, q, ratio, losses = laws.p, laws.q, laws.ratio, laws.losses
        groups = generator.integers(0, 3, size=p.size)
        # q / p of the features is the ratio's mean under p, and not under q
        weights = feature_weights(q if broken == "mean" else p, ratio, groups)
        bias = feature_bias(p, ratio, losses, groups)
        bias = -bias if broken == "sign" else bias
        near = SAME * (1.0 + laws.loss_bound)
        events[names[0]][i] = abs(p @ (weights * losses) - q @ losses - bias) > near
        order = float(generator.choice([1.0, 1.5, 2.0, 5.0, np.inf]))
        features = merged(q, groups), merged(p, groups)
        before = bounds.renyi_divergence(q, p, order)
        after = bounds.renyi_divergence(*features, order)
        events[names[1]][i] = after > before * (1.0 + SAME)
        known = generator.random(3)[groups]
        events[names[2]][i] = abs(p @ (weights * known) - q @ known) > near
    return events


GROUPS = np.array([0, 1, 1])
BIAS = feature_bias(
    np.array(THREE_POINTS.p), THREE_POINTS.ratio, THREE_POINTS.losses(), GROUPS
)
FEATURE_WEIGHTS = feature_weights(np.array(THREE_POINTS.p), THREE_POINTS.ratio, GROUPS)
FACTS = never(
    "bias by another formula",
    "divergence grows",
    "biased though l is known",
    tolerance=0.005,
)

FEATURES = Theorem(
    name="feature-map-bias",
    title="Weights of features are biased by what the features hide",
    reference=f"{PAMPARI_ERMON_2020}, section 4.1, corrected (theory page, 6.3)",
    statement=(
        "With w_f = E_p[w | feature], E_p[w_f l] - E_q[l] = -E_p Cov(w, l | feature), "
        "which is zero where the feature determines E[l | x]; no feature map increases "
        "d_a(q || p)."
    ),
    assumptions=(
        COVARIATE_SHIFT,
        INPUTS_OVERLAP,
        "w_f is the true ratio of the features",
    ),
    family=FAMILY,
    experiments=(
        Experiment("random laws and maps", feature_maps, FACTS, batch=500),
        Experiment(
            "three points, two of them merged",
            partial(weighted_loss, weights=FEATURE_WEIGHTS),
            (
                Claim(
                    WEIGHTED,
                    equals=(1.0 + BIAS) / (1.0 + UPPER),
                    tolerance=0.005,
                    mean=True,
                ),
            ),
            batch=50_000,
        ),
    ),
    controls=(
        Experiment(
            "taken for unbiased",
            partial(weighted_loss, weights=FEATURE_WEIGHTS),
            (same_mean(UPPER, 0.005),),
            batch=50_000,
        ),
        *(
            Experiment(name, partial(feature_maps, broken=broken), FACTS, batch=100)
            for name, broken in (
                ("bias of the other sign", "sign"),
                ("ratios averaged over the target", "mean"),
            )
        ),
    ),
)


# ---------------------------------------------------------------- effective sample size

_ORDERS = (1.0, 2.0, 3.0, np.inf)


def finite_weights(
    generator: np.random.Generator, n: int, *, turned: bool = False
) -> tuple[FloatArray, dict[float, float]]:
    """Return the ratios of n source rows, and true divergences by order.

    Broken: `turned`, the divergences of the source from the target.
    """
    points, _ = THREE_POINTS.rows(generator, n, THREE_POINTS.p)
    laws = THREE_POINTS.q, THREE_POINTS.p
    q, p = laws[::-1] if turned else laws
    truth = {order: bounds.renyi_divergence(q, p, order) for order in _ORDERS}
    return THREE_POINTS.ratio[points], truth


def gaussian_weights(
    generator: np.random.Generator, n: int
) -> tuple[FloatArray, dict[float, float]]:
    """Return the same for Gaussians, with the divergence of order 2 alone."""
    known = scenarios.covariance_shift_gaussians()
    x, _ = known.sample(n, "source", rng=generator)
    return known.density_ratio(x), {2.0: gaussian_divergence(known)}


def sample_size(
    generator: np.random.Generator,
    n_draws: int,
    *,
    rows: Callable[..., tuple[FloatArray, dict[float, float]]],
    n: int,
    power: float = 1.0,
) -> dict[str, BoolArray]:
    """Ask whether n / ESS, and divergences of other orders, are near the true ones."""
    near, differ = np.empty((2, n_draws), dtype=np.bool_)
    for i in range(n_draws):
        weights, truth = rows(generator, n)
        weights = generator.exponential() * weights**power
        found = {order: bounds.renyi_from_weights(weights, order) for order in truth}
        near[i] = all(abs(found[o] / truth[o] - 1.0) <= 0.1 for o in truth)
        by_ess = n / effective_sample_size(weights)
        differ[i] = abs(by_ess - found[2.0]) > SAME * by_ess
    return {"near": near, "n / ESS is not d_2 of the weights": differ}


def gaussian_divergence(scenario: scenarios.GaussianCovariateShift) -> float:
    """Return d_2(q || p) = E_p[w^2] = U^2 det(I + 2 S M)^(-1/2).

    S is the source's covariance, M the difference of the precisions, and U the ratio at
    zero.
    """
    s, t = scenario.source_covariance, scenario.target_covariance
    contrast = np.linalg.inv(t) - np.linalg.inv(s)
    determinant = np.linalg.det(np.eye(len(s)) + 2.0 * s @ contrast)
    return float(scenario.upper**2 / np.sqrt(determinant))


SIZES = (*NEAR, *never("n / ESS is not d_2 of the weights"))

SAMPLE_SIZE = Theorem(
    name="effective-sample-size",
    title="The effective sample size shows the divergence",
    reference="theory page, 6.2; Cortes, Mansour & Mohri (2010)",
    statement=(
        "n / ESS is d_2 of the weights, and tends to d_2(q || p), as divergences of "
        "other orders do to theirs: here within 10% at n = 5000."
    ),
    assumptions=(INPUTS_OVERLAP, TRUE_RATIO_TO_SCALE, "bounded q(x)/p(x)"),
    family=FAMILY,
    experiments=(
        Experiment(
            "three points, orders 1, 2, 3 and infinity",
            partial(sample_size, rows=finite_weights, n=5000),
            SIZES,
            batch=100,
        ),
        Experiment(
            "Gaussians of changed covariance",
            partial(sample_size, rows=gaussian_weights, n=5000),
            SIZES,
            batch=100,
        ),
    ),
    controls=(
        Experiment(
            "source and target exchanged",
            partial(sample_size, rows=partial(finite_weights, turned=True), n=5000),
            NEAR,
            batch=100,
        ),
        Experiment(
            "weights flattened to their square roots",
            partial(sample_size, rows=finite_weights, n=5000, power=0.5),
            NEAR,
            batch=100,
        ),
    ),
)

THEOREMS = (
    WEIGHTED_LOSS,
    with_instances(VARIANCE),
    with_instances(FEATURES),
    with_instances(SAMPLE_SIZE),
)
