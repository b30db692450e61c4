"""Exact order statistics of values in blocks, by few passes.

A double's 64 bits, with those of negative numbers turned round, are an integer in the
same order. A pass counts the values by the next 16 of these bits among those that share
the bits which are known of the wanted one, and so learns 16 bits more; where few values
share them, the pass hands over these. Four passes at most, whatever the values, and
three as a rule. No value is rounded, and equal values are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.passes.row_parts import Parts

_Keys = npt.NDArray[np.uint64]

BITS, _WIDTH = 64, 16
_DIGITS = 1 << _WIDTH
_DENSE = 1 << 17
"""Counters that a block has one by one, 1 MB; of more, it lists those in use."""
_FEW = 1 << 16
"""Values that are handed over in place of their counts."""
NOT_KNOWN = _FEW + 1
"""Values of which nobody knows yet how many they are: they are counted first."""
_SIGN = np.uint64(1 << (BITS - 1))


class GroupedValues(NamedTuple):
    """Values of a block, and each one's group; None where there is one group, 0."""

    values: FloatArray
    groups: IntArray | None = None


class OrderStatistics(NamedTuple):
    """What was asked for, in the order of the ranks.

    Attributes
    ----------
    values : ndarray (J,)
        +inf where a group has fewer values than the rank.
    below, equal : ndarray (J,)
        How many values of the group are less, and how many are the same.
    """

    values: FloatArray
    below: IntArray
    equal: IntArray


def order_statistics(
    blocks: Parts[GroupedValues],
    ranks: IntArray | Callable[[IntArray], IntArray],
    groups: IntArray | None = None,
) -> OrderStatistics:
    """Return the values of these ranks (from 1), exactly.

    Parameters
    ----------
    blocks : parts of GroupedValues
        Numbers without NaN; infinite ones are allowed. 0 and -0 are equal.
    ranks : ndarray (J,), or a function
        The function makes them of the number of values of each group (J,), which the
        first pass counts.
    groups : ndarray (J,), optional
        The group whose value of that rank is asked for; by default all are of group 0.
        Where `ranks` are a function, there is one rank for each.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq._numerics.passes import radix_selection as radix
    >>> from distfreeuq._numerics.passes.row_parts import OnePart
    >>> values = OnePart(radix.GroupedValues(np.array([0.3, -1.0, 0.3, 2.0])))
    >>> radix.order_statistics(values, np.array([1, 3, 9])).values
    array([-1. ,  0.3,  inf])
    """
    own = groups
    if own is None:
        own = np.zeros(1 if callable(ranks) else ranks.size, dtype=np.int64)
    values = np.full(own.size, np.inf)
    below, equal = np.zeros((2, own.size), dtype=np.int64)
    wanted = np.arange(own.size)
    heads = np.zeros(own.size, dtype=np.uint64)
    known, n_inside = 0, NOT_KNOWN
    while known < BITS and wanted.size:
        cells, which = Cells.of(known, own[wanted], heads)
        counts, known = count_next(blocks, cells, n_inside)
        if callable(ranks):
            ranks = ranks(counts.by_cell(cells)[which])
        at, passed = counts.find(which, ranks[wanted] - below[wanted])
        there = at >= 0  # the others have a rank beyond their group's last value
        wanted, at = wanted[there], at[there]
        heads, below[wanted] = counts.heads[at], below[wanted] + passed[there]
        equal[wanted] = counts.counts[at]
        n_inside = int(counts.counts[np.unique(at)].sum())
    values[wanted] = from_ordered_bits(heads)
    return OrderStatistics(values, below, equal)


def _ordered_bits(values: FloatArray) -> _Keys:
    """Return integers in the order of the values."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def from_ordered_bits(keys: _Keys) -> FloatArray:
    """Return the values of such integers."""
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)


@dataclass(frozen=True, slots=True)
class Cells:
    """The values of a group that share their first bits with a wanted one.

    Attributes
    ----------
    known : int
        How many bits they share.
    heads : ndarray (H,)
        The different ones of these bits, in order.
    codes : ndarray (C,)
        The cells, in order: group * H + place in `heads`.
    """

    known: int
    heads: _Keys
    codes: IntArray

    @classmethod
    def of(cls, known: int, groups: IntArray, heads: _Keys) -> tuple[Cells, IntArray]:
        """Return the cells of wanted values, and in which of them each one is."""
        distinct, place = np.unique(heads, return_inverse=True)
        codes, which = np.unique(groups * distinct.size + place, return_inverse=True)
        return cls(known, distinct, codes), which

    def find(self, block: GroupedValues) -> tuple[_Keys, IntArray]:
        """Return the keys of a block's values that are in cells, and which cells."""
        keys = _ordered_bits(block.values)
        codes = np.zeros(keys.size, dtype=np.int64)
        if block.groups is not None:
            codes = block.groups * self.heads.size
        if self.known:
            heads = keys >> np.uint64(BITS - self.known)
            place, near = _look_up(self.heads, heads)
            keys, codes = keys[near], codes[near] + place[near]
        if self.codes.size == self.heads.size == 1 and block.groups is None:
            return keys, codes
        cells, inside = _look_up(self.codes, codes)
        return keys[inside], cells[inside]


