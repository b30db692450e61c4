"""Sums over the rows of probability matrices: what the estimators ask of the kernels.

Every sum is over a fixed number of blocks of rows, whatever the number of threads, so
that results do not depend on it. `row_weight` says how often each row counts, once if
it is None: the bootstrap's way to resample.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from distfreeuq._base.arguments import UncheckedProbs
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._kernels import _gram, _mixture
from distfreeuq._kernels.threads import threads_for

_MAX_BLOCKS = 64
_SMALL_BLOCK = 256
_MAX_ENTRIES = 1 << 21
"""Of all partial sums together: 16 MiB."""

_EVERY_ROW_ONCE = np.empty(0)
_ONE_GROUP = np.empty(0, dtype=np.int64)


def partial_sums(n_rows: int, *shape: int) -> npt.NDArray[np.float64]:
    """Return zeros, one array of this shape for each block of rows."""
    room = _MAX_ENTRIES // math.prod(shape)
    n_blocks = max(1, min(_MAX_BLOCKS, n_rows // _SMALL_BLOCK, room))
    return np.zeros((n_blocks, *shape))


def add_up(partial: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sum over the blocks, in their order."""
    return np.asarray(partial[0] if len(partial) == 1 else partial.sum(axis=0))


def check_and_predict(probs: UncheckedProbs) -> IntArray:
    """Return the most likely class of each row (n,), the first one if several tie.

    Rows are checked in the same read.
    """
    matrix = probs.matrix
    out = np.empty(matrix.shape[0], dtype=np.int64)
    threads = threads_for(matrix.size)
    probs.raise_if_invalid(
        _mixture._predict_rows(matrix, probs.tolerance, out, threads)
    )
    return out


def count_pairs(rows: IntArray, columns: IntArray, n_classes: int) -> IntMatrix:
    """Return how often each pair of classes occurs, shape (K, K)."""
    cells = np.bincount(rows * n_classes + columns, minlength=n_classes * n_classes)
    return cells.reshape(n_classes, n_classes)


def class_sums(
    probs: FloatMatrix, labels: IntArray, row_weight: FloatArray | None
) -> FloatMatrix:
    """Return the weighted sum of each class's rows, shape (K, K), columns by class."""
    return np.ascontiguousarray(
        _group_sums(probs, labels, row_weight, probs.shape[1]).T
    )


def column_sums(probs: FloatMatrix, row_weight: FloatArray | None) -> FloatArray:
    """Return sum_i row_weight_i probs_i, shape (K,)."""
    return np.asarray(_group_sums(probs, _ONE_GROUP, row_weight, 1)[0])


def _group_sums(
    probs: FloatMatrix, groups: IntArray, row_weight: FloatArray | None, n_groups: int
) -> FloatMatrix:
    n, n_classes = probs.shape
    partial = partial_sums(n, n_groups, n_classes)
    weight = _EVERY_ROW_ONCE if row_weight is None else row_weight
    _mixture._sum_by_class(probs, groups, weight, partial, threads_for(probs.size))
    return add_up(partial)


def mixture_sums(
    probs: FloatMatrix, row_weight: FloatArray | None, class_weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the rows' densities d = probs @ class_weight, and sums (K + 2,).

    The sums of row_weight * probs / d, of row_weight * log(d), and of the weight of the
    rows with d = 0, which the others leave out. Without weights every row counts once.
    """
    n, n_classes = probs.shape
    density, partial = np.empty(n), partial_sums(n, n_classes + 2)
    _mixture._mixture_likelihood(
        probs,
        _EVERY_ROW_ONCE if row_weight is None else row_weight,
        class_weight,
        density,
        partial,
        threads_for(probs.size),
    )
    return density, add_up(partial)


def gram(
    probs: FloatMatrix, row_scale: FloatArray | None = None, *, single: bool = False
) -> FloatMatrix:
    """Return sum_i row_scale_i^2 probs_i probs_i', shape (K, K).

    `single` multiplies in single precision: twice as fast, six digits.
    """
    n, n_classes = probs.shape
    partial = partial_sums(n, n_classes, n_classes)
    scale = _EVERY_ROW_ONCE if row_scale is None else row_scale
    _gram._gram_rows(probs, scale, single, partial, threads_for(probs.size))
    return add_up(partial)
