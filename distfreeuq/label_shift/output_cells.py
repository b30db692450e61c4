"""Rows counted in cells of the classifier's output: predicted class by confidence.

Within each predicted class, rows fall into four cells between the quartiles of the
confidence of both samples together. Labels have no part in it, and the limits of the
edges are the same whichever rows they are from, so that in the limit cells count as
fixed in advance. Predicted classes with few rows share their cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, integers, masses
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows
from distfreeuq._numerics.row_sums import count_pairs

N_LEVELS = 4
"""Cells of a predicted class, by confidence."""

# Rows of both samples in a cell, on average; a predicted class with fewer than enough
# for all levels shares its cells with others.
_ROWS_IN_CELL = 20

# Of more rows, every few-th is looked at for the edges.
_ROWS_FOR_EDGES = 20_000

# With more classes that have rows, nothing is counted: tables by class grow too large.
MOST_CLASSES = 200


@register("output-cells")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OutputCells:
    """Counts of both samples.

    Attributes
    ----------
    source : ndarray (D, J)
        Source rows by cell and class, of the J classes that have source rows.
    target : ndarray (D,)
        Target rows by cell.
    group : ndarray (D,)
        Which cells belong to one predicted class, or to several that share them.
    rank : ndarray (D,)
        How high the confidence is among the cells of the group, in (0, 1).
    """

    source: IntMatrix
    target: IntArray
    group: IntArray
    rank: FloatArray

    _state: ClassVar[State] = {
        "source": integers("D", "J"),
        "target": integers("D"),
        "group": integers("D", below="D"),
        "rank": masses("D"),
    }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<OutputCells D={self.target.size} J={self.source.shape[1]}>"


def count_cells(
    source: AnyRows,
    target: AnyRows,
    predicted: tuple[IntArray, IntArray] | None = None,
) -> OutputCells | None:
    """Return the counts; None where too many classes have rows.

    Parameters
    ----------
    source, target : rows in memory or in blocks
        The source's with labels.
    predicted : (ndarray (n,), ndarray (m,)), optional
        The most likely classes of rows in memory, if they are known.
    """
    present = source.label_weight > 0
    if present.sum() > MOST_CLASSES:
        return None
    said = (None, None) if predicted is None else predicted
    samples = [
        rows.parts.then(_Outputs(own))
        for rows, own in zip((source, target), said, strict=True)
    ]
    count = _CountPredictions(source.n_classes)
    rows = samples[0].total(count) + samples[1].total(count)
    group_of, n_groups = _groups(rows)
    of_group = np.asarray(np.bincount(group_of, weights=rows * 1.0), dtype=np.float64)
    every = _Every(1 + (source.n + target.n) // _ROWS_FOR_EDGES, group_of)
    some = [_in_order(one.total(every, _join)) for one in samples]
    groups, sure = (np.concatenate(own) for own in zip(*some, strict=True))
    edges = _edges(of_group, groups, sure) + _noise(source.rounding, target.rounding)
    place = np.where(present, np.cumsum(present) - 1, 0)
    cells = group_of, edges, n_groups * N_LEVELS
    counted = samples[0].total(_CountCells(*cells, place, int(present.sum())))
    counted_target = samples[1].total(_CountCells(*cells, place, 0))
    return _without_empty(counted, counted_target[:, 0])


class _Said(NamedTuple):
    """Predicted classes of some rows, how sure they are, labels, the first's number."""

    predicted: IntArray
    sure: FloatArray
    labels: IntArray
    start: int


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Takes from rows what is counted: predicted classes are known perhaps."""

    predicted: IntArray | None

    def __call__(self, rows: ClassRows) -> _Said:
        said = self.predicted
        if said is None:
            said = np.argmax(rows.probs, axis=1)
        return _Said(said, _own(rows.probs, said), rows.labels, rows.start)


@dataclass(frozen=True, slots=True)
class _CountPredictions:
    """Counts some rows by predicted class, (K,)."""

    n_classes: int

    def __call__(self, rows: _Said) -> IntArray:
        return np.bincount(rows.predicted, minlength=self.n_classes)


@dataclass(frozen=True, slots=True)
class _Every:
    """Takes the group and confidence of every step-th row of all."""

    step: int
    group_of: IntArray

    def __call__(self, rows: _Said) -> list[tuple[int, IntArray, FloatArray]]:
        own = slice(-rows.start % self.step, None, self.step)
        return [(rows.start, self.group_of[rows.predicted[own]], rows.sure[own].copy())]


def _join(found: Sequence[list[Any]]) -> list[Any]:
    return list(chain.from_iterable(found))


def _in_order(
    pieces: list[tuple[int, IntArray, FloatArray]],
) -> tuple[IntArray, FloatArray]:
    """Return the rows of all pieces in the order of the first ones' numbers."""
    pieces.sort(key=lambda piece: piece[0])
    _, groups, sure = zip(*pieces, strict=True)
    return np.concatenate(groups), np.concatenate(sure)


