"""Theorems on scaling-binning: outputs are near the labels, and near the map."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq.bounds import unchecked
from distfreeuq.calibration.scaled_bins.guarantees import REFERENCE
from distfreeuq.calibration.scaled_bins.map_in_bins import scaling_binning
from distfreeuq.calibration.scaled_bins.output_bounds import outputs_of
from distfreeuq.calibration.scaled_bins.results import ScalingBinningResult
from distfreeuq.calibration.temperature import TemperatureResult
from distfreeuq.references import CALIBRATION_IID, FITTED_ELSEWHERE
from distfreeuq.theorems.binning.source_bins import (
    ALPHA,
    FAMILY,
    binary_rows,
    fails,
    mean_of_largest,
    mean_of_one,
    mean_square,
    simplex_rows,
)
from distfreeuq.theorems.draws.of_maps.atom_designs import given_map, scaled_bin_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)

Radius = Callable[[ScalingBinningResult], FloatArray]


# ----------------------------------------------------------------- outputs and labels


def near_labels(
    generator: np.random.Generator,
    n_draws: int,
    *,
    mode: str = "canonical",
    n: int = 450,
    split: tuple[float, float] = (1 / 3, 1 / 3),
    turned: bool = False,
    radius: Radius | None = None,
) -> dict[str, BoolArray]:
    """Ask whether some bin's output is farther from the truth than its radius.

    For two classes P(Y = 1 | s) = s^2, which no temperature makes of s; with `turned`
    labels it is 1 - s^2, and the map, which is given, says s. Of three classes the map
    is given and right. Broken: another `radius`.
    """
    failed = np.empty(n_draws, dtype=np.bool_)
    given = partial(
        scaling_binning,
        calibrator=given_map,
        n_bins=5,
        mode=mode,
        split=split,
        alpha=ALPHA,
        rng=generator,
    )
    for i in range(n_draws):
        if mode != "canonical":
            probs, labels = simplex_rows(generator, n)
            fit = given(np.log(probs), labels)
            truth = _means_of_simplex(fit)
        elif turned:
            scores, labels = binary_rows(generator, n)
            fit = given(np.log(scores) - np.log1p(-scores), 1 - labels)
            ends = np.asarray(fit.binning.edges)
            truth = 1.0 - mean_square(ends[:-1], ends[1:])
        else:
            fit = _two_classes(generator, n, split)
            truth = _squares(fit)
        some = outputs_of(fit.binning).n > 0
        allowed = fit.radius if radius is None else radius(fit)
        error = np.abs(fit.outputs - truth)
        failed[i] = bool((error > allowed)[some].any())
    return {"some bin fails": failed}


def _two_classes(
    generator: np.random.Generator,
    n: int,
    split: tuple[float, float],
    n_bins: int = 5,
) -> ScalingBinningResult:
    scores, labels = binary_rows(generator, n)
    logits = np.log(scores) - np.log1p(-scores)
    return scaling_binning(
        logits, labels, n_bins=n_bins, split=split, alpha=ALPHA, rng=generator
    )


def _ends_of_scores(fit: ScalingBinningResult) -> FloatArray:
    """Return the bins' ends as scores s, which the temperature maps to outputs."""
    assert isinstance(fit.scaling, TemperatureResult)
    ends = np.asarray(fit.binning.edges)[1:-1]
    logits = fit.scaling.temperature * (np.log(ends) - np.log1p(-ends))
    return np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-logits)), [1.0]])


def _squares(fit: ScalingBinningResult) -> FloatArray:
    ends = _ends_of_scores(fit)
    return mean_square(ends[:-1], ends[1:])


def _means_of_simplex(fit: ScalingBinningResult) -> FloatArray:
    edges = fit.binning.edges
    if isinstance(edges, tuple):
        return np.concatenate([mean_of_one(ends[:-1], ends[1:]) for ends in edges])
    return mean_of_largest(edges[:-1], edges[1:])


def no_union_over_bins(fit: ScalingBinningResult) -> FloatArray:
    """Give every bin all of alpha."""
    bins = outputs_of(fit.binning)
    hits = bins.hits.astype(np.int64)
    low, high = unchecked.clopper_pearson(hits, bins.n, fit.alpha)
    return np.maximum(high - bins.output, bins.output - low)


def of_the_map(fit: ScalingBinningResult) -> FloatArray:
    """Take the distance from the map's mean, as if the map were right."""
    return fit.map_radius


def without_the_interval(fit: ScalingBinningResult) -> FloatArray:
    """Take the labels' frequency for the truth."""
    bins = outputs_of(fit.binning)
    return np.abs(bins.output - bins.frequency)


# -------------------------------------------------------------------- outputs and map


