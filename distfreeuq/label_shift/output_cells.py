"""Rows counted in cells of the classifier's output: predicted class by confidence.

Within each predicted class, rows fall into four cells between the quartiles of the
confidence of both samples together. Labels have no part in it, and the limits of the
edges are the same whichever rows they are from, so that in the limit cells count as
fixed in advance. Predicted classes with few rows share their cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
    probs: FloatMatrix,
    labels: IntArray,
    probs_target: FloatMatrix,
    predicted: tuple[IntArray, IntArray] | None = None,
) -> OutputCells | None:
    """Return the counts; None where too many classes have rows.

    Parameters
    ----------
    probs, labels, probs_target
        As in `Samples`.
    predicted : (ndarray (n,), ndarray (m,)), optional
        The most likely classes of both samples, if they are known.
    """
    n_classes = probs.shape[1]
    of_class = np.bincount(labels, minlength=n_classes)
    present = of_class > 0
    if present.sum() > MOST_CLASSES:
        return None
    if predicted is None:
        predicted = np.argmax(probs, axis=1), np.argmax(probs_target, axis=1)
    said, said_target = predicted
    rows = np.bincount(said, minlength=n_classes)
    rows += np.bincount(said_target, minlength=n_classes)
    group_of, n_groups = _groups(rows)
    groups = group_of[said], group_of[said_target]
    sure = _own(probs, said), _own(probs_target, said_target)
    of_group = np.asarray(np.bincount(group_of, weights=rows * 1.0), dtype=np.float64)
    edges = _edges(of_group, groups, sure) + _noise(probs, probs_target)
    cell, cell_target = (_cells(*x, edges) for x in zip(groups, sure, strict=True))
    place = np.cumsum(present) - 1
    counted = count_pairs(
        cell, place[labels], n_groups * N_LEVELS, int(present.sum())
    ).astype(np.int64)
    target = np.bincount(cell_target, minlength=n_groups * N_LEVELS)
    return _without_empty(counted, target)


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


def _noise(*probs: FloatMatrix) -> float:
    """Return by how much equal confidences may differ through rounding.

    An edge often is the confidence of many rows. They stay together above it by this
    much, or their last bits, which differ between machines, would part them.
    """
    return max(8.0 * float(np.finfo(each.dtype).eps) for each in probs)


def _edges(
    rows: FloatArray,
    groups: tuple[IntArray, IntArray],
    sure: tuple[FloatArray, FloatArray],
) -> FloatMatrix:
    """Return upper ends (G, levels - 1) of the cells but the last; +inf for none."""
    step = 1 + (groups[0].size + groups[1].size) // _ROWS_FOR_EDGES
    some = np.concatenate([x[::step] for x in sure])
    of_group = np.concatenate([x[::step] for x in groups])
    edges = np.full((rows.size, N_LEVELS - 1), np.inf)
    for g in range(rows.size):
        levels = int(min(N_LEVELS, rows[g] // _ROWS_IN_CELL))
        own = some[of_group == g]
        if levels > 1 and own.size:
            at = np.quantile(own, np.arange(1, levels) / levels)
            edges[g, : levels - 1] = at
    return edges


def _cells(groups: IntArray, sure: FloatArray, edges: FloatMatrix) -> IntArray:
    """Return the cell of each row."""
    above: list[BoolArray] = [sure > edges[groups, i] for i in range(edges.shape[1])]
    return np.asarray(groups * N_LEVELS + np.sum(above, axis=0), dtype=np.int64)
