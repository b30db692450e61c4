"""Up to a hundred million scores: time by row, and memory. Not in the standard set.

``python -m benchmarks --only large`` takes some minutes and 4 GB.
"""

from collections.abc import Iterator

import numpy as np

import distfreeuq as dfu

from .harness import Job, Target

STANDARD = False
SIZES = (1_000_000, 10_000_000, 100_000_000)
N_CLASSES = 10


def jobs() -> Iterator[Job]:
    for method in ("exchangeable", "label-shift", "label-conditional"):
        for n in SIZES:
            yield thresholds(method, n)
    for n in SIZES:
        yield weighted_quantile(n)
    for n in SIZES:
        yield binning(n)


def thresholds(method: str, n: int) -> Job:
    """Return the job: thresholds, in no more than twice the memory of the scores."""
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    labels = rng.integers(0, N_CLASSES, n)
    weight = rng.uniform(0.5, 2.0, N_CLASSES) if method == "label-shift" else None
    return Job(
        name=f"thresholds of many scores, {method}",
        size={"n": n},
        ours=lambda: dfu.conformal_thresholds(
            scores,
            labels,
            alpha=0.1,
            n_classes=N_CLASSES,
            method=method,
            label_weight=weight,
        ),
        reads=scores.nbytes + (0 if method == "exchangeable" else labels.nbytes),
        targets=(Target(peak_bytes=2.1 * scores.nbytes),),
        threads=(1,),
        resident=True,
    )


def weighted_quantile(n: int) -> Job:
    rng = np.random.default_rng(0)
    values, weights = rng.random(n), rng.random(n)
    return Job(
        name="weighted quantile of many values",
        size={"n": n},
        ours=lambda: dfu.weighted_quantile(values, weights, 0.9),
        reads=values.nbytes + weights.nbytes,
        targets=(Target(peak_bytes=2.1 * values.nbytes),),
        threads=(1,),
        resident=True,
    )


def binning(n: int) -> Job:
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    labels = (rng.random(n) < scores).astype(np.int64)
    return Job(
        name="uniform-mass bins of many scores",
        size={"n": n},
        ours=lambda: dfu.histogram_binning(scores, labels, n_bins=100).frequencies,
        reads=scores.nbytes + labels.nbytes,
        targets=(Target(peak_bytes=4.2 * scores.nbytes),),
        resident=True,
    )
