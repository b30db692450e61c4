"""Theorems on bins of the source: bounds that hold in all bins at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray, IntMatrix
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.radii import BOUNDS, binomial_radii, multinomial_radii
from distfreeuq.references import (
    CALIBRATION_IID,
    CLOPPER_PEARSON_1934,
    FITTED_ELSEWHERE,
    PODKOPAEV_RAMDAS_2021,
)
from distfreeuq.theorems.draws.bin_designs import source_bin_designs
from distfreeuq.theorems.draws.score_bin_designs import one_probability_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

FAMILY = "binning"
FIXED_BINS = "the bins do not depend on the rows that they count"
ALPHA = 0.3

Radius = Callable[[IntMatrix, int, int], FloatArray]
"""``radius(counts (B, K), n_bins, n)``: the radii (B,) of many bins."""


# ------------------------------------------------------------ Theorem 3, bins by counts


def all_bins(
    generator: np.random.Generator,
    n_draws: int,
    *,
    n_bins: int,
    n_classes: int,
    n: int,
    radius: Radius,
) -> dict[str, BoolArray]:
    """Count labels in bins of unlike masses, and compare errors with radii."""
    fixed = np.random.default_rng(n_bins * n_classes)
    truth = fixed.dirichlet(np.full(n_classes, 0.7), size=n_bins)
    masses = fixed.dirichlet(np.full(n_bins, 5.0))
    sizes = generator.multinomial(n, masses, size=n_draws)
    counts = generator.multinomial(sizes, truth)  # (draws, M, K)
    frequencies = counts / np.maximum(sizes, 1)[:, :, None]
    error = np.where(sizes > 0, np.abs(frequencies - truth).sum(axis=2), 0.0)
    allowed = radius(counts.reshape(-1, n_classes), n_bins, n).reshape(error.shape)
    failed: BoolArray = np.any(error > allowed, axis=1)
    return {"some bin fails": failed}


def of_bound(counts: IntMatrix, n_bins: int, n: int, *, bound: str) -> FloatArray:
    """Return the package's radii."""
    return multinomial_radii(counts, n_bins, 0.1, bound).radius


def all_rows_for_the_bin_s(counts: IntMatrix, n_bins: int, n: int) -> FloatArray:
    """Take N for N_m."""
    radius = bounds.binning_hoeffding(n, n_bins, counts.shape[1], 0.1)
    return np.full(len(counts), float(radius))


def no_union_over_bins(counts: IntMatrix, n_bins: int, n: int) -> FloatArray:
    """Give every bin all of alpha."""
    return multinomial_radii(counts, 1, 0.1, "clopper-pearson").radius


# ------------------------------------------------------ rows with truths in closed form


def binary_rows(generator: np.random.Generator, n: int) -> tuple[FloatArray, IntArray]:
    """Return uniform scores s and labels with P(Y = 1 | s) = s^2."""
    scores = generator.random(n)
    return scores, (generator.random(n) < scores**2).astype(np.int64)


