"""Theorems on reweighting: Proposition 1, and how errors carry over to the target."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.binning.label_shift_bins import reweighted
from distfreeuq.label_shift.known_priors import label_weights
from distfreeuq.references import LABEL_SHIFT, PODKOPAEV_RAMDAS_2021, TRUE_LABEL_WEIGHT
from distfreeuq.theorems.binning.source_bins import FAMILY
from distfreeuq.theorems.draws.instance_designs import with_instances
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

TINY = 1e-9

Bound = Callable[[FloatMatrix, FloatArray, FloatArray], FloatArray]
"""``bound(frequencies, errors, weights)``: bounds on bins' L1 errors on the target."""


# ------------------------------------------------------------------------ Proposition 1


def exact_tables(
    generator: np.random.Generator,
    n_draws: int,
    *,
    invert: bool = False,
    covariate: bool = False,
) -> dict[str, BoolArray]:
    """Compare reweighted probabilities with the target's own, on random finite tables.

    Points fall into bins at random. `invert` takes p/q for q/p; `covariate` shifts the
    points' masses in place of the classes'.
    """
    events = {name: np.zeros(n_draws, dtype=np.bool_) for name in ("bins", "rows")}
    for i in range(n_draws):
        n_classes, n_points = int(generator.integers(2, 6)), 12
        source = generator.dirichlet(np.full(n_points * n_classes, 0.5))
        source = source.reshape(n_points, n_classes)
        p = source.sum(axis=0)
        if covariate:
            target = source * generator.exponential(size=(n_points, 1))
            target /= target.sum()
        else:
            q = generator.dirichlet(np.ones(n_classes))
            target = source * (q / p)
        q = target.sum(axis=0)
        weight = p / q if invert else q / p
        member = np.eye(3)[np.arange(n_points) % 3].T
        by_bin = reweighted(conditional(member @ source), weight)
        adapted = label_weights(p, p * weight / (p @ weight)).adapt(conditional(source))
        events["bins"][i] = np.abs(by_bin - conditional(member @ target)).max() > TINY
        events["rows"][i] = np.abs(adapted - conditional(target)).max() > TINY
    return {f"{name} differ": happened for name, happened in events.items()}


def conditional(joint: FloatMatrix) -> FloatMatrix:
    """Return conditional probabilities from joint ones."""
    given: FloatMatrix = joint / joint.sum(axis=1, keepdims=True)
    return given


NEVER = tuple(
    Claim(event, at_most=0.0, tolerance=0.01)
    for event in ("bins differ", "rows differ")
)

PROPOSITION_1 = Theorem(
    name="label-shift-posterior",
    title="Under label shift probabilities are reweighted and normalised",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Prop. 1, eq. (16) and (17)",
    statement=(
        "Q(Y = k | B) = w_k P(Y = k | B) / sum_j w_j P(Y = j | B), for every x and for "
        "every bin B: here to within 1e-9, on random tables."
    ),
    assumptions=(LABEL_SHIFT, TRUE_LABEL_WEIGHT),
    family=FAMILY,
    experiments=(
        Experiment("random tables, 2 to 5 classes", exact_tables, NEVER, 200),
    ),
    controls=(
        Experiment(
            "weights inverted: p/q", partial(exact_tables, invert=True), NEVER, 200
        ),
        Experiment(
            "covariate shift in place of label shift",
            partial(exact_tables, covariate=True),
            NEVER,
            200,
        ),
    ),
)


# -------------------------------------------------- Theorem 4: an inequality of numbers


