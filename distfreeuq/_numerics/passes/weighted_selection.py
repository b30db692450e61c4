"""Exact weighted quantiles of values in blocks, by few passes.

A value's weight is its group's. What `quantiles_by_label` finds in memory is found here
digit by digit, as order statistics are (`radix_selection`): a pass counts the values of
each group by the next 16 bits, and the mass up to a value is a sum of counts times
weights, one for each group, rounded once. It is the same sum as in memory, and so the
same quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._kernels import _quantile
from distfreeuq._numerics.passes import radix_selection as radix
from distfreeuq._numerics.passes.radix_selection import Cells, GroupedValues, Tallied
from distfreeuq._numerics.passes.row_parts import Parts
from distfreeuq._numerics.quantiles import needed_masses

Heads = npt.NDArray[np.uint64]

_ROUNDING = 1e-8
"""More than plain sums of masses are off by, as a share of the mass of all."""


def quantiles_of_groups(
    blocks: Parts[GroupedValues], group_weights: FloatArray, level: float
) -> FloatArray:
    """Return a quantile for each group, whose weight its values and its atom have.

    Parameters
    ----------
    blocks : parts of GroupedValues
        Numbers without NaN, each of a group.
    group_weights : ndarray (K,)
        Finite and non-negative.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq._numerics.passes import weighted_selection
    >>> from distfreeuq._numerics.passes.radix_selection import GroupedValues
    >>> from distfreeuq._numerics.passes.row_parts import OnePart
    >>> values = GroupedValues(np.arange(8.0), np.arange(8) % 2)
    >>> weights = np.array([2.0, 0.5])
    >>> weighted_selection.quantiles_of_groups(OnePart(values), weights, 0.8)
    array([7., 6.])
    """
    out = np.full(group_weights.size, np.inf)
    weighty = np.flatnonzero(group_weights > 0.0)
    if not weighty.size:
        return out
    cells = _cells_of(0, weighty, np.zeros(1, dtype=np.uint64))
    counts, known = radix.count_next(blocks, cells, radix.NOT_KNOWN)
    of_group = np.zeros(group_weights.size, dtype=np.int64)
    of_group[weighty] = counts.by_cell(cells)
    largest = float(group_weights[of_group > 0].max(initial=0.0))
    if largest == 0.0:
        return out
    masses = np.where(of_group > 0, group_weights, 0.0) / largest
    mass = _quantile._mass_of_counts(of_group, masses)
    levels = np.full(group_weights.size, level)
    reached, needed = needed_masses(levels, group_weights, mass, largest)
    below = np.zeros((1, group_weights.size), dtype=np.int64)
    which = np.zeros(needed.size, dtype=np.int64)
    while reached.size:
        ladders = [
            _Ladder.at(place, cells, counts, below[place], masses)
            for place in range(cells.heads.size)
        ]
        found = [
            ladders[place].find(need, _ROUNDING * mass)
            for place, need in zip(which, needed, strict=True)
        ]
        steps = {head: (own, inside) for head, own, inside in found}
        heads = np.array(sorted(steps), dtype=np.uint64)
        which = np.searchsorted(heads, np.array([head for head, *_ in found]))
        if known == radix.BITS:
            out[reached] = radix.from_ordered_bits(heads)[which]
            break
        below = np.array([steps[head][0] for head in heads])
        n_inside = sum(steps[head][1] for head in heads)
        cells = _cells_of(known, weighty, heads)
        counts, known = radix.count_next(blocks, cells, n_inside)
    return out


def _cells_of(known: int, groups: IntArray, heads: Heads) -> Cells:
    """Return the cells of these heads for every group."""
    codes = groups[:, None] * heads.size + np.arange(heads.size)
    return Cells(known, heads, codes.ravel())


@dataclass(frozen=True, slots=True)
class _Ladder:
    """What was counted within one head: how the mass grows from value to value.

    Attributes
    ----------
    heads : ndarray (u,)
        The longer heads that values have, in order.
    ends : ndarray (u,)
        Where the counts of each end.
    groups, counts : ndarray (c,)
        Values of a group with one of them.
    below : ndarray (K,)
        Values of each group that are less than all of these.
    about : ndarray (u,)
        Mass up to each, by plain addition.
    """

    heads: Heads
    ends: IntArray
    groups: IntArray
    counts: IntArray
    below: IntArray
    masses: FloatArray
    about: FloatArray

    @classmethod
    def at(
        cls,
        place: int,
        cells: Cells,
        counts: Tallied,
        below: IntArray,
        masses: FloatArray,
    ) -> _Ladder:
        """Return the ladder of one of the heads."""
        groups, places = np.divmod(cells.codes[counts.cells], cells.heads.size)
        here = np.flatnonzero(places == place)
        here = here[np.argsort(counts.heads[here], kind="stable")]
        heads, first = np.unique(counts.heads[here], return_index=True)
        ends = np.append(first[1:], here.size)
        groups, own = groups[here], counts.counts[here]
        start = _quantile._mass_of_counts(below, masses)
        about = start + np.cumsum(own * masses[groups])[ends - 1]
        return cls(heads, ends, groups, own, below, masses, about)

    def find(self, need: float, margin: float) -> tuple[int, IntArray, int]:
        """Return the first head up to which there is so much mass.

        And the values of each group that are below it, and how many values have it.
        """
        low, high = np.searchsorted(self.about, [need - margin, need + margin])
        low, high = int(low), min(int(high), self.heads.size - 1)
        while low < high:
            middle = (low + high) // 2
            mass = _quantile._mass_of_counts(self._up_to(middle), self.masses)
            low, high = (low, middle) if mass >= need else (middle + 1, high)
        first = int(self.ends[low - 1]) if low else 0
        n_inside = int(self.counts[first : self.ends[low]].sum())
        below = self.below if low == 0 else self._up_to(low - 1)
        return int(self.heads[low]), below, n_inside

    def _up_to(self, step: int) -> IntArray:
        """Return the values of each group up to a head."""
        counts = self.below.copy()
        np.add.at(
            counts, self.groups[: self.ends[step]], self.counts[: self.ends[step]]
        )
        return counts
