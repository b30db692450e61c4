"""Theorems on bins under label shift: Proposition 1, and Theorem 4 repaired."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from distfreeuq import bounds, scenarios
from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.binning.canonical import reweighted, target_radii
from distfreeuq.binning.claims import PAPER_A
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.radii import multinomial_radii
from distfreeuq.binning.target import TargetWeights
from distfreeuq.label_shift.black_box import bbse
from distfreeuq.label_shift.known import label_weights
from distfreeuq.label_shift.regions import Box
from distfreeuq.scenarios.finite import FiniteScenario
from distfreeuq.scenarios.scenario import Domain
from distfreeuq.theorems.bins import ELSEWHERE, FAMILY, IID, fails
from distfreeuq.theorems.claims import Claim
from distfreeuq.theorems.experiment import Experiment, Theorem

SHIFT = "label shift: p(x | y) is the same in source and target"
TRUE = "the weights are the true q(y)/p(y) up to scale"
TINY = 1e-9

Bound = Callable[[FloatMatrix, FloatArray, FloatArray], FloatArray]
"""``bound(frequencies, errors, weights)``: of each bin's L1 error on the target."""


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
        by_bin = reweighted(_rows(member @ source), weight)
        adapted = label_weights(p, p * weight / (p @ weight)).adapt(_rows(source))
        events["bins"][i] = np.abs(by_bin - _rows(member @ target)).max() > TINY
        events["rows"][i] = np.abs(adapted - _rows(target)).max() > TINY
    return {f"{name} differ": happened for name, happened in events.items()}


def _rows(joint: FloatMatrix) -> FloatMatrix:
    """Return conditional probabilities from joint ones."""
    conditional: FloatMatrix = joint / joint.sum(axis=1, keepdims=True)
    return conditional


NEVER = tuple(
    Claim(event, at_most=0.0, tolerance=0.01)
    for event in ("bins differ", "rows differ")
)

