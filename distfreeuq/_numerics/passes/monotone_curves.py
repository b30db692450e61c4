"""Isotonic regressions of labels on values in blocks, exactly.

The fit is the slope of the greatest convex minorant of a path: over the rows in order,
from (weight, weight of ones) to the next. A minorant pools what its parts pool, so that
ranges of values are fitted one after the other, and their blocks are fitted together.

Most ranges need no fit. The values are cut into cells at those of a sample, and one
pass sums each cell. Within a cell the path is above its zeros in a row, followed by its
ones; where even this is above the minorant of the cells' ends, the fit has no step
inside. Only the values in other cells are looked at one by one, as many in a pass as
memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.passes.row_parts import Parts

_CELLS = 1 << 17
"""Cells of all curves together: 4 MB of sums for each block."""
_FEWEST_CELLS = 64
_VALUES = 1 << 24
"""Values that are looked at one by one in a pass."""
_ROUNDING = 1e-12
"""Share of the weight by which a path may be below a minorant and count as above."""


class LabelledValues(NamedTuple):
    """Values of a block, a column for each curve; a row has label 1 in one curve.

    Attributes
    ----------
    values : ndarray (n, C)
    curves : ndarray (n,)
        The curve in which the row's label is 1; another number for none.
    weights : ndarray (n,)
        Positive.
    """

    values: FloatMatrix
    curves: IntArray
    weights: FloatArray


class Steps(NamedTuple):
    """A fit: runs of values that have one mean.

    Attributes
    ----------
    first, last : ndarray (S,)
        Smallest and largest value of each run.
    mass, mean : ndarray (S,)
        Weight, and weighted mean of the labels.
    """

    first: FloatArray
    last: FloatArray
    mass: FloatArray
    mean: FloatArray

    def fitted(self) -> Steps:
        """Return the best non-decreasing fit to these runs."""
        from scipy.optimize import isotonic_regression

        if self.mass.size == 0:
            return self
        values = isotonic_regression(self.mean, weights=self.mass).x
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        ends = np.append(starts[1:], values.size) - 1
        mass = np.add.reduceat(self.mass, starts)
        return Steps(self.first[starts], self.last[ends], mass, values[starts])


def cells_of(n_curves: int) -> int:
    """Return the number of cells for each curve, and of rows in the sample."""
    return max(_FEWEST_CELLS, _CELLS // n_curves)


def fit_steps(parts: Parts[LabelledValues], sample: FloatMatrix) -> list[Steps]:
    """Return the best non-decreasing fit of each curve.

    Parameters
    ----------
    parts : parts of LabelledValues
    sample : ndarray (s, C)
        Some of the values; which ones decides how many passes there are.
    """
    edges = tuple(np.unique(column.astype(np.float64)) for column in sample.T)
    cells = parts.total(_SumCells(edges), _add_cells)
    doubtful = tuple(_doubtful(one) for one in cells)
    looked_at: list[list[Steps]] = [[] for _ in edges]
    for wanted in _ranges(cells, doubtful):
        found = parts.total(_TakeValues(edges, wanted), add_up=_join)
        for own, values, marked in zip(looked_at, found, wanted, strict=True):
            own.extend(_fit_runs(values, marked))
    return [
        _together([_left(one, ~own), *pieces]).fitted()
        for one, own, pieces in zip(cells, doubtful, looked_at, strict=True)
    ]


class _Cells(NamedTuple):
    """Weights in each cell (c,), its first and last value, and its number of rows."""

    mass: FloatArray
    ones: FloatArray
    first: FloatArray
    last: FloatArray
    rows: IntArray


@dataclass(frozen=True, slots=True)
class _SumCells:
    """Sums a block's values by curve and cell."""

    edges: tuple[FloatArray, ...]

    def __call__(self, block: LabelledValues) -> tuple[_Cells, ...]:
        return tuple(
            self._of_curve(block, curve, edges)
            for curve, edges in enumerate(self.edges)
        )

    def _of_curve(self, block: LabelledValues, curve: int, edges: FloatArray) -> _Cells:
        cells, order = _cells_of(block.values[:, curve].astype(np.float64), edges)
        values, weights = block.values[order, curve], block.weights[order]
        n_cells = edges.size + 1
        rows = np.bincount(cells, minlength=n_cells)
        ends = np.cumsum(rows)
        first, last = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
        filled = rows > 0
        first[filled] = values[(ends - rows)[filled]]
        last[filled] = values[ends[filled] - 1]
        ones = weights * (block.curves[order] == curve)
        return _Cells(
            np.bincount(cells, weights, n_cells).astype(np.float64),
            np.bincount(cells, ones, n_cells).astype(np.float64),
            first,
            last,
            rows,
        )