def inequality(
    generator: np.random.Generator, n_draws: int, *, zero: bool, bound: Bound
) -> dict[str, BoolArray]:
    """Compare errors on the target with a bound in terms of those on the source.

    Weights and probabilities are random; with `zero` one weight is. Frequencies are of
    few rows, and counts as well.
    """
    violated = np.zeros(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        n_classes = int(generator.integers(2, 6))
        weights = np.exp(2.0 * generator.standard_normal(n_classes))
        if zero:
            weights[generator.integers(n_classes)] = 0.0
        truth = generator.dirichlet(np.full(n_classes, 0.5), size=10)
        sizes = generator.integers(1, 30, size=10)
        frequencies = generator.multinomial(sizes, truth) / sizes[:, None]
        on_target = reweighted(frequencies, weights)
        error = np.abs(on_target - reweighted(truth, weights)).sum(axis=1)
        allowed = bound(frequencies, np.abs(frequencies - truth).sum(axis=1), weights)
        defined = ~np.isnan(error)
        violated[i] = bool((error > allowed + TINY)[defined].any())
    return {"bound exceeded": violated}


def repaired(
    frequencies: FloatMatrix, errors: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return w_max |pi_hat - pi| / sum w pi_hat."""
    return bounds.label_shift_source_radius(
        errors, float(weights.max()), frequencies @ weights
    )


def printed(
    frequencies: FloatMatrix, errors: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the paper's 2 kappa |pi_hat - pi|."""
    return 2.0 * bounds.condition_number(weights) * errors


def kappa_inverted(
    frequencies: FloatMatrix, errors: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return 2 |pi_hat - pi| / kappa."""
    return 2.0 * errors / bounds.condition_number(weights)


def wrong_weights(
    generator: np.random.Generator, n_draws: int, *, factor: float = 1.0
) -> dict[str, BoolArray]:
    """Compare the effect of wrong weights with both bounds from a box that holds them.

    A `factor` below one makes the box too small.
    """
    names = ("difference bound exceeded", "ratio bound exceeded")
    events = {name: np.zeros(n_draws, dtype=np.bool_) for name in names}
    for i in range(n_draws):
        n_classes = int(generator.integers(2, 6))
        truth, used = np.exp(0.5 * generator.standard_normal((2, n_classes)))
        away = factor * np.abs(truth - used)
        low, high = np.maximum(used - away, 0.0), used + away
        frequencies = generator.dirichlet(np.full(n_classes, 0.5), size=10)
        moved = reweighted(frequencies, used) - reweighted(frequencies, truth)
        error = np.abs(moved).sum(axis=1) - TINY
        limits = (
            bounds.label_shift_weight_radius(frequencies, used, low, high),
            bounds.label_shift_tilt_radius(frequencies, used, low, high),
        )
        for name, limit in zip(names, limits, strict=True):
            events[name][i] = bool((error > limit).any())
    return events


WITHIN = (Claim("bound exceeded", at_most=0.0, tolerance=0.01),)
WEIGHTS_WITHIN = tuple(
    Claim(f"{name} bound exceeded", at_most=0.0, tolerance=0.01)
    for name in ("difference", "ratio")
)

INEQUALITY = Theorem(
    name="label-shift-error",
    title="How errors of frequencies and of weights carry over to the target",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 4, repaired (theory page, 2.3)",
    statement=(
        "|pi_hat^w - pi^w|_1 <= w_max |pi_hat - pi|_1 / sum w_k pi_hat_k, also where "
        "some w_k = 0; and for weights in a box, the smaller of a bound by differences "
        "and one by ratios. Never exceeded."
    ),
    assumptions=("none: an inequality of numbers",),
    family=FAMILY,
    experiments=(
        *(
            Experiment(
                f"random bins, {name}",
                partial(inequality, zero=zero, bound=repaired),
                WITHIN,
                200,
            )
            for name, zero in (("weights positive", False), ("a weight zero", True))
        ),
        Experiment(
            "the paper's, weights positive",
            partial(inequality, zero=False, bound=printed),
            WITHIN,
            200,
        ),
        Experiment("weights in a box", wrong_weights, WEIGHTS_WITHIN, 200),
    ),
    controls=(
        Experiment(
            "the paper's, a weight zero",
            partial(inequality, zero=True, bound=printed),
            WITHIN,
            200,
        ),
        Experiment(
            "kappa inverted",
            partial(inequality, zero=False, bound=kappa_inverted),
            WITHIN,
            200,
        ),
        Experiment(
            "a box half as large",
            partial(wrong_weights, factor=0.5),
            WEIGHTS_WITHIN,
            200,
        ),
    ),
)

THEOREMS = (with_instances(PROPOSITION_1), with_instances(INEQUALITY))
