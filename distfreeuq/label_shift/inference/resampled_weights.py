"""The bootstrap: both samples drawn anew, with replacement, and fitted again.

Hard predictions are counts, and a resample of counts is multinomial. Soft predictions
and MLLS resample rows: how often each row was drawn is its weight in the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.progress import progress_bar
from distfreeuq._numerics.parallel import in_order
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion, soft_confusion
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.likelihood_solution import solve_likelihood
from distfreeuq.label_shift.linear_solution import normalize, solve, solve_many
from distfreeuq.label_shift.regularized_solution import regularized_weights
from distfreeuq.label_shift.scalings import Scaling

Refit: TypeAlias = Callable[
    [Samples, FloatArray, FloatArray], tuple[FloatArray | None, FloatArray]
]
"""Takes the samples and how often each of their rows was drawn; returns the weights as
solved, or None, and the source prior."""

# So many counts are drawn at a time.
_BATCH = 1 << 22


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
    if isinstance(confusion.joint, ClassMatrix):
        if regularization is not None:  # without, none of them is regular
            few, taking_part = confusion.of_those_that_occur()
            weights = resample_counts(few, regularization, n_boot, generator, progress)
            out[:, taking_part.classes] = weights
        return out
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
                    regularized_weights(
                        Confusion(square, target, confusion.n, confusion.m, False),
                        regularization,
                    )
                    for square, target in zip(squares * 1.0, targets * 1.0, strict=True)
                ]
            )
        for i, raw, square in zip(rows, raws, squares, strict=True):
            if not np.isnan(raw).any():
                out[i] = normalize(raw, square.sum(axis=0) / confusion.n)
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
            out[i] = normalize(raw, prior / prior.sum())
    return out


def refit_soft(
    samples: Samples,
    source: FloatArray,
    target: FloatArray,
    *,
    regularization: float | None,
) -> tuple[FloatArray | None, FloatArray]:
    """Return soft BBSE's or RLLS's weights, and the label frequencies."""
    confusion = soft_confusion(samples.counted((source, target)))
    prior = confusion.joint.sum(axis=0) / confusion.n
    if regularization is None:
        return solve(confusion), prior
    return regularized_weights(confusion, regularization), prior


def refit_likelihood(
    samples: Samples,
    source: FloatArray,
    target: FloatArray,
    *,
    calibration: Scaling | None,
    prior_from: str,
) -> tuple[FloatArray, FloatArray]:
    """Return MLLS's weights and source prior.

    A calibration is fitted again, from the given one on.
    """
    if calibration is not None:
        calibration = calibration.fitted_again(samples.probs, samples.labels, source)
    counted = samples.counted((source, target))
    solution = solve_likelihood(counted, calibration, prior_from)
    return solution.weight, solution.source_prior


def percentile_intervals(replicates: FloatMatrix, alpha: float) -> FloatMatrix:
    """Return the central 1 - alpha of resampled weights, shape (K, 2).

    Parameters
    ----------
    replicates : ndarray (B, K)
        A row of NaN is a resample without a solution. It could lie anywhere, so it
        counts as zero for the lower end and as infinite for the upper one.
    alpha : float
    """
    unsolved = np.isnan(replicates)
    low = np.where(unsolved, 0.0, replicates)
    high = np.where(unsolved, np.inf, replicates)
    # order statistics, not averages of two: an infinite one must not make a NaN
    return np.column_stack(
        [
            np.quantile(low, alpha / 2.0, axis=0, method="lower"),
            np.quantile(high, 1.0 - alpha / 2.0, axis=0, method="higher"),
        ]
    )


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
    return progress_bar(items, total=total, shown=progress, desc="bootstrap")
