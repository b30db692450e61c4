"""Bootstrap: rows drawn anew with replacement; only their weights change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distfreeuq._kernels import _bootstrap
from distfreeuq._typing import FloatArray, FloatMatrix
from distfreeuq.assessment.linear import SAMPLES, LinearMeasures, take_apart
from distfreeuq.assessment.measures import BIASED, Measures


def resample(
    several: Sequence[Measures],
    n_boot: int,
    generator: np.random.Generator,
    n_jobs: int,
    progress: bool,
) -> list[FloatMatrix]:
    """Return (n_boot, J) metrics of each classifier, all on the same drawn rows.

    Sixteen samples share a generator and a process, so that the number of processes
    changes nothing.
    """
    from joblib import Parallel, delayed
    from tqdm import tqdm

    children = generator.spawn(-(-n_boot // SAMPLES))
    apart = [take_apart(one) for one in several]
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_some_samples)(apart, child) for child in children
    )
    parts = list(
        tqdm(found, total=len(children), disable=not progress, desc="bootstrap")
    )
    return [
        np.vstack([part[j] for part in parts])[:n_boot] for j in range(len(several))
    ]


def intervals(
    names: Sequence[str], estimates: FloatArray, samples: FloatMatrix, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the bootstrap's estimate of the bias, and the intervals' ends, each (J,).

    Percentile intervals, except for the calibration errors. A sample's errors are those
    of the estimates and noise once more, so that their distribution lies too high; the
    basic interval, which mirrors it at the estimate, takes that out. The debiased error
    has no bias itself, yet its samples have, for a row that is drawn twice tells less
    than two rows: its interval mirrors them at their own mean.
    """
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
    mean = samples.mean(axis=0)
    biased = np.array([name in BIASED for name in names])
    bias = np.where(biased, mean - estimates, 0.0)
    center = np.where(biased, estimates, mean)
    mirrored = biased | np.array([name == "debiased_ece" for name in names])
    ends = np.clip(estimates + center - np.stack([high, low]), 0.0, 1.0)
    low, high = np.where(mirrored, ends, [low, high])
    return bias, low, high


def _some_samples(
    several: Sequence[LinearMeasures], generator: np.random.Generator
) -> list[FloatMatrix]:
    """Return the metrics of 16 samples, shape (16, J) for each classifier."""
    rows = several[0].measures.rows
    n = rows.n
    counts = np.empty((SAMPLES, n), dtype=np.uint16)
    for sample in counts:
        words = generator.integers(0, 2**64, (n + 1) // 2, dtype=np.uint64)
        _bootstrap._count_draws(words.view(np.uint32)[:n], sample)
    used = rows.weights > 0.0
    if not used.all():  # where every drawn row has weight zero, nothing can be measured
        counts[~counts[:, used].any(axis=1)] = 1
    return [one.measures.values(one.sums(counts)) for one in several]
