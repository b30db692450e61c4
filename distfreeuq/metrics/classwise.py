"""Class-wise calibration error: every class's probability against its frequency."""

from __future__ import annotations

import numpy as np

from distfreeuq._kernels import _binning, _metrics
from distfreeuq._typing import FloatArray, FloatMatrix, IntArray
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
        return _by_column(probs, labels, weights, n_bins)
    edges = choose_bins(probs[:0, 0], weights, n_bins, how).edges_as(probs.dtype)
    sums = class_sums(probs, labels, weights, edges)
    return np.asarray(np.abs(sums[1] - sums[2]).sum(axis=0) / weights.sum())


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


def _by_column(
    probs: FloatMatrix, labels: IntArray, weights: FloatArray, n_bins: int
) -> FloatArray:
    """Return the errors with bins of equal mass, which every class has of its own."""
    out = np.empty(probs.shape[1])
    bins = np.empty(probs.shape[0], dtype=np.int64)
    threads = threads_for(bins.size)
    for k in range(out.size):
        column = np.ascontiguousarray(probs[:, k])
        partition = choose_bins(column, weights, n_bins, "uniform-mass")
        edges = partition.edges_as(column.dtype)
        _binning._assign_bins(column, edges, True, bins, threads)
        gaps = np.bincount(
            bins, weights=weights * (column.astype(np.float64) - (labels == k))
        )
        out[k] = np.abs(gaps).sum() / weights.sum()
    return out
