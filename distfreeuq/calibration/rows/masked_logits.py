"""Logits of classes that are masked: minus infinity, and probability zero.

Temperatures are positive, so a masked class stays at zero whatever they are, and a row
is one of the classes that are left. The kernels read finite numbers: -inf is replaced,
in a copy, by a number so far below all that are taken that its exponential is nothing
at every temperature that is tried, even 2e30, and whose square is a number. All that is
said of the logits' range is said of the others.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._numerics.blocks import count_blocks

_STAND_IN = -1e36
"""In place of -inf: its multiples by all inverse temperatures are below -5e4."""
_LOWEST = -1e35
"""Logits are of at most 1e30 in absolute value: what is below stands for -inf."""
_NOTHING = 1e-215
"""The kernels' exponentials end at 2^-1021, so that masked classes may leave sums of
this size, where all that is added beside them is zero."""


def without_infinities(matrix: FloatMatrix) -> FloatMatrix:
    """Return logits with numbers in place of -inf: a copy, if there are any."""
    if matrix.min(initial=0.0) > -np.inf:
        return matrix
    return np.where(np.isneginf(matrix), matrix.dtype.type(_STAND_IN), matrix)


def with_infinities(logits: FloatMatrix) -> FloatMatrix:
    """Return logits as they were before: what is a user's own sees -inf."""
    if logits.min(initial=0.0) >= _LOWEST:
        return logits
    return np.where(is_masked(logits), logits.dtype.type(-np.inf), logits)


def is_masked(logits: FloatMatrix) -> BoolArray:
    """Return which entries stand for -inf."""
    return np.asarray(logits < _LOWEST)


def spans_masked(widest: float) -> bool:
    """Return whether rows have masked classes, from the widest range of a row."""
    return widest > -_LOWEST


def set_masked(probs: FloatMatrix, logits: FloatMatrix, widest: float) -> FloatMatrix:
    """Return these probabilities, those of masked classes set to zero in place."""
    if spans_masked(widest):
        probs[is_masked(logits)] = 0.0
    return probs


def set_nothing(sums: FloatMatrix) -> FloatMatrix:
    """Return sums over rows, those that masked classes alone can have left set to 0."""
    sums[np.abs(sums) < _NOTHING] = 0.0
    return sums


def ranges(logits: FloatMatrix) -> FloatArray:
    """Return max - min of each row's logits that are not masked."""
    floats = logits.astype(np.float64)
    least = np.where(is_masked(logits), np.inf, floats).min(axis=1, initial=np.inf)
    return np.asarray(floats.max(axis=1, initial=-np.inf) - least)


def describe_masked(logits: FloatMatrix) -> tuple[float, float]:
    """Return the widest range of the classes that are not masked, and the longest norm.

    The latter is the largest Euclidean distance of a row from its mean.
    """
    widest = longest = 0.0
    for part in np.array_split(logits, count_blocks(logits)):
        if not len(part):
            continue
        widest = max(widest, float(ranges(part).max()))
        there = ~is_masked(part)
        floats = np.where(there, part, 0.0).astype(np.float64)
        mean = floats.sum(axis=1) / there.sum(axis=1)
        away = np.where(there, floats - mean[:, None], 0.0)
        longest = max(longest, float(np.square(away).sum(axis=1).max()))
    return widest, float(np.sqrt(longest))


def check_labels_of_masked(
    args: Arguments,
    logits: FloatMatrix,
    labels: IntArray,
    classes: Classes,
    parameter: str = "labels",
) -> None:
    """Refuse rows whose label is masked: their loss is infinite whatever is fitted."""
    bad = is_masked(logits[np.arange(labels.size), labels])
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        must = "classes whose logits are not -inf (they have probability zero)"
        args.invalid(parameter, must, f"{classes[labels[row]]!r} at row {row}")