def near_map(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n: int = 450,
    n_bins: int = 5,
    split: tuple[float, float] = (1 / 3, 1 / 3),
    all_rows: bool = False,
    labels: bool = False,
    moved: bool = False,
) -> dict[str, BoolArray]:
    """Ask whether outputs are off the map's means, and errors off the map's error.

    Broken: the rows of all bins count in each (`all_rows`); frequencies of labels are
    given out (`labels`), or the output of the next bin (`moved`).
    """
    off = np.empty(n_draws, dtype=np.bool_)
    errors = {p: np.empty(n_draws, dtype=np.bool_) for p in (1, 2)}
    for i in range(n_draws):
        fit = _two_classes(generator, n, split, n_bins)
        assert isinstance(fit.scaling, TemperatureResult)
        ends = _ends_of_scores(fit)
        half = np.diff(ends)[:, None] / 2.0
        s = ends[:-1, None] + half * (1.0 + _NODES)
        power = 1.0 / fit.scaling.temperature
        g = s**power / (s**power + (1.0 - s) ** power)
        bins = outputs_of(fit.binning)
        radius = fit.map_radius
        if all_rows:
            radius = radius * np.sqrt(bins.n / bins.n.sum())
        output = bins.frequency if labels else bins.output
        output = np.roll(output, 1) if moved else output
        some = bins.n > 0
        mean = (g * _WEIGHTS).sum(axis=1) / 2.0
        off[i] = bool((np.abs(output - mean) > radius)[some].any())
        mass = np.diff(ends)
        gap = np.where(some, np.abs(output - _squares(fit)), 0.0)
        cost = float(radius.max())
        for p, exceeded in errors.items():
            of_outputs = float((mass * gap**p).sum()) ** (1.0 / p)
            inside = half * _WEIGHTS * np.abs(s**2 - g) ** p
            exceeded[i] = of_outputs > float(inside.sum()) ** (1.0 / p) + cost
    return {
        "some output is off the map's mean": off,
        **{f"the l{p} error exceeds the map's plus cost": e for p, e in errors.items()},
    }


OFF_MAP = Claim("some output is off the map's mean", at_most=ALPHA, tolerance=0.08)
COSTS = tuple(
    Claim(f"the l{p} error exceeds the map's plus cost", at_most=ALPHA, tolerance=0.08)
    for p in (1, 2)
)


# ------------------------------------------------------------------------- the theorems

BOUND = Theorem(
    name="scaling-binning-bound",
    title="Outputs of scaling-binning are near the truth, in all bins at once",
    reference=REFERENCE,
    statement=(
        "P(|output_m - P(Y = 1 | bin m)| <= radius_m for all m) >= 1 - alpha, "
        "whatever the map: the radius reaches from the output to the farther end of "
        "the labels' Clopper-Pearson interval at alpha/M."
    ),
    assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE),
    family=FAMILY,
    designs=scaled_bin_designs,
    experiments=(
        *(
            Experiment(
                f"two classes, a wrong map, {name}, n = 450",
                partial(near_labels, split=split),
                fails(ALPHA, 0.08),
                batch=25,
            )
            for name, split in (
                ("three parts", (1 / 3, 1 / 3)),
                ("bins at their own order statistics", (0.4, 0.0)),
            )
        ),
        Experiment(
            "two classes, a map that is turned round, n = 450",
            partial(near_labels, turned=True),
            fails(ALPHA, 0.08),
            batch=25,
        ),
        *(
            Experiment(
                f"three classes, {mode}, n = 450",
                partial(near_labels, mode=mode),
                fails(ALPHA, 0.08),
                batch=25,
            )
            for mode in ("classwise", "top-label")
        ),
    ),
    controls=(
        Experiment(
            "no union over bins",
            partial(near_labels, turned=True, radius=no_union_over_bins),
            fails(ALPHA, 0.08),
            batch=25,
        ),
        *(
            Experiment(
                name, partial(near_labels, radius=radius), fails(ALPHA, 0.08), batch=25
            )
            for name, radius in (
                ("the map counts as right", of_the_map),
                ("frequencies count as the truth", without_the_interval),
            )
        ),
    ),
)

COST = Theorem(
    name="scaling-binning-cost",
    title="Averaging a map in bins adds little to its calibration error",
    reference=REFERENCE,
    statement=(
        "P(|output_m - E(g | bin m)| <= width_m sqrt(ln(2 M / alpha) / (2 N_m)) for "
        "all m) >= 1 - alpha; then the l_p calibration error of the outputs is at "
        "most that of the map g plus the largest of these numbers."
    ),
    assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE),
    family=FAMILY,
    designs=partial(scaled_bin_designs, of_map=True),
    experiments=tuple(
        Experiment(
            f"two classes, {name}, M = {n_bins}",
            partial(near_map, split=split, n_bins=n_bins),
            (OFF_MAP, *COSTS),
            batch=25,
        )
        for name, split, n_bins in (
            ("three parts", (1 / 3, 1 / 3), 5),
            ("bins at their own order statistics", (0.4, 0.0), 20),
        )
    ),
    controls=(
        *(
            Experiment(name, partial(near_map, **how), (OFF_MAP,), batch=25)
            for name, how in (
                ("N for N_m", {"n_bins": 20, "all_rows": True}),
                ("frequencies of labels", {"labels": True}),
            )
        ),
        Experiment(
            "the output of the next bin", partial(near_map, moved=True), COSTS, batch=25
        ),
    ),
)

THEOREMS = (BOUND, COST)