def _cells_of(values: FloatArray, edges: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the cells in order, and the order of the values.

    Sorting the values is faster than looking up each one.
    """
    order = np.argsort(values)
    ends = np.append(np.searchsorted(values[order], edges, side="right"), values.size)
    sizes = np.diff(ends, prepend=0)
    return np.repeat(np.arange(sizes.size), sizes), order


def _add_cells(found: Sequence[tuple[_Cells, ...]]) -> tuple[_Cells, ...]:
    """Return the sums over all."""
    return tuple(
        _Cells(
            np.sum([one.mass for one in own], axis=0),
            np.sum([one.ones for one in own], axis=0),
            np.min([one.first for one in own], axis=0),
            np.max([one.last for one in own], axis=0),
            np.sum([one.rows for one in own], axis=0),
        )
        for own in zip(*found, strict=True)
    )


def _doubtful(cells: _Cells) -> BoolArray:
    """Return which cells the fit may have a step in."""
    from scipy.optimize import isotonic_regression

    out = np.zeros(cells.mass.size, dtype=np.bool_)
    filled = np.flatnonzero(cells.mass > 0.0)
    mass, ones = cells.mass[filled], cells.ones[filled]
    if filled.size == 0:
        return out
    slope = isotonic_regression(ones / mass, weights=mass).x
    path = np.cumsum(ones) - ones
    minorant = np.cumsum(slope * mass) - slope * mass
    below = path < minorant + slope * (mass - ones) + _ROUNDING * float(mass.sum())
    mixed = (ones > 0.0) & (ones < mass) & (cells.first < cells.last)[filled]
    out[filled] = below & mixed
    return out


def _ranges(
    cells: Sequence[_Cells], doubtful: Sequence[BoolArray]
) -> Iterator[list[BoolArray]]:
    """Yield the cells of each curve whose values one pass looks at."""
    n_left = _VALUES
    wanted = [np.zeros_like(own) for own in doubtful]
    for curve, (own, one) in enumerate(zip(doubtful, cells, strict=True)):
        for cell in np.flatnonzero(own).tolist():
            if one.rows[cell] > n_left and n_left < _VALUES:
                yield wanted
                wanted = [np.zeros_like(other) for other in doubtful]
                n_left = _VALUES
            wanted[curve][cell] = True
            n_left -= int(one.rows[cell])
    if n_left < _VALUES:
        yield wanted


class _Taken(NamedTuple):
    """Values, their cells, weights, and whether their labels are 1."""

    values: FloatArray
    cells: IntArray
    weights: FloatArray
    ones: BoolArray


@dataclass(frozen=True, slots=True)
class _TakeValues:
    """Takes a block's values that are in the wanted cells of each curve."""

    edges: tuple[FloatArray, ...]
    wanted: list[BoolArray]

    def __call__(self, block: LabelledValues) -> list[_Taken]:
        return [self._of_curve(block, curve) for curve in range(block.values.shape[1])]

    def _of_curve(self, block: LabelledValues, curve: int) -> _Taken:
        values, edges = block.values[:, curve], self.edges[curve]
        marked = np.flatnonzero(self.wanted[curve])
        own = np.zeros(0, dtype=np.int64)
        cells = np.zeros(0, dtype=np.int64)
        if marked.size:
            inside = np.ones(values.size, dtype=np.bool_)
            if marked[0] > 0:
                inside &= values > edges[marked[0] - 1]
            if marked[-1] < edges.size:
                inside &= values <= edges[marked[-1]]
            own = np.flatnonzero(inside)
            cells, order = _cells_of(values[own].astype(np.float64), edges)
            own = own[order]
            kept = self.wanted[curve][cells]
            own, cells = own[kept], cells[kept]
        return _Taken(
            values[own],
            cells.astype(np.int32),
            block.weights[own],
            block.curves[own] == curve,
        )


def _join(found: Sequence[list[_Taken]]) -> list[_Taken]:
    """Return the values of all."""
    return [
        _Taken(*(np.concatenate(field) for field in zip(*own, strict=True)))
        for own in zip(*found, strict=True)
    ]


def _fit_runs(taken: _Taken, wanted: BoolArray) -> Iterator[Steps]:
    """Yield the fit to the values of each run of neighbouring cells."""
    distinct, which = np.unique(taken.values.astype(np.float64), return_inverse=True)
    mass = np.bincount(which, taken.weights, distinct.size)
    ones = np.bincount(which, taken.weights * taken.ones, distinct.size)
    cell = np.zeros(distinct.size, dtype=np.int64)
    cell[which] = taken.cells
    # cells of one number of unwanted ones before them are neighbours
    run = np.cumsum(~wanted)[cell]
    cuts = np.flatnonzero(run[1:] != run[:-1]) + 1
    pieces = zip(*(np.split(x, cuts) for x in (distinct, mass, ones)), strict=True)
    for values, weight, own in pieces:
        if values.size:
            yield Steps(values, values, weight, own / weight).fitted()


def _left(cells: _Cells, own: BoolArray) -> Steps:
    """Return the cells that are not looked into, each as one run."""
    some = np.flatnonzero(own & (cells.mass > 0.0))
    mass = cells.mass[some]
    return Steps(cells.first[some], cells.last[some], mass, cells.ones[some] / mass)


def _together(pieces: Sequence[Steps]) -> Steps:
    """Return all runs in the order of their values."""
    fields = [np.concatenate(field) for field in zip(*pieces, strict=True)]
    order = np.argsort(fields[0], kind="stable")
    return Steps(*(field[order] for field in fields))
