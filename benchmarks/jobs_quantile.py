"""Weighted quantiles and conformal thresholds from scores."""

from collections.abc import Iterator
from functools import partial

import numpy as np

import distfreeuq as dfu

from . import by_hand
from .harness import Job, Target

ALPHA = 0.1
SIZES = (10_000, 100_000, 1_000_000)
N_CLASSES = 1000


def jobs() -> Iterator[Job]:
    for n in SIZES:
        yield weighted_quantile(n)
    for n in SIZES:
        yield from thresholds(n)


def weighted_quantile(n: int) -> Job:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=n), rng.exponential(size=n)
    return Job(
        name="weighted quantile",
        size={"n": n},
        ours=lambda: dfu.weighted_quantile(values, weights, 0.9),
        peers={"NumPy": lambda: by_hand.weighted_quantile(values, weights, 0.9)},
        reads=values.nbytes + weights.nbytes,
    )


def thresholds(n: int) -> Iterator[Job]:
    rng = np.random.default_rng(0)
    scores, labels = rng.random(n), rng.integers(0, N_CLASSES, n)
    weight = rng.uniform(0.2, 5.0, N_CLASSES)
    size = {"n": n, "K": N_CLASSES}
    ours = partial(
        dfu.conformal_thresholds, scores, labels, alpha=ALPHA, n_classes=N_CLASSES
    )
    yield Job(
        name="thresholds, label-shift",
        size=size,
        ours=partial(ours, method="label-shift", label_weight=weight),
        peers={
            "NumPy": lambda: by_hand.label_shift_thresholds(
                scores, labels, weight, ALPHA
            )
        },
        reads=scores.nbytes + labels.nbytes,
        targets=(Target("NumPy", ratio=3.0),) if n == SIZES[-1] else (),
    )
    yield Job(
        name="thresholds, label-conditional",
        size=size,
        ours=partial(ours, method="label-conditional"),
        peers={
            "NumPy": lambda: by_hand.label_conditional_thresholds(
                scores, labels, N_CLASSES, ALPHA
            )
        },
        reads=scores.nbytes + labels.nbytes,
    )
    yield Job(
        name="thresholds, exchangeable",
        size=size,
        ours=ours,
        peers={
            "NumPy": lambda: np.full(
                N_CLASSES, by_hand.conformal_threshold(scores, ALPHA)
            )
        },
        reads=scores.nbytes,
    )
