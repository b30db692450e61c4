"""Recursive balanced splits of the simplex at order statistics of the rows themselves.

A split at an order statistic of one coordinate leaves the rows on either side
independent draws from their parts, given the boundary and the counts; rows on the
boundary belong to neither. So it goes on inside the parts, and the rows of every cell
are i.i.d. from it (statistically equivalent blocks): no data is spent on choosing the
cells but the rows on boundaries. This needs the coordinate and the rank of each split
to be fixed by a schedule, or chosen from *other* rows. Chosen from the rows' own
spread, the cells' rows would not be draws from them.

Where many rows share the boundary's coordinate, they are i.i.d. given it: they become a
part of their own, and are split further by the other coordinates. Many are as many as
make half a cell, or more than a twentieth of the part's rows divided by the number of
splits above a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq.binning.simplex import SimplexCells
from distfreeuq.binning.uniform_mass import (
    FEWEST,
    MOST_EXCEPTED,
    makes_a_bin,
    most_bins,
    order_statistics,
)

# Most entries of the other rows that choose the splits; more would only take longer.
_ENTRIES = 1 << 18


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
    """Return cells with about the same number of rows each, and the cell of each row.

    Rows on boundaries are in no cell, -1.

    Parameters
    ----------
    probs : ndarray (n, K)
        The calibration rows, whose order statistics are the boundaries.
    n_bins : int
        Cells wanted; fewer if there are too few rows, others where rows tie.
    schedule : sequence of int
        The coordinate of the j-th split, level by level; begun again when it ends.
    others : ndarray (n', K), optional
        Independent rows. A part is then split along the coordinate, and at the rank,
        that leave the others there the least variance of that coordinate; in halves
        and by the schedule only if they do not vary.
    """
    tree = _Tree()
    leaves: list[_Part] = []
    n, n_classes = probs.shape
    level = [_Part(np.arange(n), most_bins(n, n_bins), -1, 0, frozenset())]
    where = _Others(others) if others is not None else None
    n_splits = 0
    # so many times may a row be on a boundary before it is in a cell
    depth = max(1, (level[0].n_bins - 1).bit_length())
    while level:
        parts: list[_Part] = []
        for i, part in enumerate(level):
            free = [k for k in range(n_classes) if k not in part.fixed]
            # with all but one coordinate fixed, so is the last: they sum to one
            if part.n_bins <= 1 or len(free) < 2:
                leaves.append(part)
                continue
            turn = [schedule[(n_splits + j) % len(schedule)] for j in range(n_classes)]
            column = next((k for k in turn if k not in part.fixed), free[0])
            below = (part.n_bins + 1) // 2
            if where is not None:
                choice = where.choose(i, part.n_bins, free)
                column, below = choice if choice is not None else (column, below)
            n_splits += 1
            parts += _split(tree, part, probs, column, below, depth)
        if where is not None:
            where.descend(tree, level, parts)
        level = parts
    cells = tree.cells()
    bins = np.full(n, -1, dtype=np.int64)
    for part in leaves:
        whole = part.parent < 0
        bins[part.rows] = 0 if whole else -1 - cells.child[part.parent, part.side]
    return cells, bins


def _split(
    tree: _Tree,
    part: _Part,
    probs: FloatMatrix,
    column: int,
    n_below: int,
    depth: int,
) -> list[_Part]:
    """Split one part at an order statistic; return the two or three parts it leaves.

    The rank is such that `n_below` of the part's cells are due to the rows below. Few
    rows on the boundary are in neither part.
    """
    values = probs[part.rows, column]
    n = part.rows.size
    rank = -(-n_below * (n + 1) // part.n_bins)
    value, shared = order_statistics(values, np.array([rank]))
    t = float(value[0])
    below, above = part.rows[values < t], part.rows[values > t]
    much = shared[0] >= FEWEST and MOST_EXCEPTED * depth * shared[0] > n
    if not (much or makes_a_bin(shared, n, part.n_bins)[0]):
        node = tree.add(part.parent, part.side, column, t, strict=False)
        return [
            _Part(below, n_below, node, 0, part.fixed),
            _Part(above, part.n_bins - n_below, node, 1, part.fixed),
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
    """Where other rows are while the simplex is being split, and where they differ."""

    def __init__(self, probs: FloatMatrix) -> None:
        # a few rows are enough to choose a class and a rank
        step = -(-probs.size // _ENTRIES)
        self.probs = probs[::step]
        self.part = np.zeros(self.probs.shape[0], dtype=np.int64)

    def choose(self, part: int, n_bins: int, free: list[int]) -> tuple[int, int] | None:
        """Return the class and the number of cells below its split, or None.

        The split leaves the least variance of its own class's probability. None if no
        class varies.
        """
        members = self.probs[self.part == part][:, free].astype(np.float64)
        n = members.shape[0]
        if n < 2:
            return None
        sums = np.cumsum(np.sort(members, axis=0), axis=0)
        below = np.arange(1, n_bins)
        size = np.clip(np.rint(below * n / n_bins).astype(np.int64), 1, n - 1)[:, None]
        lower = sums[size[:, 0] - 1]
        gap = lower / size - (sums[-1] - lower) / (n - size)
        gained = gap**2 * size * (n - size)
        j, k = np.unravel_index(int(np.argmax(gained)), gained.shape)
        # a few units in the last place are rounding, not variance
        return (free[k], int(below[j])) if gained[j, k] > 1e-14 * n * n else None

    def descend(self, tree: _Tree, level: list[_Part], parts: list[_Part]) -> None:
        """Move every row from its part of this level to its part of the next one."""
        column, threshold = np.array(tree.column), np.array(tree.threshold)
        strict, child = np.array(tree.strict), np.array(tree.child).reshape(-1, 2)
        arrives = np.full((column.size, 2), -1, dtype=np.int64)
        for i, part in enumerate(parts):
            arrives[part.parent, part.side] = i
        first = [
            (0 if tree.column else -1)
            if part.parent < 0
            else tree.child[part.parent][part.side]
            for part in level
        ]
        node = np.where(self.part >= 0, np.array(first)[self.part], -1)
        self.part = np.full(self.part.size, -1, dtype=np.int64)
        moving = np.flatnonzero(node >= 0)
        while moving.size:  # through the two splits that make three parts
            here = node[moving]
            x, t = self.probs[moving, column[here]], threshold[here]
            side = np.where(strict[here], x >= t, x > t).astype(np.int64)
            arrived = arrives[here, side]
            self.part[moving] = arrived
            node[moving] = child[here, side]
            moving = moving[(arrived < 0) & (node[moving] >= 0)]
