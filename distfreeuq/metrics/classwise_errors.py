"""Class-wise calibration error: every class's probability against its frequency."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    FloatArray,
    FloatMatrix,
    IndexArray,
    IntArray,
)
from distfreeuq._kernels import _row_stats
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import CLASS_GAPS, add_up
from distfreeuq.metrics.bins import Bins, choose_bins


def class_errors(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    n_bins: int,
    how: Bins,
) -> FloatArray:
    """Return the L1 error of every class's own probability, shape (K,)."""
    if how == "uniform-mass":
        columns = (np.ascontiguousarray(probs[:, k]) for k in range(probs.shape[1]))
        errors = [
            error_of_equal_mass(column, labels == k, weights, n_bins)
            for k, column in enumerate(columns)
        ]
        return np.array(errors)
    edges = class_edges(probs, n_bins, how)
    return errors_of_sums(class_gap_sums(probs, labels, weights, edges)[0], weights)


def error_of_equal_mass(
    column: FloatArray, hits: BoolArray, weights: FloatArray, n_bins: int
) -> float:
    """Return the error of one class's probability in bins of equal mass."""
    bins, gaps = _bins_and_gaps(column, hits, weights, n_bins)
    sums = np.bincount(bins, weights=weights * gaps)
    return float(np.abs(sums).sum() / weights.sum())


def errors_of_sums(sums: FloatMatrix, weights: FloatArray) -> FloatArray:
    """Return each class's error from the sums of its bins (M, K)."""
    return np.asarray(np.abs(sums).sum(axis=0) / weights.sum())


def class_edges(probs: FloatMatrix, n_bins: int, how: Bins) -> FloatArray:
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


def class_gap_sums(
    probs: FloatMatrix,
    labels: IntArray,
    weights: FloatArray,
    edges: FloatArray,
    tolerance: float = np.inf,
) -> tuple[FloatMatrix, int]:
    """Return sums (M, K) of weight x (probability - label), and the first bad row.

    The second is -1 if all rows are probability vectors within the tolerance.
    """
    shape = (edges.size + 1, probs.shape[1])
    blocks = CLASS_GAPS.zeros(probs.size, *shape)
    threads = min(len(blocks), threads_for(probs.size))
    bad = _row_stats._sum_class_gaps(
        probs, labels, weights, tolerance, edges, blocks, threads
    )
    return add_up(blocks), bad


def _columns(
    probs: FloatMatrix, labels: IntArray, weights: FloatArray, n_bins: int
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield bins and gaps of every class; bins of equal mass are each one's own."""
    for k in range(probs.shape[1]):
        column = np.ascontiguousarray(probs[:, k])
        yield _bins_and_gaps(column, labels == k, weights, n_bins)


def _bins_and_gaps(
    column: FloatArray, hits: BoolArray, weights: FloatArray, n_bins: int
) -> tuple[IntArray, FloatArray]:
    bins = choose_bins(column, weights, n_bins, "uniform-mass").assign(column)
    return bins, column.astype(np.float64) - hits
