"""Bins of equal mass: edges at order statistics of the scores.

Edges may be the calibration scores' own order statistics, without a split of the data:
given the edge S_(k) and how many scores lie below, at and above it, the scores below
are independent draws from below it, those above from above (Gupta and Ramdas, 2021). So
the rows strictly between two edges are i.i.d. from that open interval, and Theorem 3
holds for their counts. Rows on an edge belong to no bin; where many share its score,
they are i.i.d. given that score, and have a bin of their own. Which edges have one is a
function of the numbers of rows on them: as many as make half a bin; and, where the rows
on the other shared edges are more than a twentieth of all rows, every edge that
`FEWEST` rows share. This holds for every distribution of the scores, however discrete.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._kernels import _bins
from distfreeuq._numerics.passes import radix_selection
from distfreeuq._numerics.passes.radix_selection import GroupedValues
from distfreeuq._numerics.passes.row_parts import Parts
from distfreeuq._numerics.unit_bins import Intervals, ScoreBins, closed_intervals

_BUCKETS = 1 << 16
_FEW_VALUES = 1 << 14

MOST_EXCEPTED = 20
"""One over the share of rows on shared edges above which these get bins."""
FEWEST = 5
"""Rows on an edge that may then be a bin: fewer would say nothing of its frequency."""


def edge_ranks(n: int, n_bins: int) -> IntArray:
    """Return the ranks ceil(b (n + 1) / M), b = 1 .. M - 1, of the edges."""
    between = np.arange(1, n_bins, dtype=np.int64)
    return -(-between * (n + 1) // n_bins)


def most_bins(n: int, n_bins: int) -> int:
    """Return how many bins n rows can fill if they are also the edges: n + 1 >= 2 M."""
    return max(1, min(n_bins, (n + 1) // 2))


def own_mass(scores: FloatArray, n_bins: int) -> ScoreBins:
    """Return bins of equal mass of these scores themselves, as many as they can fill.

    Where edges tie there are other bins than `n_bins`: fewer distinct edges, and one
    bin more for each that many rows share.
    """
    n_bins = most_bins(scores.size, n_bins)
    values, shared = order_statistics(scores, edge_ranks(scores.size, n_bins))
    return _bins_between(values, shared, scores.size, n_bins)


def own_mass_in_blocks(
    blocks: Parts[GroupedValues], n_rows: int, n_bins: int, n_groups: int = 1
) -> list[ScoreBins]:
    """Return the same bins, bit for bit, of scores that come in blocks.

    A row has one score of each group, and each group has bins of its own.
    """
    n_bins = most_bins(n_rows, n_bins)
    ranks = edge_ranks(n_rows, n_bins)
    groups = None if n_groups == 1 else np.repeat(np.arange(n_groups), ranks.size)
    wanted = np.tile(ranks, n_groups)
    found = radix_selection.order_statistics(blocks, wanted, groups)
    shape = (n_groups, ranks.size)
    pairs = zip(found.values.reshape(shape), found.equal.reshape(shape), strict=True)
    return [_bins_between(*own, n_rows, n_bins) for own in pairs]


def _bins_between(
    values: FloatArray, shared: IntArray, n_rows: int, n_bins: int
) -> ScoreBins:
    """Return the bins of these edges, each of which so many of the rows share."""
    values, first = np.unique(values, return_index=True)
    shared = shared[first]
    tied = makes_a_bin(shared, n_rows, n_bins)
    left_out = int(shared[~tied & (shared >= 2)].sum())
    if MOST_EXCEPTED * left_out > n_rows:
        tied |= shared >= FEWEST
    # no score is below 0 or above 1: there the bin of a shared edge has one edge only
    twice = tied & (values > 0.0) & (values < 1.0)
    edges = np.repeat(values.astype(np.float64), 1 + twice)
    last = np.cumsum(1 + twice) - 1
    strict = np.ones(edges.size, dtype=np.bool_)
    strict[last] = tied & (values >= 1.0)
    dropped = np.zeros(edges.size, dtype=np.bool_)
    dropped[last] = ~tied
    intervals = Intervals(read_only(edges), read_only(strict))
    return ScoreBins(intervals, dropped, int(shared[~tied].sum()))


def makes_a_bin(shared: IntArray, n_rows: int, n_bins: int) -> BoolArray:
    """Say whether rows that share a boundary are at least two, and half of a bin."""
    return (shared >= 2) & (2 * n_bins * shared >= n_rows)


def excepted_edges(intervals: Intervals) -> BoolArray:
    """Return which edges of `own_mass` no bin counts: those without a bin of their own.

    An edge at 0 always has one, as no row is below it.
    """
    edges, strict = intervals.edges, intervals.strict
    second = np.append(False, edges[1:] == edges[:-1])[: edges.size]
    return np.asarray(~strict & ~second & (edges > 0.0))


def mass_of_others(scores: FloatArray, n_bins: int) -> Intervals:
    """Return bins of equal mass of other rows' scores, whose ties merge bins."""
    ranks = edge_ranks(scores.size, min(n_bins, scores.size + 1))
    values, _ = order_statistics(scores, ranks)
    edges = np.unique(values).astype(np.float64)
    return closed_intervals(edges[edges < 1.0])


def order_statistics(
    values: FloatArray, ranks: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return the values of these ranks (from 1), and how many values equal each.

    Long vectors of numbers in [0, 1] are counted in buckets; only the buckets that
    hold a rank are sorted.
    """
    before = np.zeros(ranks.size, dtype=np.int64)
    candidates = values
    if values.size > _FEW_VALUES:
        counts = np.zeros(_BUCKETS, dtype=np.int64)
        _bins._count_buckets(values, counts)
        ends = np.cumsum(counts)
        bucket = np.searchsorted(ends, ranks)
        wanted = np.zeros(_BUCKETS, dtype=np.uint8)
        wanted[bucket] = 1
        kept = np.cumsum(np.where(wanted, counts, 0))
        candidates = np.empty(int(kept[-1]) + 1, dtype=values.dtype)
        _bins._gather_buckets(values, wanted, candidates)
        candidates = candidates[:-1]
        before = ends[bucket] - kept[bucket]
    ordered = np.sort(candidates)
    chosen = ordered[ranks - 1 - before]
    right = np.searchsorted(ordered, chosen, side="right")
    left = np.searchsorted(ordered, chosen, side="left")
    return chosen, right - left