def mean_square(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return P(Y = 1 | low < s <= high) of `binary_rows`."""
    truth: FloatArray = (high**2 + low * high + low**2) / 3.0
    return truth


def simplex_rows(generator: np.random.Generator, n: int) -> tuple[FloatArray, IntArray]:
    """Return probabilities uniform on the simplex of three classes, and labels."""
    probs = generator.dirichlet(np.ones(3), size=n)
    above = generator.random((n, 1)) > np.cumsum(probs[:, :2], axis=1)
    return probs, above.sum(axis=1)


def mean_of_one(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the mean of one of the three probabilities in a bin: density 2 (1 - t)."""
    mass = (high - low) * (2.0 - high - low)
    first = high**2 - low**2 - 2.0 * (high**3 - low**3) / 3.0
    truth: FloatArray = first / mass
    return truth


def mean_of_largest(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the mean of the largest of the three probabilities in a bin."""
    mass = _largest_below(high) - _largest_below(low)
    truth: FloatArray = (_largest_sum(high) - _largest_sum(low)) / mass
    return truth


def _largest_below(t: FloatArray) -> FloatArray:
    """Return P(max <= t)."""
    t = np.clip(t, 1 / 3, 1.0)
    return np.where(t <= 0.5, (3 * t - 1) ** 2, 1 - 3 * (1 - t) ** 2)


def _largest_sum(t: FloatArray) -> FloatArray:
    """Return E[max; max <= t]."""
    t = np.clip(t, 1 / 3, 1.0)
    early = 6 * t**3 - 3 * t**2 + 1 / 9
    return np.where(t <= 0.5, early, 3 * t**2 - 2 * t**3 - 0.5 + 1 / 9)


# ---------------------------------------------------------- through the public function


def public_bound(
    generator: np.random.Generator,
    n_draws: int,
    *,
    mode: str = "canonical",
    bound: str = "auto",
    n: int = 150,
    edges: tuple[float, ...] | None = None,
    union: bool = True,
) -> dict[str, BoolArray]:
    """Ask whether some bin's error exceeds the radius of ``histogram_binning``.

    Without `union`, radii of single bins are taken for those of all.
    """
    failed = np.empty(n_draws, dtype=np.bool_)
    rows = binary_rows if mode == "canonical" else simplex_rows
    scheme = "uniform-mass" if edges is None else edges
    for i in range(n_draws):
        fit = histogram_binning(
            *rows(generator, n),
            n_bins=5,
            scheme=scheme,
            mode=mode,
            bound=bound,
            alpha=ALPHA,
        )
        if mode == "canonical":
            ends = np.asarray(fit.edges)
            error = 2.0 * np.abs(
                fit.frequencies[:, 1] - mean_square(ends[:-1], ends[1:])
            )
        elif mode == "classwise":
            truths = [mean_of_one(e[:-1], e[1:]) for e in fit.edges]
            error = np.abs(fit.frequencies - np.stack(truths, axis=1))
        else:
            ends = np.asarray(fit.edges)
            error = np.abs(fit.frequencies - mean_of_largest(ends[:-1], ends[1:]))
        radius = fit.radius
        if not union:
            hits = np.rint(fit.counts).astype(np.int64)
            radius = binomial_radii(
                hits, fit.bin_counts, 1, ALPHA, "clopper-pearson"
            ).radius
        failed[i] = bool((np.nan_to_num(error, nan=0.0) > radius).any())
    return {"some bin fails": failed}


def predictions(
    generator: np.random.Generator, n_draws: int, *, bins_of_new_rows: bool = False
) -> dict[str, BoolArray]:
    """Ask whether predictions for new rows are near the truth of the rows' bins.

    The new rows follow another law, which does not matter to the bins unless
    `bins_of_new_rows` cuts them at their own order statistics.
    """
    failed = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        fit = histogram_binning(*binary_rows(generator, 150), n_bins=5, alpha=ALPHA)
        ends = np.asarray(fit.edges)
        new = generator.random(40) ** 2
        bins = np.searchsorted(ends[1:-1], new, side="left")
        predicted = fit.predict(new)[:, 1]
        if bins_of_new_rows:
            ranks = np.argsort(np.argsort(new))
            predicted = fit.frequencies[ranks * fit.n_bins // new.size, 1]
        error = 2.0 * np.abs(predicted - mean_square(ends[:-1], ends[1:])[bins])
        failed[i] = bool((error > fit.radius[bins]).any())
    return {"some bin fails": failed}


def fails(alpha: float, tolerance: float) -> tuple[Claim, ...]:
    """Return the claim of every bound."""
    return (Claim("some bin fails", at_most=alpha, tolerance=tolerance),)


# ------------------------------------------------------------------------- the theorems

EDGES = (0.1, 0.3, 0.6, 0.8)

THEOREM_3 = Theorem(
    name="binning-bound",
    title="Frequencies in bins are near the truth, in all bins at once",
    reference=f"{PODKOPAEV_RAMDAS_2021}, Thm 3, and sharper forms (theory page, 2.1)",
    statement=(
        "P(|pi_hat_m - pi_m|_1 <= eps_m for all m) >= 1 - alpha, eps_m by Hoeffding "
        "sqrt(2 ln(M 2^K / alpha) / N_m), with 2^K - 2 (Weissman), McDiarmid, or exact "
        "(Clopper-Pearson for every subset of classes)."
    ),
    assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE, FIXED_BINS),
    family=FAMILY,
    designs=source_bin_designs,
    experiments=(
        *(
            Experiment(
                f"counts, {bound}, M = {n_bins}, K = {n_classes}, n = {n}",
                partial(
                    all_bins,
                    n_bins=n_bins,
                    n_classes=n_classes,
                    n=n,
                    radius=partial(of_bound, bound=bound),
                ),
                fails(0.1, 0.02),
                batch=200,
            )
            for bound in BOUNDS
            for n_bins, n_classes, n in ((5, 2, 100), (20, 3, 2000), (5, 10, 1000))
        ),
        *(
            Experiment(
                f"public function, {bound}, fixed edges, n = 150",
                partial(public_bound, bound=bound, edges=EDGES),
                fails(ALPHA, 0.08),
                batch=50,
            )
            for bound in BOUNDS
        ),
        Experiment(
            "public function, uniform mass without a split, n = 150",
            public_bound,
            fails(ALPHA, 0.08),
            batch=50,
        ),
        Experiment(
            "public function, predictions of new rows, n = 150",
            predictions,
            fails(ALPHA, 0.08),
            batch=50,
        ),
    ),
    controls=(
        *(
            Experiment(
                name,
                partial(all_bins, n_bins=20, n_classes=2, n=4000, radius=radius),
                fails(0.1, 0.02),
                batch=200,
            )
            for name, radius in (
                ("N for N_m", all_rows_for_the_bin_s),
                ("no union over bins", no_union_over_bins),
            )
        ),
        Experiment(
            "bins chosen on the new rows",
            partial(predictions, bins_of_new_rows=True),
            fails(ALPHA, 0.08),
            batch=50,
        ),
    ),
)

ONE_PROBABILITY = Theorem(
    name="binning-one-probability",
    title="Class-wise and top-label frequencies are near the truth, all at once",
    reference=f"{CLOPPER_PEARSON_1934}, with a union over bins (theory page, 2.1)",
    statement=(
        "P(|frequency - probability| <= radius in all bins) >= 1 - alpha, the radius "
        "from Clopper-Pearson at alpha over the number of bins; class-wise, of all "
        "classes together."
    ),
    assumptions=(CALIBRATION_IID, FITTED_ELSEWHERE),
    family=FAMILY,
    designs=one_probability_designs,
    experiments=tuple(
        Experiment(
            f"{mode}, three classes, {bound}, uniform mass, n = 150",
            partial(public_bound, mode=mode, bound=bound),
            fails(ALPHA, 0.08),
            batch=50,
        )
        for mode in ("classwise", "top-label")
        for bound in ("clopper-pearson", "hoeffding")
    ),
    controls=tuple(
        Experiment(
            f"{mode}, no union over bins",
            partial(public_bound, mode=mode, union=False),
            fails(ALPHA, 0.08),
            batch=50,
        )
        for mode in ("classwise", "top-label")
    ),
)

THEOREMS = (THEOREM_3, ONE_PROBABILITY)
