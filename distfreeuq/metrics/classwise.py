"""Class-wise calibration error: every class's probability against its frequency."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distfreeuq._kernels import _metrics
from distfreeuq._typing import FloatArray, FloatMatrix, IndexArray, IntArray
from distfreeuq.metrics.bins import choose_bins
from distfreeuq.threads import threads_for

_ROWS_PER_BLOCK = 1 << 14
_MOST_BLOCKS = 16
_BLOCK_ENTRIES = 1 << 20
"""More sums than this in all blocks would cost more than they save."""


def class_errors(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    n_bins: int,
    how: str,
) -> FloatArray:
    """Return the L1 error of every class's own probability, shape (K,)."""
    if how == "uniform-mass":
        gaps = np.array(
            [
                np.abs(np.bincount(bins, weights=weights * gap)).sum()
                for bins, gap in _columns(probs, labels, weights, n_bins)
            ]
        )
    else:
        sums = class_sums(probs, labels, weights, class_edges(probs, n_bins, how))
        gaps = np.abs(sums[1] - sums[2]).sum(axis=0)
    return np.asarray(gaps / weights.sum())


def class_edges(probs: FloatMatrix, n_bins: int, how: str) -> FloatArray:
    """Return the edges that all classes share, as the kernels take them."""
    return choose_bins(probs[:0, 0], np.ones(0), n_bins, how).edges_as(probs.dtype)


def class_gaps(
    probs: FloatMatrix, labels: IntArray, weights: FloatArray, n_bins: int
) -> tuple[IndexArray, FloatMatrix]:
    """Return bin and gap, probability less hit, of all entries, each (n, K).

    For bins of equal mass, where no class has most of its entries in one bin.
    """
    bins, gaps = np.empty(probs.shape, dtype=np.int32), np.empty(probs.shape)
    columns = _columns(probs, labels, weights, n_bins)
    for k, column in enumerate(columns):
        bins[:, k], gaps[:, k] = column
    return bins, gaps


def class_sums(
    probs: FloatMatrix, labels: IntArray, weights: FloatArray, edges: FloatArray
) -> FloatMatrix:
    """Return sums (3, M, K) of weight, weight x probability and weight x label."""
    n, n_classes = probs.shape
    size = 3 * (edges.size + 1) * n_classes
    most = min(_MOST_BLOCKS, max(1, _BLOCK_ENTRIES // size))
    n_blocks = max(1, min(most, n // _ROWS_PER_BLOCK))
    blocks = np.zeros((n_blocks, 3, edges.size + 1, n_classes))
    _metrics._sum_class_bins(
        probs, labels, weights, edges, blocks, threads_for(probs.size)
    )
    sums: FloatMatrix = blocks.sum(axis=0)
    sums[0, 0] = weights.sum() - sums[0, 1:].sum(axis=0)
    return sums


def _columns(
    probs: FloatMatrix, labels: IntArray, weights: FloatArray, n_bins: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield bins and gaps of every class; bins of equal mass are each one's own."""
    for k in range(probs.shape[1]):
        column = np.ascontiguousarray(probs[:, k])
        bins = choose_bins(column, weights, n_bins, "uniform-mass").assign(column)
        yield bins, column.astype(np.float64) - (labels == k)
