"""Bins of the unit interval: which bin each value falls into, and the labels there."""

from collections.abc import Iterator, Mapping

import numpy as np

import distfreeuq as dfu
from distfreeuq._kernels import _bins
from distfreeuq._kernels.threads import threads_for

from . import by_hand
from .harness import Job, Target

N_CLASSES = 2


def jobs() -> Iterator[Job]:
    for n in (10_000, 100_000, 1_000_000):
        yield assign_and_count(n, 100)
    for n_bins in (10, 1000):
        yield assign_and_count(1_000_000, n_bins)
    yield assign_and_count(1_000_000, 100, dtype="float32")
    for n in (10_000, 100_000, 1_000_000):
        yield uniform_mass(n, 100)
    yield simplex(100_000, 100, 64)


def assign_and_count(n: int, n_bins: int, dtype: str = "float64") -> Job:
    """Return the job: counts of each label in bins of equal mass."""
    rng = np.random.default_rng(0)
    values = rng.beta(2.0, 5.0, size=n).astype(dtype)
    labels = (rng.random(n) < values).astype(np.int64)
    edges = np.quantile(values, np.arange(1, n_bins) / n_bins).astype(dtype)

    def ours() -> np.ndarray:
        bins = np.empty(n, dtype=np.int64)
        counts = np.zeros((n_bins, N_CLASSES), dtype=np.int64)
        _bins._assign_bins(values, edges, True, bins, threads_for(n))
        _bins._count_labels(bins, labels, counts)
        return counts

    def by_numpy() -> np.ndarray:
        return by_hand.count_in_bins(values, labels, edges, N_CLASSES)

    standard = n == 1_000_000 and n_bins == 100
    return Job(
        name="bin assignment + counts",
        size={"n": n, "bins": n_bins},
        dtype=dtype,
        ours=ours,
        peers={"NumPy": by_numpy},
        reads=values.nbytes + labels.nbytes,
        targets=(Target("NumPy", ratio=5.0),) if standard else (),
    )


def uniform_mass(n: int, n_bins: int) -> Job:
    """Return the job: fit bins of equal mass and calibrate as many new scores."""
    rng = np.random.default_rng(1)
    scores, new = rng.beta(2.0, 5.0, size=(2, n))
    labels = (rng.random(n) < scores).astype(np.int64)
    return Job(
        name="uniform-mass fit + predict",
        size={"n": n, "bins": n_bins},
        ours=lambda: dfu.histogram_binning(scores, labels, n_bins=n_bins).predict(new),
        peers={"NumPy": lambda: by_hand.uniform_mass(scores, labels, new, n_bins)},
        check=about_equal,
        reads=2 * scores.nbytes + labels.nbytes,
        targets=(Target("NumPy", ratio=5.0),) if n == 1_000_000 else (),
    )


def about_equal(results: Mapping[str, np.ndarray]) -> None:
    """NumPy interpolates its edges, and counts the rows on them: a few rows differ."""
    ours, theirs = results["distfreeuq"], results["NumPy"]
    far = np.abs(ours - theirs).max(axis=1) > 0.02
    assert far.mean() < 0.02, "the calibrated probabilities differ"


def simplex(n: int, n_classes: int, n_cells: int) -> Job:
    """Return the job: cells of the simplex, against a read of the matrix per level."""
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.full(n_classes, 0.3), size=n)
    labels = probs.argmax(axis=1)
    levels = int(np.log2(n_cells))
    reading = f"{levels} reads"
    return Job(
        name="cells of the simplex, fit",
        size={"n": n, "K": n_classes, "bins": n_cells},
        ours=lambda: dfu.histogram_binning(probs, labels, n_bins=n_cells).counts,
        yardsticks={reading: lambda: [probs.sum() for _ in range(levels)]},
        reads=probs.nbytes,
        targets=(Target(reading, ratio=0.2),),
    )
