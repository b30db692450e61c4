"""Bootstrap: rows drawn anew with replacement; only their weights change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from distfreeuq._base.array_types import CountMatrix, FloatArray, FloatMatrix
from distfreeuq._base.progress import progress_bar
from distfreeuq._kernels import _bootstrap
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.parallel import in_order, on_threads
from distfreeuq.assessment.bootstrap_sums import (
    SAMPLES,
    LinearMeasures,
    Totals,
    take_apart,
)
from distfreeuq.assessment.measures import BIASED, Measures
from distfreeuq.metrics.data import Rows

# Rows times generators of a task, or cells times generators: about as many as the cache
# holds.
_SMALL_TASK = 1 << 15


def resample(
    several: Sequence[Measures],
    n_boot: int,
    generator: np.random.Generator,
    n_jobs: int,
    progress: bool,
) -> list[FloatMatrix]:
    """Return (n_boot, J) metrics of each classifier, all on the same drawn rows.

    Sixteen samples share a generator, so that the number of processes, or of threads,
    changes nothing.
    """
    children = generator.spawn(-(-n_boot // SAMPLES))
    apart = [take_apart(one) for one in several]
    size = _generators_per_task(apart)
    tasks = [children[i : i + size] for i in range(0, len(children), size)]
    compute = partial(_some_samples, apart)
    if n_jobs == 1:  # the kernels let other threads run
        found = on_threads(compute, tasks, threads_for(several[0].rows.n))
    else:
        found = in_order(compute, tasks, n_jobs)
    parts = list(
        progress_bar(found, total=len(tasks), shown=progress, desc="bootstrap")
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
    has no bias itself, yet its samples have, because a row that is drawn twice says
    less than two rows: its interval mirrors them at their own mean. No bias is given
    for metrics that have no interval: a maximum's is not estimated by its samples'.
    """
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
    mean = samples.mean(axis=0)
    biased = np.array([name in BIASED for name in names])
    with np.errstate(invalid="ignore"):  # an infinite likelihood
        bias = np.where(biased, mean - estimates, 0.0)
    center = np.where(biased, estimates, mean)
    mirrored = biased | np.array([name == "debiased_ece" for name in names])
    with np.errstate(invalid="ignore"):
        ends = np.clip(estimates + center - np.stack([high, low]), 0.0, 1.0)
    low, high = np.where(mirrored, ends, [low, high])
    return bias, low, high


def _generators_per_task(several: Sequence[LinearMeasures]) -> int:
    """Return how many times 16 samples make a task: more of fewer rows.

    What Python does for each task would cost more than the sums of a few rows.
    """
    n, n_cells = several[0].measures.rows.n, max(one.top.n_cells for one in several)
    return max(1, min(_SMALL_TASK // n, _SMALL_TASK // n_cells))


def _some_samples(
    several: Sequence[LinearMeasures], generators: Sequence[np.random.Generator]
) -> list[FloatMatrix]:
    """Return the metrics of 16 samples per generator, (16 G, J) for each classifier."""
    totals: list[list[Totals]] = [[] for _ in several]
    for generator in generators:
        counts = _draw(several[0].measures.rows, generator)
        for one, found in zip(several, totals, strict=True):
            found.append(one.totals(counts))
    pairs = zip(several, totals, strict=True)
    return [one.measures.values(one.sums(found)) for one, found in pairs]


def _draw(rows: Rows, generator: np.random.Generator) -> CountMatrix:
    """Return how often each row is in each of 16 samples, shape (16, n)."""
    n = rows.n
    counts = np.empty((SAMPLES, n), dtype=np.uint16)
    # few rows are drawn all at once; the words of many would not stay in the cache
    at_once = SAMPLES if n <= _SMALL_TASK // SAMPLES else 1
    for start in range(0, SAMPLES, at_once):
        shape = (at_once, (n + 1) // 2)
        words = generator.integers(0, 2**64, shape, dtype=np.uint64).view(np.uint32)
        for own, sample in zip(words, counts[start:], strict=False):
            _bootstrap._count_draws(own[:n], sample)
    used = rows.weights > 0.0
    if not used.all():  # where every drawn row has weight zero, nothing can be measured
        counts[~counts[:, used].any(axis=1)] = 1
    return counts
