"""Rows by bin: how many of each label, what weight, which mean probabilities.

Bins are numbered from 0; -1 is none, for rows that lie on a boundary.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq._kernels import _bins
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import BIN_ROWS, add_up
from distfreeuq._numerics.sample_weights import divide


def count_labels(
    bins: IntArray, labels: IntArray, n_bins: int, n_labels: int
) -> IntMatrix:
    """Return the rows by bin and label, shape (n_bins, n_labels)."""
    out = np.zeros((n_bins, n_labels), dtype=np.int64)
    _bins._count_labels(bins, labels, out)
    return out


def sum_weights(
    bins: IntArray, labels: IntArray, weights: FloatArray, n_bins: int, n_labels: int
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the sums of weights and of their squares, each (n_bins, n_labels)."""
    sums, squares = np.zeros((n_bins, n_labels)), np.zeros((n_bins, n_labels))
    _bins._sum_label_weights(bins, labels, weights, sums)
    _bins._sum_label_weights(bins, labels, weights**2, squares)
    return sums, squares


WEIGHT_STEPS = 32
"""Steps from 0 to the largest weight in `spread_weights`."""


def spread_weights(
    bins: IntArray, events: IntArray, weights: FloatArray, n_bins: int
) -> tuple[FloatArray, FloatArray]:
    """Return a grid of weights (S,), and the rows at its points (n_bins, 2, S).

    A row between two points counts at both, in shares that keep its weight.

    Parameters
    ----------
    bins : ndarray (n,)
    events : ndarray (n,)
        0 or 1 for each row.
    weights : ndarray (n,)
    n_bins : int
    """
    size = WEIGHT_STEPS + 1
    largest = float(weights.max(initial=0.0))
    below, share = split_between(weights, largest, WEIGHT_STEPS)
    # bin -1 becomes place 0, which is left out
    place = ((bins + 1) * 2 + events) * size + below
    cells = (n_bins + 1) * 2 * size
    rows = np.zeros(cells)
    rows += np.bincount(place, 1.0 - share, cells)
    rows += np.bincount(place + 1, share, cells)
    points = np.linspace(0.0, largest, size)
    return points, rows.reshape(n_bins + 1, 2, size)[1:]


def split_between(
    numbers: FloatArray, largest: float, steps: int
) -> tuple[IntArray, FloatArray]:
    """Return the point below each number on a grid from 0, and the share of the next.

    A number between two points is as much of both as leaves their mean at it.

    Parameters
    ----------
    numbers : ndarray (n,)
        From 0 to `largest`.
    largest : float
        The last point; the others are its multiples by k / steps.
    steps : int
    """
    place = numbers * (steps / largest) if largest > 0.0 else np.zeros(numbers.shape)
    below = np.minimum(place.astype(np.int64), steps - 1)
    return below, np.clip(place - below, 0.0, 1.0)


def mean_scores(
    scores: FloatArray, bins: IntArray, weights: FloatArray, n_bins: int
) -> FloatArray:
    """Return the weighted mean score of each bin, NaN in empty ones, (n_bins,)."""
    # bin -1 becomes place 0, which is left out
    totals = np.bincount(bins + 1, weights=scores * weights, minlength=n_bins + 1)[1:]
    mass = np.bincount(bins + 1, weights=weights, minlength=n_bins + 1)[1:]
    return divide(totals, mass)


def mean_rows(
    probs: FloatMatrix, bins: IntArray, weights: FloatArray | None, n_bins: int
) -> FloatMatrix:
    """Return the (weighted) mean row of each bin, NaN in empty ones, (n_bins, K)."""
    mass = np.bincount(bins + 1, weights=weights, minlength=n_bins + 1)[1:]
    return divide(sum_rows(probs, bins, weights, n_bins), mass[:, None])


def sum_rows(
    probs: FloatMatrix, bins: IntArray, weights: FloatArray | None, n_bins: int
) -> FloatMatrix:
    """Return the (weighted) sum of the rows of each bin, (n_bins, K)."""
    n, n_classes = probs.shape
    row_weight = np.ones(n) if weights is None else weights
    totals = np.zeros((BIN_ROWS.count(n), n_bins, n_classes))
    _bins._sum_cells(probs, bins, row_weight, totals, threads_for(probs.size))
    return add_up(totals)
