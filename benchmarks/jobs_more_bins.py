"""Bins in all three modes, fit and predict, and what sets are evaluated by."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import distfreeuq as dfu

from . import by_hand_metrics, data
from .harness import OURS, Job

SIZES = ((1000, 10), (10_000, 10), (100_000, 10))
N_BINS = 10


def jobs() -> Iterator[Job]:
    for size in SIZES:
        yield top_label(*size)
        yield class_wise(*size)
        yield cells(*size)
    for size in SIZES:
        yield evaluate(*size)


def top_label(n: int, n_classes: int) -> Job:
    """Return the job: how often the top label is right, in ten equal bins."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    edges = np.arange(1, N_BINS) / N_BINS

    def by_numpy() -> Any:
        _, confidence, right = by_hand_metrics.top_label(probs, labels)
        bins = np.searchsorted(edges, confidence, side="left")
        counts = np.bincount(bins, minlength=N_BINS)
        with np.errstate(invalid="ignore"):
            return np.bincount(bins, weights=right, minlength=N_BINS) / counts

    def ours() -> Any:
        return dfu.histogram_binning(
            probs, labels, mode="top-label", scheme="equal-width", n_bins=N_BINS
        ).frequencies

    return Job(
        name="top-label bins, fit with radii",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"NumPy, without radii": by_numpy},
        reads=probs.nbytes,
        effort=0.2,
    )


def class_wise(n: int, n_classes: int) -> Job:
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    edges = np.arange(1, N_BINS) / N_BINS

    def by_numpy() -> Any:
        out = np.empty(probs.shape)
        for k in range(n_classes):
            bins = np.searchsorted(edges, probs[:, k], side="left")
            counts = np.bincount(bins, minlength=N_BINS)
            hits = np.bincount(bins[labels == k], minlength=N_BINS)
            out[:, k] = (hits / np.maximum(counts, 1))[bins]
        return out

    def ours() -> Any:
        return dfu.histogram_binning(
            probs, labels, mode="classwise", scheme="equal-width", n_bins=N_BINS
        ).predict(probs)

    return Job(
        name="class-wise bins, fit + predict",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"NumPy, without radii": by_numpy},
        reads=2 * probs.nbytes,
        effort=0.2,
    )


def cells(n: int, n_classes: int) -> Job:
    """Return the job: sixteen cells of the simplex; others have no such partition."""
    probs, labels = data.rows(n, n_classes, data.PEAKED)
    return Job(
        name="cells of the simplex, fit + predict",
        size={"n": n, "K": n_classes, "bins": 16},
        ours=lambda: dfu.histogram_binning(probs, labels, n_bins=16).predict(probs),
        reads=2 * probs.nbytes,
        effort=0.2,
    )


def evaluate(n: int, n_classes: int) -> Job:
    probs, labels = data.rows(n, n_classes)
    sets = dfu.split_conformal(probs, labels, rng=0).predict(probs)

    def by_numpy() -> Any:
        covered = sets.mask[np.arange(n), labels]
        by_size = np.bincount(sets.mask.sum(axis=1), weights=covered)
        return [covered.sum(), *np.bincount(labels, weights=covered), *by_size]

    def ours() -> Any:
        found = sets.evaluate(labels)
        return [found.n_covered, *found.class_covered, *found.size_covered]

    def check(results: Mapping[str, Any]) -> None:
        by_hand = results["NumPy, without intervals"]
        np.testing.assert_array_equal(results[OURS][: len(by_hand)], by_hand)

    return Job(
        name="evaluation of sets",
        size={"n": n, "K": n_classes},
        ours=ours,
        peers={"NumPy, without intervals": by_numpy},
        check=check,
        reads=sets.mask.nbytes,
        threads=(1,),
        effort=0.1,
    )
