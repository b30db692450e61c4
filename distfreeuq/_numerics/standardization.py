"""Columns on a common scale, whatever the units of the features."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix

# Entries of a block of rows that stays in the cache.
_BLOCK_ENTRIES = 1 << 15


def center_and_scale(x: FloatMatrix) -> tuple[FloatArray, FloatArray]:
    """Return column means (d,) and standard deviations (d,), 1 for constant columns.

    A column whose spread is rounding error of its level counts as constant.
    """
    n, d = x.shape
    center = x.mean(axis=0, dtype=np.float64)
    squares, level = np.zeros(d), np.zeros(d)
    step = max(1, _BLOCK_ENTRIES // max(d, 1))
    for start in range(0, n, step):
        block = x[start : start + step]
        away = block - center
        squares += np.einsum("ij,ij->j", away, away)
        level = np.maximum(level, np.maximum(block.max(axis=0), -block.min(axis=0)))
    scale = np.sqrt(squares / n)
    rounding = 16.0 * float(np.finfo(x.dtype).eps) * level
    return center, np.where(scale > rounding, scale, 1.0)


def unchanged(n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return the centre and scale that leave rows as they are."""
    return np.zeros(n_columns), np.ones(n_columns)
