"""Sums over the rows of probability matrices.

`row_weight` says how often each row counts, once if it is None: the bootstrap's way to
resample.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import UncheckedProbs
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._kernels import _mixture
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import ROW_SUMS, add_up

_EVERY_ROW_ONCE = np.empty(0)
_ONE_GROUP = np.empty(0, dtype=np.int64)


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


def count_pairs(
    rows: IntArray, columns: IntArray, n_rows: int, n_columns: int
) -> IntMatrix:
    """Return how often each pair of numbers occurs, shape (n_rows, n_columns)."""
    cells = np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns)
    return cells.reshape(n_rows, n_columns)


def class_sums(
    probs: FloatMatrix,
    labels: IntArray,
    row_weight: FloatArray | None,
    n_labels: int | None = None,
) -> FloatMatrix:
    """Return the weighted sum of each class's rows, shape (K, K), columns by class.

    If labels are numbers of fewer classes than there are columns, `n_labels` of them.
    """
    n_labels = probs.shape[1] if n_labels is None else n_labels
    return np.ascontiguousarray(_group_sums(probs, labels, row_weight, n_labels).T)


def column_sums(probs: FloatMatrix, row_weight: FloatArray | None) -> FloatArray:
    """Return sum_i row_weight_i probs_i, shape (K,)."""
    return np.asarray(_group_sums(probs, _ONE_GROUP, row_weight, 1)[0])


def _group_sums(
    probs: FloatMatrix, groups: IntArray, row_weight: FloatArray | None, n_groups: int
) -> FloatMatrix:
    n, n_classes = probs.shape
    partial = ROW_SUMS.zeros(n, n_groups, n_classes)
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
    density, partial = np.empty(n), ROW_SUMS.zeros(n, n_classes + 2)
    _mixture._mixture_likelihood(
        probs,
        _EVERY_ROW_ONCE if row_weight is None else row_weight,
        class_weight,
        density,
        partial,
        threads_for(probs.size),
    )
    return density, add_up(partial)
