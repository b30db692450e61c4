"""Theorems on bins of the target: Theorem 4 repaired, and rows with weights."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from distfreeuq import bounds, scenarios
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.label_shift_bins import TargetWeights, reweighted, target_radii
from distfreeuq.binning.radii import multinomial_radii
from distfreeuq.label_shift.confusion_estimators import bbse
from distfreeuq.label_shift.inference.regions import Box
from distfreeuq.references import (
    CALIBRATION_IID,
    COVARIATE_SHIFT,
    FITTED_ELSEWHERE,
    LABEL_SHIFT,
    PODKOPAEV_RAMDAS_2021,
    TRUE_BOUNDED_RATIO,
)
from distfreeuq.scenarios.finite import FiniteScenario
from distfreeuq.scenarios.scenario import Domain
from distfreeuq.theorems.binning.reweighting import conditional
from distfreeuq.theorems.binning.source_bins import FAMILY, fails
from distfreeuq.theorems.draws.bin_designs import target_bin_designs
from distfreeuq.theorems.draws.score_bin_designs import weighted_designs
from distfreeuq.theorems.engine.experiment import Experiment, Theorem


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
    truth = conditional(toy.target.reshape(3, 2, 3).sum(axis=1))
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
    """Bin the two Gaussians; their masses between scores are normal integrals."""
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
    reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 4, repaired (theory page, 2.3)",
    statement=(
        "P(|pi_hat_m^w - pi_m^Q|_1 <= radius_m for all m) >= 1 - alpha with known "
        "weights, zeros included, and >= 1 - alpha - delta with weights from a region "
        "that holds them with probability 1 - delta, estimated on the same rows."
    ),
    assumptions=(LABEL_SHIFT, CALIBRATION_IID, FITTED_ELSEWHERE),
    family=FAMILY,
    designs=target_bin_designs,
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


def steep_rows(
    generator: np.random.Generator, n_draws: int, *, bound: str, bounded: bool = True
) -> dict[str, BoolArray]:
    """Weight uniform scores by 21 s^20, and toss a coin for the label.

    The rows are worth a tenth of their number: without the factor U / mean weight, as
    if not `bounded`, Hoeffding's bound would be that of rows of equal weight.
    """
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        scores = generator.random(800)
        weights = 21.0 * scores**20
        fit = histogram_binning(
            scores,
            generator.integers(2, size=800),
            scheme=[0.0, 1.0],
            sample_weight=weights,
            weight_bound=21.0,
            bound=bound,
            alpha=0.3,
        )
        radius = fit.radius if bounded else fit.radius * weights.mean() / 21.0
        failed[i] = bool((2.0 * np.abs(fit.frequencies[:, 1] - 0.5) > radius).any())
    return {"some bin fails": failed}


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
    reference=(
        "Hoeffding (1963); Maurer & Pontil (2009); Waudby-Smith & Ramdas (2024); "
        "theory page, 2.4 and 2.5"
    ),
    statement=(
        "With rows weighted by the true q(x)/p(x), known to be bounded, |frequency - "
        "target's probability| <= radius in all bins with probability >= 1 - alpha."
    ),
    assumptions=(
        COVARIATE_SHIFT,
        TRUE_BOUNDED_RATIO,
        CALIBRATION_IID,
        FITTED_ELSEWHERE,
    ),
    family=FAMILY,
    designs=weighted_designs,
    experiments=tuple(
        Experiment(
            f"{bound}, ratio up to {largest}, n = 800",
            partial(draw, bound=bound),
            fails(0.3, 0.1),
            batch=50,
        )
        for draw, largest in ((weighted_rows, 2), (steep_rows, 21))
        for bound in ("auto", "hoeffding", "chernoff", "bernstein")
    ),
    controls=(
        Experiment(
            "without the bound of the weights",
            partial(steep_rows, bound="hoeffding", bounded=False),
            fails(0.3, 0.1),
            batch=50,
        ),
        Experiment(
            "rows not weighted",
            partial(weighted_rows, bound="auto", weighted=False),
            fails(0.3, 0.1),
            batch=50,
        ),
    ),
)

THEOREMS = (THEOREM_4, WEIGHTED)