def _look_up(
    known: npt.NDArray[np.generic], items: npt.NDArray[np.generic]
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return where items stand among known ones, and which of them do."""
    place = np.minimum(np.searchsorted(known, items), known.size - 1)
    return place, known[place] == items


class Tallied(NamedTuple):
    """How many values have a cell and a head, in order of cells, then of heads."""

    cells: IntArray
    heads: _Keys
    counts: IntArray

    def by_cell(self, cells: Cells) -> IntArray:
        """Return how many values each cell has."""
        sums = np.zeros(cells.codes.size, dtype=np.int64)
        np.add.at(sums, self.cells, self.counts)
        return sums

    def find(self, which: IntArray, ranks: IntArray) -> tuple[IntArray, IntArray]:
        """Return where the values of these ranks in these cells are tallied.

        -1 beyond a cell's last; and how many of the cell's values come before.
        """
        ends = np.append(np.cumsum(self.counts), 0)
        first = np.searchsorted(self.cells, which)
        before = ends[first - 1]  # the entry at -1 is the zero
        at = np.searchsorted(ends[:-1], before + ranks)
        last = np.searchsorted(self.cells, which, side="right")
        return np.where(at < last, at, -1), ends[at - 1] - before


def count_next(
    blocks: Parts[GroupedValues], cells: Cells, n_inside: int
) -> tuple[Tallied, int]:
    """Return what the next pass counts in these cells, and the bits known after it.

    `n_inside` values are in them: few are handed over, and all of their bits are known.
    """
    if n_inside > _FEW:
        counts = blocks.total(_CountDigits(cells), _add_counts).listed(cells)
        return counts, cells.known + _WIDTH
    return _count_keys(*blocks.total(_HandOver(cells), _join)), BITS


class _Digits(NamedTuple):
    """How many values of a block have a cell and the next bits: cell * 2^16 + bits.

    Those that occur, in order; or all, and then `codes` are None.
    """

    counts: IntArray
    codes: IntArray | None

    def listed(self, cells: Cells) -> Tallied:
        """Return the counts by cell and head."""
        codes = np.flatnonzero(self.counts) if self.codes is None else self.codes
        counts = self.counts[codes] if self.codes is None else self.counts
        which, digits = codes >> _WIDTH, (codes & (_DIGITS - 1)).astype(np.uint64)
        heads = cells.heads[cells.codes[which] % cells.heads.size]
        if cells.known:
            heads = heads << np.uint64(_WIDTH)
        return Tallied(which, heads | digits, counts)


@dataclass(frozen=True, slots=True)
class _CountDigits:
    """Counts a block's values by cell and by the next bits."""

    cells: Cells

    def __call__(self, block: GroupedValues) -> _Digits:
        keys, cells = self.cells.find(block)
        shift = np.uint64(BITS - self.cells.known - _WIDTH)
        digits = ((keys >> shift) & np.uint64(_DIGITS - 1)).astype(np.int64)
        codes = (cells << _WIDTH) + digits
        n_codes = self.cells.codes.size * _DIGITS
        if n_codes <= _DENSE:
            return _Digits(np.bincount(codes, minlength=n_codes), None)
        codes, counts = np.unique(codes, return_counts=True)
        return _Digits(counts, codes)


def _add_counts(found: Sequence[_Digits]) -> _Digits:
    """Return the counts of the values of all."""
    if found[0].codes is None:
        return _Digits(np.sum([one.counts for one in found], axis=0), None)
    listed = [
        np.empty(0, np.int64) if one.codes is None else one.codes for one in found
    ]
    codes, which = np.unique(np.concatenate(listed), return_inverse=True)
    counts = np.zeros(codes.size, dtype=np.int64)
    np.add.at(counts, which, np.concatenate([one.counts for one in found]))
    return _Digits(counts, codes)


@dataclass(frozen=True, slots=True)
class _HandOver:
    """Returns a block's values in the cells."""

    cells: Cells

    def __call__(self, block: GroupedValues) -> tuple[_Keys, IntArray]:
        return self.cells.find(block)


def _join(found: Sequence[tuple[_Keys, IntArray]]) -> tuple[_Keys, IntArray]:
    """Return the values of all."""
    return (
        np.concatenate([keys for keys, _ in found]),
        np.concatenate([cells for _, cells in found]),
    )


def _count_keys(keys: _Keys, cells: IntArray) -> Tallied:
    """Return how often each value occurs in each cell."""
    order = np.lexsort((keys, cells))
    keys, cells = keys[order], cells[order]
    new = np.append(True, (keys[1:] != keys[:-1]) | (cells[1:] != cells[:-1]))
    first = np.flatnonzero(new)
    return Tallied(cells[first], keys[first], np.diff(np.append(first, keys.size)))