@dataclass(frozen=True, slots=True)
class _CountCells:
    """Counts some rows by cell and label, (D, J); (D, 1) where labels do not count."""

    group_of: IntArray
    edges: FloatMatrix
    n_cells: int
    place: IntArray
    n_labels: int

    def __call__(self, rows: _Said) -> IntMatrix:
        cells = _cells(self.group_of[rows.predicted], rows.sure, self.edges)
        if not self.n_labels:
            return np.bincount(cells, minlength=self.n_cells)[:, None]
        labels = self.place[rows.labels]
        counts = count_pairs(cells, labels, self.n_cells, self.n_labels)
        return counts.astype(np.int64)


def _without_empty(source: IntMatrix, target: IntArray) -> OutputCells:
    """Return the counts of cells that some row is in."""
    kept = np.flatnonzero(source.sum(axis=1) + target > 0)
    old = kept // N_LEVELS
    first = np.r_[True, old[1:] != old[:-1]]
    group = np.cumsum(first) - 1
    size = np.bincount(group)
    number = np.arange(kept.size) - np.flatnonzero(first)[group]
    return OutputCells(
        read_only(source[kept]),
        read_only(target[kept]),
        read_only(group),
        read_only((number + 0.5) / size[group]),
    )


def _groups(rows: IntArray) -> tuple[IntArray, int]:
    """Return the group (K,) of each predicted class, and how many groups there are."""
    alone = rows >= N_LEVELS * _ROWS_IN_CELL
    group: IntArray = np.where(alone, np.cumsum(alone) - 1, int(alone.sum()))
    return group, int(group.max()) + 1


def _own(probs: FloatMatrix, predicted: IntArray) -> FloatArray:
    """Return the probability of the predicted class."""
    own: FloatArray = probs[np.arange(predicted.size), predicted].astype(np.float64)
    return own


def _noise(*rounding: float) -> float:
    """Return by how much equal confidences may differ through rounding.

    An edge often is the confidence of many rows. They stay together above it by this
    much, or their last bits, which differ between machines, would part them.
    """
    return 8.0 * max(rounding)


def _edges(rows: FloatArray, groups: IntArray, sure: FloatArray) -> FloatMatrix:
    """Return upper ends (G, levels - 1) of the cells but the last; +inf for none."""
    edges = np.full((rows.size, N_LEVELS - 1), np.inf)
    for g in range(rows.size):
        levels = int(min(N_LEVELS, rows[g] // _ROWS_IN_CELL))
        own = sure[groups == g]
        if levels > 1 and own.size:
            at = np.quantile(own, np.arange(1, levels) / levels)
            edges[g, : levels - 1] = at
    return edges


def _cells(groups: IntArray, sure: FloatArray, edges: FloatMatrix) -> IntArray:
    """Return the cell of each row."""
    above: list[BoolArray] = [sure > edges[groups, i] for i in range(edges.shape[1])]
    return np.asarray(groups * N_LEVELS + np.sum(above, axis=0), dtype=np.int64)
