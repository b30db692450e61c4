"""Bins of one score: intervals of the unit interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    BoolArray,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.rounding import distinct_numbers
from distfreeuq._base.stored_state import State, flags, floats, require
from distfreeuq._kernels import _bins
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import BIN_TABLES, add_up


@register("intervals")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intervals:
    """Intervals (edges[m-1], edges[m]], the first from 0 on and the last up to 1.

    Attributes
    ----------
    edges : ndarray (M - 1,)
        The edges between the bins, ascending.
    strict : ndarray (M - 1,)
        Where True, the bin ends below its edge, which then begins the next bin. An edge
        that stands twice, first strict and then not, has a bin of its own.
    """

    edges: FloatArray
    strict: BoolArray

    _state: ClassVar[State] = {
        "edges": floats("M", finite=True, ascending=True, single=True),
        "strict": flags("M"),
    }

    def _validate_state(self) -> None:
        ends = self.edges_as(np.dtype(np.float64))
        require((ends[1:] >= ends[:-1]).all(), "strict edges before others")

    @property
    def n_bins(self) -> int:
        """Number of bins M."""
        return self.edges.size + 1

    def edges_as(self, dtype: np.dtype[Any]) -> FloatArray:
        """Return edges e of this precision for which every bin is x <= e.

        Rounded as the scores were, so that a score on an edge stays on it; below a
        strict edge means up to the number before it.
        """
        edges = self.edges.astype(dtype)
        before = np.nextafter(edges, np.array(-np.inf, dtype=dtype))
        return np.where(self.strict, before, edges)

    def assign(self, scores: FloatArray) -> IntArray:
        """Return the bin of each score, shape (n,)."""
        out = np.empty(scores.size, dtype=np.int64)
        edges = self.edges_as(scores.dtype)
        _bins._assign_bins(scores, edges, True, out, threads_for(scores.size))
        return out

    def take(self, table: FloatMatrix, scores: FloatArray) -> FloatMatrix:
        """Return each score's row of a table with a row per bin, shape (n, columns)."""
        out = np.empty((scores.size, table.shape[1]), dtype=scores.dtype)
        _bins._take_rows_of_bins(
            scores,
            self.edges_as(scores.dtype),
            np.ascontiguousarray(table, dtype=scores.dtype),
            out,
            threads_for(out.size),
        )
        return out

    def mark_on_edges(
        self, scores: FloatArray, excepted: BoolArray, marks: BoolArray
    ) -> None:
        """Set `marks` (n,) where a score lies on one of these edges (M - 1,)."""
        _bins._mark_on_edges(
            scores,
            self.edges_as(scores.dtype),
            excepted.view(np.uint8),
            marks.view(np.uint8),
            threads_for(scores.size),
        )

    def tabulate_columns(
        self, probs: FloatMatrix, labels: IntArray
    ) -> tuple[IntArray, FloatMatrix]:
        """Return rows by bin of a column and label (M, K, K), summed entries (M, K)."""
        n, n_classes = probs.shape
        shape = (self.n_bins, n_classes)
        n_blocks = BIN_TABLES.count(n * n_classes, self.n_bins * n_classes**2)
        counts = np.zeros((n_blocks, *shape, n_classes), dtype=np.int64)
        totals = np.zeros((n_blocks, *shape))
        _bins._tabulate_columns(
            probs,
            labels,
            self.edges_as(probs.dtype),
            counts,
            totals,
            min(n_blocks, threads_for(probs.size)),
        )
        return counts.sum(axis=0), add_up(totals)

    def ends(self) -> FloatArray:
        """Return the edges with the ends 0 and 1, shape (M + 1,)."""
        return np.concatenate([[0.0], self.edges, [1.0]])

    def describe(self) -> list[str]:
        """Return each bin as text: "(0.2, 0.5]", or "{0.5}" for one score alone.

        Different edges look different.
        """
        ends = self.ends()
        values = np.unique(ends)
        shown = distinct_numbers(values.tolist())
        text = dict(zip(values.tolist(), shown, strict=True))
        opens_left = np.concatenate([[False], ~self.strict])
        opens_right = np.concatenate([self.strict, [False]])
        texts = []
        for m in range(self.n_bins):
            left, right = float(ends[m]), float(ends[m + 1])
            if left == right and not opens_left[m] and not opens_right[m]:
                texts.append(f"{{{text[left]}}}")
                continue
            brackets = "(" if opens_left[m] else "[", ")" if opens_right[m] else "]"
            texts.append(f"{brackets[0]}{text[left]}, {text[right]}{brackets[1]}")
        return texts


