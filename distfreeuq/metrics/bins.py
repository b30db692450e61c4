"""Bins of a probability, and sums in them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import is_single
from distfreeuq._kernels import _row_stats
from distfreeuq._numerics.quantiles import quantiles_with_atoms
from distfreeuq._numerics.sample_weights import divide
from distfreeuq._numerics.unit_bins import (
    Intervals,
    closed_intervals,
    equal_width,
    given_intervals,
)
from distfreeuq.metrics.data import Rows

SCHEMES = ("equal-width", "uniform-mass")
CLOSED = ("right", "left")
NORMS = ("l1", "l2", "max")

Bins: TypeAlias = str | Intervals
"""How bins are chosen: a scheme, "left" for equal widths closed there, or the bins."""

# Columns of the sums: weight, weight x confidence, weight x hit, weight squared, and
# weight x (confidence - hit) squared.
WEIGHT, CONFIDENCE, HIT, SQUARE, SQUARED_GAP = range(5)


def check_bins(
    args: Arguments, n_bins: Any, scheme: Any, closed: Any
) -> tuple[int, Bins]:
    """Return the number of bins and how they are chosen."""
    count = args.count(n_bins, "n_bins", low=1, high=1_000_000)
    closed = args.choice(closed, "closed", CLOSED)
    if not is_single(scheme):
        must = "increasing edges in [0, 1], or a name"
        bins = given_intervals(args, scheme, must, ends_below=closed == "left")
        return bins.n_bins, bins
    scheme = args.choice(scheme, "scheme", SCHEMES)
    return count, "left" if (scheme, closed) == ("equal-width", "left") else scheme


def choose_bins(
    values: FloatArray, weights: FloatArray, n_bins: int, how: Bins
) -> Intervals:
    """Return the bins of these probabilities.

    Equal widths have the decimal edges m / M. Bins of equal mass end at the weighted
    quantiles of levels m / M, each in the bin that it ends; tied ones are one edge.
    """
    if isinstance(how, Intervals):
        return how
    if how != "uniform-mass":
        closed = equal_width(n_bins)
        return Intervals(closed.edges, np.full(n_bins - 1, how == "left"))
    levels = np.arange(1, n_bins) / n_bins
    edges = quantiles_with_atoms(
        values.astype(np.float64), weights, levels, np.zeros(levels.size)
    )
    return closed_intervals(np.unique(edges[edges < values.max()]))


def sum_in_cells(rows: Rows, cells: IntArray, n_cells: int) -> FloatMatrix:
    """Return the five sums of every cell, shape (n_cells, 5)."""
    out = np.zeros((n_cells, 5))
    _row_stats._sum_bins(cells, rows.confidence, rows.hits, rows.weights, out)
    return out


def sum_by_class(rows: Rows, bins: IntArray, n_bins: int) -> FloatMatrix:
    """Return the sums by predicted class and bin, shape (K, M, 5)."""
    assert rows.predicted is not None
    n_classes = len(rows.classes)
    sums = sum_in_cells(rows, rows.predicted * n_bins + bins, n_classes * n_bins)
    return sums.reshape(n_classes, n_bins, 5)


def sum_by_group(
    rows: Rows, bins: IntArray, n_bins: int, codes: IntArray, n_groups: int
) -> FloatMatrix:
    """Return the sums by group and bin, shape (G, M, 5); `codes` are the groups."""
    sums = sum_in_cells(rows, codes * n_bins + bins, n_groups * n_bins)
    return sums.reshape(n_groups, n_bins, 5)


def mean_gaps(sums: FloatMatrix) -> FloatMatrix:
    """Return each bin's confidence less frequency, 0 if empty; shape (..., M)."""
    gap = sums[..., CONFIDENCE] - sums[..., HIT]
    weight = sums[..., WEIGHT]
    return np.divide(gap, weight, out=np.zeros_like(gap), where=weight > 0.0)


def gap_norm(sums: FloatMatrix, norm: str = "l1") -> FloatArray:
    """Return the norm of the bins' gaps, from sums (..., M, 5); NaN if all empty."""
    total = sums[..., WEIGHT].sum(axis=-1)
    if norm == "l1":
        sizes = np.abs(sums[..., CONFIDENCE] - sums[..., HIT]).sum(axis=-1)
        return divide(sizes, total)
    gaps = np.abs(mean_gaps(sums))
    if norm == "max":
        return np.where(total > 0.0, gaps.max(axis=-1), np.nan)
    return np.sqrt(divide((sums[..., WEIGHT] * gaps**2).sum(axis=-1), total))


def overconfidence(sums: FloatMatrix) -> FloatArray:
    """Return the part of the ECE where confidence exceeds frequency.

    Park, Bastani, Weimer & Lee (2020), section 6.
    """
    gap = sums[..., CONFIDENCE] - sums[..., HIT]
    return divide(np.maximum(gap, 0.0).sum(axis=-1), sums[..., WEIGHT].sum(axis=-1))


def debiased_square(sums: FloatMatrix, method: str = "exact") -> FloatArray:
    """Return the squared L2 error without the bias of squaring a mean.

    A bin of n rows has E (mean gap)^2 = (true gap)^2 + Var(gap) / n; the variance is
    estimated from the gaps, or, as Kumar et al. do, from the hits alone. Bins of one
    row say nothing about it and add nothing.
    """
    n = sums[..., WEIGHT]
    many = n > 1.0
    safe = np.where(many, n, 2.0)
    square = ((sums[..., CONFIDENCE] - sums[..., HIT]) / safe) ** 2
    if method == "exact":
        spread = sums[..., SQUARED_GAP] / safe - square
    else:
        share = sums[..., HIT] / safe
        spread = share * (1.0 - share)
    unbiased = np.where(many, square - spread / (safe - 1.0), 0.0)
    return divide((n * unbiased).sum(axis=-1), n.sum(axis=-1))
