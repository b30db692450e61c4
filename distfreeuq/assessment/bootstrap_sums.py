"""The sums behind all metrics, for many samples of the same rows at once.

Each sum is linear in the rows' weights: A'w, with a few entries of A in every row. So
the matrix of probabilities is taken apart once, and a bootstrap sample, which is no
more than another w, costs a product with A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from distfreeuq._base.array_types import (
    CountMatrix,
    FloatArray,
    FloatMatrix,
    IndexArray,
    IntArray,
)
from distfreeuq._kernels import _bootstrap
from distfreeuq.assessment.measures import Measures, Sums
from distfreeuq.metrics.bins import CONFIDENCE, HIT, SQUARED_GAP, WEIGHT
from distfreeuq.metrics.classwise_errors import class_edges, class_gaps
from distfreeuq.metrics.data import Rows

# Samples that the kernels take at a time.
SAMPLES = _bootstrap._SAMPLES

Totals: TypeAlias = tuple[FloatMatrix, FloatMatrix | None]
"""A'w of the predicted classes (C, 16), and the classes' own absolute gaps (K, 16)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entries:
    """A sparse matrix A (n, C), row by row.

    Attributes
    ----------
    first : ndarray (n + 1,)
        Where each row's entries begin.
    cells : ndarray (E,) of int32
        Column of each entry.
    values : ndarray (E,)
    n_cells : int
        Number of columns C.
    """

    first: IntArray
    cells: IndexArray
    values: FloatArray
    n_cells: int

    def sums(self, weights: FloatArray, counts: CountMatrix) -> FloatMatrix:
        """Return A'w for w = weights * counts[s], shape (C, 16)."""
        out = np.zeros((self.n_cells, SAMPLES))
        _bootstrap._sum_cells_of_samples(
            self.first, self.cells, self.values, weights, counts, out
        )
        return out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearMeasures:
    """A classifier's rows, taken apart.

    Attributes
    ----------
    measures : Measures
    top : Entries
        The predicted class: in every cell and by hit or not the sums of w, w c and
        w (c - z)^2; then the Brier score, the losses, and the rows of infinite loss.
    own : Entries or None
        Every class's own probability: the gaps w (p - z) by bin and class. With bins
        of equal width most probabilities of many are in the first bin: only what the
        others change is here, and the totals are summed by column.
    """

    measures: Measures
    top: Entries
    own: Entries | None

    def totals(self, counts: CountMatrix) -> Totals:
        """Return what 16 samples add up to; row i was drawn counts[s, i] times."""
        rows = self.measures.rows
        top = self.top.sums(rows.weights, counts)
        if rows.probs is None or self.own is None:
            return top, None
        gaps = self.own.sums(rows.weights, counts).reshape(
            -1, len(rows.classes), SAMPLES
        )
        if self.measures.how != "uniform-mass":
            columns = gaps[0]
            _bootstrap._sum_columns_of_samples(
                rows.probs, rows.weights, counts, columns
            )
        return top, np.abs(gaps).sum(axis=0)

    def sums(self, totals: Sequence[Totals]) -> Sums:
        """Return the sums of 16 samples for each of the totals, one after the other.

        Weights squared are not summed: no metric needs them.
        """
        measures, rows = self.measures, self.measures.rows
        found = np.concatenate([top for top, _ in totals], axis=1).T
        shape = (found.shape[0], measures.n_classes, measures.n_bins)
        n_top = 6 * measures.n_classes * measures.n_bins
        miss, hit = np.moveaxis(found[:, :n_top].reshape(*shape, 2, 3), 3, 0)
        by_class = np.full((*shape, 5), np.nan)
        by_class[..., [WEIGHT, CONFIDENCE, SQUARED_GAP]] = miss + hit
        by_class[..., HIT] = hit[..., 0]
        if rows.brier is None:
            return Sums(by_class)
        total = by_class[..., WEIGHT].sum(axis=(1, 2))
        brier, losses, infinite = found[:, n_top:].T
        nll = np.where(infinite > 0.0, np.inf, losses)
        gaps = [own for _, own in totals if own is not None]
        with np.errstate(invalid="ignore"):  # a sample may have no weight at all
            errors = (np.concatenate(gaps, axis=1) / total).T if gaps else None
            return Sums(by_class, errors, brier / total, nll / total)


def take_apart(measures: Measures) -> LinearMeasures:
    """Return the sums of these rows as products with sparse matrices."""
    rows = measures.rows
    own = None
    if rows.probs is not None:
        equal_mass = measures.how == "uniform-mass"
        own = (_all_entries if equal_mass else _beyond_first)(rows, measures)
    return LinearMeasures(measures, _top_entries(measures), own)


def _top_entries(measures: Measures) -> Entries:
    rows, n_cells = measures.rows, measures.n_classes * measures.n_bins
    hits = rows.hits.astype(np.int64)
    c = rows.confidence.astype(np.float64)
    base = 3 * (2 * measures.cells + hits)
    cells = [base, base + 1, base + 2]
    values: list[FloatArray] = [np.ones(rows.n), c, (c - hits) ** 2]
    if rows.brier is not None:
        assert measures.losses is not None
        finite = np.isfinite(measures.losses)
        cells += [np.full(rows.n, 6 * n_cells), 6 * n_cells + np.where(finite, 1, 2)]
        values += [rows.brier, np.where(finite, measures.losses, 1.0)]
    return _by_row(np.column_stack(cells), np.column_stack(values), 6 * n_cells + 3)


def _all_entries(rows: Rows, measures: Measures) -> Entries:
    assert rows.probs is not None and rows.labels is not None
    n_classes = rows.probs.shape[1]
    bins, gaps = class_gaps(rows.probs, rows.labels, rows.weights, measures.n_bins)
    bins *= n_classes
    bins += np.arange(n_classes, dtype=np.int32)
    return _by_row(bins, gaps, measures.n_bins * n_classes)


def _by_row(cells: IntArray | IndexArray, values: FloatMatrix, n_cells: int) -> Entries:
    """Return entries of which every row has equally many, each (n, entries)."""
    n, each = cells.shape
    return Entries(
        np.arange(n + 1, dtype=np.int64) * each,
        np.ascontiguousarray(cells, dtype=np.int32).ravel(),
        np.ascontiguousarray(values).ravel(),
        n_cells,
    )


def _beyond_first(rows: Rows, measures: Measures) -> Entries:
    """Return what probabilities beyond the first bin, and the labels, add and take."""
    assert rows.probs is not None
    assert rows.labels is not None and rows.of_label is not None
    n, n_classes = rows.probs.shape
    edges = class_edges(rows.probs, measures.n_bins, measures.how)
    first_edge = edges[0] if edges.size else np.inf
    i, k = np.nonzero(rows.probs > first_edge)
    p = rows.probs[i, k]
    cells = np.searchsorted(edges, p, side="left") * n_classes + k
    label_bins = np.searchsorted(edges, rows.of_label, side="left")
    wide = p.astype(np.float64)
    row = np.concatenate([i, i, np.arange(n)])
    order = np.argsort(row, kind="stable")
    cell = np.concatenate([cells, k, label_bins * n_classes + rows.labels])
    value = np.concatenate([wide, -wide, np.full(n, -1.0)])
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n), out=first[1:])
    return Entries(
        first,
        np.ascontiguousarray(cell[order], dtype=np.int32),
        value[order],
        measures.n_bins * n_classes,
    )
