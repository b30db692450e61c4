"""Bootstrap: rows drawn anew with replacement; only their weights change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distfreeuq._kernels import _metrics
from distfreeuq._typing import FloatArray, FloatMatrix
from distfreeuq.assessment.measures import BIASED, Measures
from distfreeuq.threads import set_num_threads

_PER_TASK = 25
"""Samples that a process takes at a time."""


def resample(
    several: Sequence[Measures],
    n_boot: int,
    generator: np.random.Generator,
    n_jobs: int,
    progress: bool,
) -> list[FloatMatrix]:
    """Return (n_boot, J) metrics of each classifier, all on the same drawn rows.

    Each sample has a generator of its own, so the number of processes changes nothing.
    """
    from joblib import Parallel, delayed
    from tqdm import tqdm

    children = generator.spawn(n_boot)
    tasks = [children[i : i + _PER_TASK] for i in range(0, n_boot, _PER_TASK)]
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_some_samples)(several, task, n_jobs != 1) for task in tasks
    )
    shown = tqdm(found, total=len(tasks), disable=not progress, desc="bootstrap")
    parts = list(shown)
    return [np.vstack([part[j] for part in parts]) for j in range(len(several))]


def intervals(
    names: Sequence[str], estimates: FloatArray, samples: FloatMatrix, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the bootstrap's estimate of the bias, and the intervals' ends, each (J,).

    Percentile intervals, except for the calibration errors: a sample's errors are those
    of the estimates and noise once more, so that their distribution lies too high, and
    the basic interval, which mirrors it at the estimate, takes that out.
    """
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
    biased = np.array([name in BIASED for name in names])
    bias = np.zeros(len(names))
    bias[biased] = samples[:, biased].mean(axis=0) - estimates[biased]
    mirrored = 2.0 * estimates[biased]
    low[biased], high[biased] = (
        np.clip(mirrored - high[biased], 0.0, 1.0),
        np.clip(mirrored - low[biased], 0.0, 1.0),
    )
    return bias, low, high


def _some_samples(
    several: Sequence[Measures],
    generators: Sequence[np.random.Generator],
    in_a_process: bool,
) -> list[FloatMatrix]:
    if in_a_process:
        set_num_threads(1)
    n = several[0].rows.n
    weights: FloatArray = np.empty(n)
    n_boot = len(generators)
    out: list[FloatMatrix] = [np.empty((n_boot, len(one.names))) for one in several]
    for b, generator in enumerate(generators):
        words = generator.integers(0, 2**64, (n + 1) // 2, dtype=np.uint64)
        base = several[0].rows.weights
        _metrics._count_draws(words.view(np.uint32)[:n], base, weights)
        if not weights.any():  # every drawn row has weight zero: nothing to measure
            weights = base.copy()
        for j, one in enumerate(several):
            out[j][b] = one.values(weights)
    return out