PROPOSITION_1 = Theorem(
    name="label-shift-posterior",
    title="Under label shift probabilities are reweighted and normalised",
    reference=f"{PAPER_A}, Prop. 1, eq. (16) and (17)",
    statement=(
        "Q(Y = k | B) = w_k P(Y = k | B) / sum_j w_j P(Y = j | B), for every x and for "
        "every bin B: here to within 1e-9, on random tables."
    ),
    assumptions=(SHIFT, TRUE),
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
    reference=f"{PAPER_A}, Thm 4, repaired (theory page, 2.3)",
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


# ---------------------------------------------------- Theorem 4: all bins of the target


def known_weights(
    generator: np.random.Generator,
    n_draws: int,
    *,
    weights: tuple[float, ...],
    bound: str = "auto",
    broken: str = "",
) -> dict[str, BoolArray]:
    """Bound the target's error in eight bins of counts, with known weights.

    Broken: "kappa" divides the source's radius by kappa; "weights" uses p/q.
    """
    n_bins, n_classes = 8, len(weights)
    w = np.array(weights)
    fixed = np.random.default_rng(8)
    truth = fixed.dirichlet(np.full(n_classes, 0.7), size=n_bins)
    masses = fixed.dirichlet(np.full(n_bins, 5.0))
    sizes = generator.multinomial(1500, masses, size=n_draws)
    counts = generator.multinomial(sizes, truth).reshape(-1, n_classes)
    frequencies = counts / np.maximum(sizes, 1).reshape(-1, 1)
    source = multinomial_radii(counts, n_bins, 0.1, bound)
    used = 1.0 / w if broken == "weights" else w
    on_target = reweighted(frequencies, used)
    known = TargetWeights(used, Box(used, used, True), None, "known", 0.0)
    radius = target_radii(on_target, frequencies, source, known)[0].radius
    if broken == "kappa":
        radius = source.radius / bounds.condition_number(w)
    error = on_target.reshape(n_draws, n_bins, -1) - reweighted(truth, w)
    distance = np.nan_to_num(np.abs(error).sum(axis=2), nan=0.0)
    failed: BoolArray = np.any(distance > radius.reshape(distance.shape), axis=1)
    return {"some bin fails": failed}


_COUNTS = np.array(
    [[12, 1, 1], [8, 3, 3], [1, 14, 2], [3, 8, 3], [1, 2, 20], [3, 3, 12]]
)
_SHIFTED = _COUNTS * [2.0, 1.0, 0.5]
SIX_POINTS = FiniteScenario(
    description="six points, three classes",
    points=np.arange(6.0)[:, None],
    source=_COUNTS / _COUNTS.sum(),
    target=_SHIFTED / _SHIFTED.sum(),
)


def public_points(
    generator: np.random.Generator, n_draws: int, *, estimated: bool, broken: str = ""
) -> dict[str, BoolArray]:
    """Bin six points by the class that they favour; the target's truth is a table.

    `estimated` weights are BBSE's, from the same rows; its region is at delta = 0.2.
    Broken: "source" leaves the frequencies as they are; "weights" takes p/q.
    """
    toy, n = SIX_POINTS, 1500 if estimated else 600
    truth = _rows(toy.target.reshape(3, 2, 3).sum(axis=1))
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, labels = toy.sample(n, "source", rng=generator)
        probs = toy.posterior(x)
        fit = histogram_binning(probs, labels, scheme=favoured, n_bins=3, alpha=0.2)
        if estimated:
            unlabelled = toy.posterior(toy.sample(n, "target", rng=generator)[0])
            shifted = fit.under_label_shift(bbse(probs, labels, unlabelled), delta=0.2)
        else:
            weight = toy.label_weight
            shifted = fit.under_label_shift(1.0 / weight if broken else weight)
        if broken == "source":
            shifted = fit
        error = np.abs(shifted.frequencies - truth).sum(axis=1)
        failed[i] = bool((error > shifted.radius).any())
    return {"some bin fails": failed}


def favoured(probs: FloatMatrix) -> IntArray:
    """Return the most likely class."""
    best: IntArray = probs.argmax(axis=1)
    return best


def public_edges(
    generator: np.random.Generator,
    n_draws: int,
    *,
    mode: str,
    estimated: bool,
    corrected: bool = True,
) -> dict[str, BoolArray]:
    """Bin paper A's two Gaussians; their masses between scores are normal integrals."""
    toy = scenarios.binary_gaussians()
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        x, labels = toy.sample(1000, "source", rng=generator)
        probs = toy.posterior(x)
        fit = histogram_binning(probs, labels, n_bins=5, mode=mode, alpha=0.2)
        shifted = fit
        if corrected and estimated:
            unlabelled = toy.posterior(toy.sample(500, "target", rng=generator)[0])
            shifted = fit.under_label_shift(bbse(probs, labels, unlabelled), delta=0.2)
        elif corrected:
            shifted = fit.under_label_shift(toy.label_weight)
        if mode == "canonical":
            truth = _between(np.asarray(fit.edges), "target")
            error = 2.0 * np.abs(shifted.frequencies[:, 1] - truth)
        else:
            zero, one = fit.edges
            flipped = 1.0 - _between(1.0 - np.asarray(zero), "target")
            truths = np.stack([flipped, _between(np.asarray(one), "target")], axis=1)
            error = np.abs(shifted.frequencies - truths)
        failed[i] = bool((error > shifted.radius).any())
    return {"some bin fails": failed}


def _between(edges: FloatArray, domain: Domain) -> FloatArray:
    """Return P(Y = 1 | score between two edges) of the two Gaussians, exactly."""
    toy = scenarios.binary_gaussians()
    direction = np.linalg.solve(toy.covariance, toy.means[1] - toy.means[0])
    centers = toy.means @ direction
    # the source's score is the sigmoid of direction . x + offset
    offset = special.logit(toy.source_prior[1]) - 0.5 * centers.sum()
    spread = np.sqrt(direction @ toy.covariance @ direction)
    with np.errstate(divide="ignore"):
        cuts = special.logit(np.clip(edges, 0.0, 1.0)) - offset
    below = special.ndtr((cuts[:, None] - centers) / spread)
    mass = np.abs(np.diff(below, axis=0)) * toy.prior(domain)
    share: FloatArray = mass[:, 1] / mass.sum(axis=1)
    return share


THEOREM_4 = Theorem(
    name="binning-bound-target",
    title="Reweighted frequencies are near the target's truth, in all bins at once",
    reference=f"{PAPER_A}, Thm 4, repaired (theory page, 2.3)",
    statement=(
        "P(|pi_hat_m^w - pi_m^Q|_1 <= radius_m for all m) >= 1 - alpha with known "
        "weights, zeros included, and >= 1 - alpha - delta with weights from a region "
        "that holds them with probability 1 - delta, estimated on the same rows."
    ),
    assumptions=(SHIFT, IID, ELSEWHERE),
    family=FAMILY,
    experiments=(
        *(
            Experiment(
                f"counts, weights {weights}, {bound}",
                partial(known_weights, weights=weights, bound=bound),
                fails(0.1, 0.02),
                batch=200,
            )
            for weights in ((3.0, 0.4, 1.2), (2.0, 2.0, 0.0), (0.2, 5.0), (1.6, 0.4))
            for bound in ("auto", "hoeffding")
        ),
        Experiment(
            "six points, known weights",
            partial(public_points, estimated=False),
            fails(0.2, 0.08),
            batch=50,
        ),
        Experiment(
            "six points, BBSE on the same rows",
            partial(public_points, estimated=True),
            fails(0.4, 0.2),
            batch=25,
        ),
        *(
            Experiment(
                f"two Gaussians, {mode}, {'BBSE' if estimated else 'known weights'}",
                partial(public_edges, mode=mode, estimated=estimated),
                fails(0.4 if estimated else 0.2, 0.2 if estimated else 0.08),
                batch=25,
            )
            for mode in ("canonical", "classwise")
            for estimated in (False, True)
        ),
    ),
    controls=(
        *(
            Experiment(
                name,
                partial(known_weights, weights=(3.0, 0.4, 1.2), broken=broken),
                fails(0.1, 0.02),
                batch=200,
            )
            for name, broken in (
                ("kappa inverted", "kappa"),
                ("weights inverted: p/q", "weights"),
            )
        ),
        *(
            Experiment(
                f"six points, {name}",
                partial(public_points, estimated=False, broken=broken),
                fails(0.2, 0.08),
                batch=50,
            )
            for name, broken in (
                ("frequencies of the source", "source"),
                ("weights inverted: p/q", "weights"),
            )
        ),
        Experiment(
            "two Gaussians, frequencies of the source",
            partial(public_edges, mode="canonical", estimated=False, corrected=False),
            fails(0.2, 0.08),
            batch=25,
        ),
    ),
)


# ---------------------------------------------------------------- known, bounded w(x)


def weighted_rows(
    generator: np.random.Generator, n_draws: int, *, bound: str, weighted: bool = True
) -> dict[str, BoolArray]:
    """Weight uniform scores by 2 s, the density of the target; P(Y = 1 | s) = s^2."""
    edges = np.array([0.0, 0.6, 1.0])
    truth = 0.5 * np.diff(edges**4) / np.diff(edges**2)
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores = generator.random(800)
        labels = (generator.random(800) < scores**2).astype(np.int64)
        fit = histogram_binning(
            scores,
            labels,
            scheme=edges,
            sample_weight=2.0 * scores if weighted else None,
            weight_bound=2.0 if weighted else None,
            bound=bound,
            alpha=0.3,
        )
        error = 2.0 * np.abs(fit.frequencies[:, 1] - truth)
        failed[i] = bool((error > fit.radius).any())
    return {"some bin fails": failed}


WEIGHTED = Theorem(
    name="binning-bound-weighted",
    title="Weighted frequencies are near the target's truth under covariate shift",
    reference="Hoeffding (1963); Maurer & Pontil (2009); theory page, 2.4",
    statement=(
        "With rows weighted by the true q(x)/p(x), known to be bounded, |frequency - "
        "target's probability| <= radius in all bins with probability >= 1 - alpha."
    ),
    assumptions=(
        "covariate shift: p(y | x) is the same in source and target",
        "the weights are the true ratio up to scale, and bounded as given",
        IID,
        ELSEWHERE,
    ),
    family=FAMILY,
    experiments=tuple(
        Experiment(
            f"{bound}, ratio up to 2, n = 800",
            partial(weighted_rows, bound=bound),
            fails(0.3, 0.1),
            batch=50,
        )
        for bound in ("auto", "hoeffding", "chernoff", "bernstein")
    ),
    controls=(
        Experiment(
            "rows not weighted",
            partial(weighted_rows, bound="auto", weighted=False),
            fails(0.3, 0.1),
            batch=50,
        ),
    ),
)

THEOREMS = (PROPOSITION_1, INEQUALITY, THEOREM_4, WEIGHTED)
