"""Recursive balanced splits of the simplex at order statistics of the rows themselves.

A split at an order statistic of one coordinate leaves the rows on either side
independent draws from their parts, given the boundary and the counts; rows on the
boundary belong to neither. So it goes on inside the parts, and the rows of every cell
are i.i.d. from it (statistically equivalent blocks): no data is spent on choosing the
cells but the rows on boundaries. This needs the coordinate of each split to be fixed by
a schedule, or chosen from *other* rows. Chosen from the rows' own spread, the cells'
rows would not be draws from them.

Where many rows share the boundary's coordinate, they are i.i.d. given it: they become a
part of their own, and are split further by the other coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distfreeuq._typing import FloatMatrix, IntArray
from distfreeuq.binning.counting import sum_cells
from distfreeuq.binning.simplex import SimplexCells
from distfreeuq.binning.uniform_mass import (
    makes_a_bin,
    most_bins,
    order_statistics,
)
from distfreeuq.results import read_only


@dataclass(slots=True)
class _Part:
    """A part of the simplex that is still to be split, or a cell if `n_bins` is 1."""

    rows: IntArray
    n_bins: int
    parent: int
    side: int
    fixed: frozenset[int]


def balanced_cells(
    probs: FloatMatrix,
    n_bins: int,
    schedule: Sequence[int],
    others: FloatMatrix | None = None,
) -> tuple[SimplexCells, IntArray]:
    """Return cells with about the same number of rows each, and the rows on boundaries.

    Parameters
    ----------
    probs : ndarray (n, K)
        The calibration rows, whose order statistics are the boundaries.
    n_bins : int
        Cells wanted; fewer if there are too few rows, others where rows tie.
    schedule : sequence of int
        The coordinate of the j-th split, level by level; begun again when it ends.
    others : ndarray (n', K), optional
        Independent rows. A part is then split along the coordinate in which the others
        vary most there, and by the schedule only if they do not vary.
    """
    tree = _Tree()
    boundary: list[int] = []
    n, n_classes = probs.shape
    level = [_Part(np.arange(n), most_bins(n, n_bins), -1, 0, frozenset())]
    where = _Others(others) if others is not None else None
    n_splits = 0
    while level:
        spread = None
        if where is not None and any(part.n_bins > 1 for part in level):
            spread = where.spread(len(level))
        parts: list[_Part] = []
        for i, part in enumerate(level):
            free = [k for k in range(n_classes) if k not in part.fixed]
            # with all but one coordinate fixed, so is the last: they sum to one
            if part.n_bins <= 1 or len(free) < 2:
                continue
            turn = [schedule[(n_splits + j) % len(schedule)] for j in range(n_classes)]
            column = next((k for k in turn if k not in part.fixed), free[0])
            if spread is not None and spread[i, free].max() > 0.0:
                column = free[int(np.argmax(spread[i, free]))]
            n_splits += 1
            parts += _split(tree, part, probs, column, boundary)
        if where is not None:
            where.descend(tree, level, parts)
        level = parts
    return tree.cells(), np.array(boundary, dtype=np.int64)


def _split(
    tree: _Tree, part: _Part, probs: FloatMatrix, column: int, boundary: list[int]
) -> list[_Part]:
    """Split one part at an order statistic; return the two or three parts it leaves."""
    values = probs[part.rows, column]
    n, first_half = part.rows.size, (part.n_bins + 1) // 2
    rank = -(-first_half * (n + 1) // part.n_bins)
    value, shared = order_statistics(values, np.array([rank]))
    t = float(value[0])
    below, above = part.rows[values < t], part.rows[values > t]
    if not makes_a_bin(shared, n, part.n_bins)[0]:
        boundary += part.rows[values == t].tolist()
        node = tree.add(part.parent, part.side, column, t, strict=False)
        second_half = part.n_bins - first_half
        return [
            _Part(below, first_half, node, 0, part.fixed),
            _Part(above, second_half, node, 1, part.fixed),
        ]
    # Three parts: below, at and above. How many cells each gets depends on counts
    # alone.
    at = part.rows[values == t]
    fixed = part.fixed | {column}
    parts, parent, side = [], part.parent, part.side
    if t < 1.0:
        parent = tree.add(parent, side, column, t, strict=False)
        parts.append(_Part(above, _share(above, part), parent, 1, part.fixed))
        side = 0
    if t > 0.0:
        parent = tree.add(parent, side, column, t, strict=True)
        parts.append(_Part(below, _share(below, part), parent, 0, part.fixed))
        side = 1
    parts.append(_Part(at, _share(at, part), parent, side, fixed))
    return parts


def _share(rows: IntArray, whole: _Part) -> int:
    """Return the cells due to some of the rows of a part: at least one."""
    due = round(whole.n_bins * rows.size / max(whole.rows.size, 1))
    return most_bins(rows.size, max(1, due))


class _Tree:
    """Splits as they are made; cells are numbered at the end, from left to right."""

    def __init__(self) -> None:
        self.column: list[int] = []
        self.threshold: list[float] = []
        self.strict: list[bool] = []
        self.child: list[list[int]] = []

    def add(
        self, parent: int, side: int, column: int, threshold: float, *, strict: bool
    ) -> int:
        """Add a split as the child of another, and return its number."""
        node = len(self.column)
        self.column.append(column)
        self.threshold.append(threshold)
        self.strict.append(strict)
        self.child.append([-1, -1])
        if parent >= 0:
            self.child[parent][side] = node
        return node

    def cells(self) -> SimplexCells:
        """Return the finished partition."""
        child = [list(pair) for pair in self.child]
        pending, n_cells = [(0, 0)] if child else [], 0
        while pending:
            node, side = pending.pop()
            if side == 0:
                pending.append((node, 1))
            if child[node][side] >= 0:
                pending.append((child[node][side], 0))
            else:
                n_cells += 1
                child[node][side] = -n_cells
        return SimplexCells(
            column=read_only(np.array(self.column, dtype=np.int64)),
            threshold=read_only(np.array(self.threshold, dtype=np.float64)),
            strict=read_only(np.array(self.strict, dtype=np.bool_)),
            child=read_only(np.array(child, dtype=np.int64).reshape(-1, 2)),
        )


class _Others:
    """Where the other rows are, while the simplex is being split."""

    def __init__(self, probs: FloatMatrix) -> None:
        self.probs = probs
        self.part = np.zeros(probs.shape[0], dtype=np.int64)

    def spread(self, n_parts: int) -> FloatMatrix:
        """Return the variance of each coordinate in each part, shape (parts, K)."""
        counts = np.bincount(self.part[self.part >= 0], minlength=n_parts)
        ones = np.ones(self.part.size)
        totals, squares = sum_cells(self.probs, self.part, ones, n_parts)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals / counts[:, None]
            variance = squares / counts[:, None] - mean**2
        # a few units in the last place are no spread
        return np.where(variance > 1e-14, variance, 0.0)

    def descend(self, tree: _Tree, level: list[_Part], parts: list[_Part]) -> None:
        """Move every row from its part of this level to its part of the next one."""
        start = np.full(len(level), -1, dtype=np.int64)
        for i, part in enumerate(level):
            at_root = part.parent < 0
            if at_root and tree.column:
                start[i] = 0
            elif not at_root:
                start[i] = tree.child[part.parent][part.side]
        node = np.where(self.part >= 0, start[self.part], -1)
        out = np.full(self.part.size, -1, dtype=np.int64)
        moving = np.flatnonzero(node >= 0)
        column, threshold = np.array(tree.column), np.array(tree.threshold)
        strict = np.array(tree.strict)
        child = np.array(tree.child).reshape(-1, 2)
        lookup = np.full((len(tree.column), 2), -1, dtype=np.int64)
        for i, part in enumerate(parts):
            lookup[part.parent, part.side] = i
        while moving.size:
            here = node[moving]
            x, t = self.probs[moving, column[here]], threshold[here]
            sides = np.where(strict[here], x >= t, x > t).astype(np.int64)
            arrived = lookup[here, sides]
            out[moving] = arrived
            node[moving] = child[here, sides]
            moving = moving[(arrived < 0) & (node[moving] >= 0)]
        self.part = out
