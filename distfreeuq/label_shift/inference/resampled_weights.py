"""Resampled weights: both samples drawn anew, with replacement, and fitted again.

Hard predictions are counts, and a resample of counts is multinomial. Soft predictions
and MLLS resample rows: how often each row was drawn is its weight in the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.parallel import in_order
from distfreeuq.label_shift.confusion import (
    Confusion,
    normalise,
    soft_confusion,
    solve_many,
)
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.regularized_solution import weights_of

Refit: TypeAlias = Callable[
    [Samples, FloatArray, FloatArray], tuple[FloatArray | None, FloatArray]
]
"""Takes the samples and how often each of their rows was drawn; returns the weights as
solved, or None, and the source prior."""

_BATCH = 1 << 22
"""Counts drawn at a time."""


def resample_counts(
    confusion: Confusion,
    regularization: float | None,
    n_boot: int,
    generator: np.random.Generator,
    progress: bool,
) -> FloatMatrix:
    """Return weights (B, K) of multinomial resamples; NaN where they are unsolvable."""
    n_classes = confusion.target.size
    out = np.full((n_boot, n_classes), np.nan)
    joint_law = confusion.joint.ravel() / confusion.n
    target_law = confusion.target / confusion.m
    size = max(1, _BATCH // n_classes**2)
    for start in _shown(range(0, n_boot, size), progress):
        rows = range(start, min(start + size, n_boot))
        joints = generator.multinomial(confusion.n, joint_law, size=len(rows))
        targets = generator.multinomial(confusion.m, target_law, size=len(rows))
        squares = joints.reshape(-1, n_classes, n_classes)
        if regularization is None:
            raws = solve_many(squares / confusion.n, targets / confusion.m)
        else:
            raws = np.array(
                [
                    weights_of(
                        Confusion(square, target, confusion.n, confusion.m, False),
                        regularization,
                    )
                    for square, target in zip(squares * 1.0, targets * 1.0, strict=True)
                ]
            )
        for i, raw, square in zip(rows, raws, squares, strict=True):
            if not np.isnan(raw).any():
                out[i] = normalise(raw, square.sum(axis=0) / confusion.n)
    return out


def resample_rows(
    samples: Samples,
    refit: Refit,
    n_boot: int,
    generator: np.random.Generator,
    n_jobs: int,
    progress: bool,
) -> FloatMatrix:
    """Return weights (B, K) of resampled rows; NaN where they are unsolvable.

    Each resample has a generator of its own, so that the number of processes changes
    nothing.
    """
    out = np.full((n_boot, samples.probs.shape[1]), np.nan)
    resample = partial(_one_resample, samples, refit)
    replicates = in_order(resample, generator.spawn(n_boot), n_jobs)
    for i, (raw, prior) in enumerate(_shown(replicates, progress, n_boot)):
        if raw is not None:
            out[i] = normalise(raw, prior / prior.sum())
    return out


def soft_weights(
    samples: Samples,
    source: FloatArray,
    target: FloatArray,
    regularization: float | None,
) -> tuple[FloatArray | None, FloatArray]:
    """Return weights of resampled rows, and their label frequencies."""
    confusion = soft_confusion(
        samples.probs, samples.labels, samples.probs_target, (source, target)
    )
    prior = confusion.matrix.sum(axis=0)
    return weights_of(confusion, regularization), prior


def _one_resample(
    samples: Samples,
    refit: Refit,
    generator: np.random.Generator,
) -> tuple[FloatArray | None, FloatArray]:
    drawn = [
        np.bincount(generator.integers(0, rows, rows), minlength=rows).astype(
            np.float64
        )
        for rows in (samples.probs.shape[0], samples.probs_target.shape[0])
    ]
    return refit(samples, *drawn)


def _shown(items: Iterable[Any], progress: bool, total: int | None = None) -> Any:
    from tqdm import tqdm

    return tqdm(items, total=total, disable=not progress, desc="bootstrap")