@dataclass(frozen=True, slots=True)
class ScoreBins:
    """Intervals, and which of their edges are calibration rows, which no bin counts.

    Attributes
    ----------
    intervals : Intervals
    dropped : ndarray (M - 1,)
        Whether the edge is a row's score: rows on it belong to no bin.
    n_boundary : int
        How many rows these are.
    """

    intervals: Intervals
    dropped: BoolArray
    n_boundary: int

    @property
    def n_bins(self) -> int:
        """Number of bins M."""
        return self.intervals.n_bins

    def assign(self, scores: FloatArray) -> IntArray:
        """Return the bin of each calibration row, -1 for rows that are edges."""
        bins = self.intervals.assign(np.ascontiguousarray(scores))
        edges = self.intervals.edges_as(scores.dtype)
        # the bin that an edge closes has the edge's number
        last = np.append(edges, np.inf)
        on_edge = np.append(self.dropped, False)[bins] & (scores == last[bins])
        bins[on_edge] = -1
        return bins

    def sums(
        self, scores: FloatArray, labels: IntArray, n_labels: int
    ) -> tuple[IntMatrix, FloatArray]:
        """Return rows by bin and label (M, n_labels), and the sums of scores (M,)."""
        n_blocks = BIN_TABLES.count(scores.size, self.n_bins * n_labels)
        counts = np.zeros((n_blocks, self.n_bins, n_labels), dtype=np.int64)
        totals = np.zeros((n_blocks, self.n_bins))
        _bins._tabulate_scores(
            scores,
            labels,
            self.intervals.edges_as(scores.dtype),
            self.dropped.astype(np.uint8),
            counts,
            totals,
            min(n_blocks, threads_for(scores.size)),
        )
        return counts.sum(axis=0), add_up(totals)


def all_counted(intervals: Intervals) -> ScoreBins:
    """Return bins whose edges are no rows: fixed ones, or those of other rows."""
    return ScoreBins(intervals, np.zeros(intervals.edges.size, dtype=np.bool_), 0)


def closed_intervals(edges: FloatArray) -> Intervals:
    """Return right-closed bins between these interior edges."""
    return Intervals(read_only(edges), read_only(np.zeros(edges.size, dtype=np.bool_)))


def equal_width(n_bins: int) -> Intervals:
    """Return bins ((m-1)/M, m/M].

    m/M is the double nearest to the decimal that a person writes, so that 0.07 is on
    the edge 7/100 though 0.07 * 100 > 7.
    """
    return closed_intervals(np.arange(1, n_bins) / n_bins)


def given_intervals(
    args: Arguments, edges: Any, must: str, *, ends_below: bool = False
) -> Intervals:
    """Return the bins between the edges that the user gives as `scheme`.

    The ends 0 and 1 may be among the edges. A bin takes the edge at its end, or, with
    `ends_below`, the one at its beginning.
    """
    vector = args.vector(edges, "scheme", must, low=0.0, high=1.0)
    if (np.diff(vector) <= 0.0).any():
        args.invalid("scheme", must, describe(vector))
    inner = vector[(vector > 0.0) & (vector < 1.0)]
    return Intervals(read_only(inner), read_only(np.full(inner.size, ends_below)))
