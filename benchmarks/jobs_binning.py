"""Bins of the unit interval: which bin each value falls into, and the labels there."""

from collections.abc import Iterator

import numpy as np

from distfreeuq._kernels import _binning
from distfreeuq.threads import threads_for

from . import by_hand
from .harness import Job, Target

N_CLASSES = 2


def jobs() -> Iterator[Job]:
    for n in (10_000, 100_000, 1_000_000):
        yield assign_and_count(n, 100)
    for n_bins in (10, 1000):
        yield assign_and_count(1_000_000, n_bins)
    yield assign_and_count(1_000_000, 100, dtype="float32")


def assign_and_count(n: int, n_bins: int, dtype: str = "float64") -> Job:
    """Return the job: counts of each label in bins of equal mass."""
    rng = np.random.default_rng(0)
    values = rng.beta(2.0, 5.0, size=n).astype(dtype)
    labels = (rng.random(n) < values).astype(np.int64)
    edges = np.quantile(values, np.arange(1, n_bins) / n_bins).astype(dtype)

    def ours() -> np.ndarray:
        bins = np.empty(n, dtype=np.int64)
        counts = np.zeros((n_bins, N_CLASSES), dtype=np.int64)
        _binning._assign_bins(values, edges, True, bins, threads_for(n))
        _binning._count_labels(bins, labels, counts)
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
