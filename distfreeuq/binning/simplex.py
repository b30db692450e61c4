"""Cells of the probability simplex: the leaves of a tree of splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq._base.persistence import register
from distfreeuq._base.rounding import distinct_numbers
from distfreeuq._base.stored_state import State, flags, floats, integers, require
from distfreeuq._kernels import _bins
from distfreeuq._kernels.threads import threads_for


@register("simplex-cells")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SimplexCells:
    """A partition of the simplex by splits of one coordinate each.

    Attributes
    ----------
    column : ndarray (J,)
        The coordinate that split j looks at.
    threshold : ndarray (J,)
        Rows up to the threshold go to child[j, 0], others to child[j, 1].
    strict : ndarray (J,)
        Where True, only rows below the threshold go to child[j, 0].
    child : ndarray (J, 2)
        Another split, or -1 - m for cell m. Split 0 is the root.
    """

    column: IntArray
    threshold: FloatArray
    strict: BoolArray
    child: IntMatrix

    _state: ClassVar[State] = {
        "column": integers("J"),
        "threshold": floats("J", finite=True, single=True),
        "strict": flags("J"),
        "child": integers("J", 2, low=-(2**63)),
    }

    def _validate_state(self) -> None:
        # Every cell and every split but the root is the child of one split, which comes
        # before it: the tree has no cycles.
        n_splits = self.column.size
        cells, splits = np.arange(-self.n_bins, 0), np.arange(1, n_splits)
        once = np.concatenate([cells, splits]) if n_splits else splits
        later = (self.child < 0) | (self.child > np.arange(n_splits)[:, None])
        is_tree = later.all() and np.array_equal(np.sort(self.child, axis=None), once)
        require(is_tree, "a tree of splits")

    @property
    def n_bins(self) -> int:
        """Number of cells M."""
        return self.column.size + 1

    def assign(self, probs: FloatMatrix) -> IntArray:
        """Return the cell of each row, shape (n,)."""
        out = np.empty(probs.shape[0], dtype=np.int64)
        threshold = self.threshold.astype(probs.dtype)
        before = np.nextafter(threshold, np.array(-np.inf, dtype=probs.dtype))
        threshold = np.where(self.strict, before, threshold)
        _bins._assign_cells(
            probs, self.column, threshold, self.child, out, threads_for(out.size)
        )
        return out

    def excepted_splits(self) -> BoolArray:
        """Return which thresholds are rows that no cell counts, (J,), of own splits.

        Rows on the others are a part of their own: the split is followed by a strict
        one at the same threshold, or the threshold is 0 or 1.
        """
        below = self.child[:, 0]
        follows = np.maximum(below, 0)
        own_part = (
            (below >= 0)
            & self.strict[follows]
            & (self.column[follows] == self.column)
            & (self.threshold[follows] == self.threshold)
        )
        return np.asarray(~self.strict & ~own_part & (self.threshold > 0.0))

    def on_splits(self, probs: FloatMatrix, splits: BoolArray) -> BoolArray:
        """Return which rows meet one of these splits exactly at its threshold, (n,)."""
        threshold = self.threshold.astype(probs.dtype)
        out = np.zeros(probs.shape[0], dtype=np.bool_)
        maybe = np.zeros_like(out)
        for k in np.unique(self.column[splits]):
            values = threshold[splits & (self.column == k)]
            maybe |= np.isin(probs[:, k], values)
        rows = np.flatnonzero(maybe)
        node = np.zeros(rows.size, dtype=np.int64)
        while rows.size:
            x, t = probs[rows, self.column[node]], threshold[node]
            out[rows] |= splits[node] & (x == t)
            side = np.where(self.strict[node], x >= t, x > t).astype(np.int64)
            node = self.child[node, side]
            rows, node = rows[node >= 0], node[node >= 0]
        return out

    def describe(self, classes: Classes) -> list[str]:
        """Return each cell as text: which coordinates, which intervals.

        Different thresholds of a coordinate look different.
        """
        shown = {int(k): self._numbers(int(k)) for k in np.unique(self.column)}
        texts = [""] * self.n_bins
        pending: list[tuple[int, dict[int, _Range]]] = [(0, {})]
        if self.column.size == 0:
            return ["everything"]
        while pending:
            node, limits = pending.pop()
            if node < 0:
                texts[-1 - node] = ", ".join(
                    limits[k].describe(classes[k], shown[k]) for k in sorted(limits)
                )
                continue
            k, t = int(self.column[node]), float(self.threshold[node])
            strict = bool(self.strict[node])
            whole = limits.get(k, _Range(0.0, False, 1.0, False))
            below = _Range(whole.low, whole.open_low, t, strict)
            above = _Range(t, not strict, whole.high, whole.open_high)
            for side, part in enumerate((below, above)):
                pending.append((int(self.child[node, side]), {**limits, k: part}))
        return texts

    def _numbers(self, k: int) -> dict[float, str]:
        """Return the thresholds of a coordinate, and its ends, as text."""
        values = np.unique([0.0, 1.0, *self.threshold[self.column == k]]).tolist()
        return dict(zip(values, distinct_numbers(values), strict=True))


@dataclass(frozen=True, slots=True)
class _Range:
    """An interval of one coordinate, each end open or closed."""

    low: float
    open_low: bool
    high: float
    open_high: bool

    def describe(self, name: object, shown: dict[float, str]) -> str:
        low, high = shown[self.low], shown[self.high]
        if self.low == self.high:
            return f"{name} = {low}"
        if self.low == 0.0 and not self.open_low:
            return f"{name} {'<' if self.open_high else '<='} {high}"
        if self.high == 1.0 and not self.open_high:
            return f"{name} {'>' if self.open_low else '>='} {low}"
        left = "(" if self.open_low else "["
        right = ")" if self.open_high else "]"
        return f"{name} in {left}{low}, {high}{right}"
