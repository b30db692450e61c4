"""Rows of probabilities, with labels perhaps: in memory, or in blocks.

Fits that need sums over rows alone ask `rows.parts` for them and do not know where the
rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._numerics.passes.block_parts import BlockParts
from distfreeuq._numerics.passes.row_parts import OnePart
from distfreeuq._numerics.row_blocks import Block, RowBlocks

_NO_LABELS = np.empty(0, dtype=np.int64)


class ClassRows(NamedTuple):
    """Some rows: a part of a sample.

    Attributes
    ----------
    probs : ndarray (n, K)
    labels : ndarray (n,)
        Column numbers; of length 0 where rows have no labels.
    weight : ndarray (n,) or None
        How often each row counts; None for once.
    start : int
        Number of the first row among all rows of the sample.
    before : ndarray (n, K) or None
        Probabilities before a calibration, if these are calibrated ones.
    """

    probs: FloatMatrix
    labels: IntArray = _NO_LABELS
    weight: FloatArray | None = None
    start: int = 0
    before: FloatMatrix | None = None

    @property
    def counted(self) -> FloatArray:
        """How often each row counts, shape (n,)."""
        return np.ones(len(self.probs)) if self.weight is None else self.weight


@dataclass(frozen=True, slots=True)
class RowsInMemory:
    """All rows of a sample, in memory.

    Attributes
    ----------
    rows : ClassRows
    """

    rows: ClassRows

    @classmethod
    def of(
        cls,
        probs: FloatMatrix,
        labels: IntArray = _NO_LABELS,
        weight: FloatArray | None = None,
    ) -> RowsInMemory:
        """Return the rows of arrays."""
        return cls(ClassRows(probs, labels, weight))

    @property
    def parts(self) -> OnePart[ClassRows]:
        """What is summed over in a pass."""
        return OnePart(self.rows)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.probs.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self.rows.probs.shape[1])

    @property
    def rounding(self) -> float:
        """Relative rounding error of the numbers."""
        return float(np.finfo(self.rows.probs.dtype).eps)

    @property
    def total_weight(self) -> float:
        """Sum of how often rows count."""
        weight = self.rows.weight
        return float(self.n if weight is None else weight.sum())

    @property
    def label_weight(self) -> FloatArray:
        """How often rows count, by label, shape (K,)."""
        labels, weight = self.rows.labels, self.rows.weight
        return np.bincount(labels, weight, self.n_classes).astype(np.float64)

    def some(self, which: BoolArray) -> RowsInMemory:
        """Return some of the rows."""
        probs, labels, weight, _, before = self.rows
        fewer = ClassRows(
            probs[which],
            labels[which] if labels.size else labels,
            None if weight is None else weight[which],
            before=None if before is None else before[which],
        )
        return RowsInMemory(fewer)

    def every(self, stride: int) -> RowsInMemory:
        """Return every stride-th row."""
        probs, labels, weight = self.rows[:3]
        some = slice(None, None, stride)
        fewer = ClassRows(
            np.ascontiguousarray(probs[some]),
            np.ascontiguousarray(labels[some]),
            None if weight is None else np.ascontiguousarray(weight[some]),
        )
        return RowsInMemory(fewer)

    def mapped(
        self, function: Callable[[ClassRows], ClassRows], n_classes: int | None = None
    ) -> RowsInMemory:
        """Return the rows in another form, with other columns perhaps."""
        return RowsInMemory(function(self.rows))


@dataclass(frozen=True, slots=True)
class RowsInBlocks:
    """The same of rows in blocks, each of which counts once.

    Attributes
    ----------
    parts : BlockParts
        Blocks as `ClassRows`.
    n, n_classes : int
    label_weight : ndarray (K,)
    rounding : float
    """

    parts: BlockParts[ClassRows]
    n: int
    n_classes: int
    label_weight: FloatArray
    rounding: float

    @classmethod
    def of(
        cls, blocks: RowBlocks, classes: Classes, parameter: str, *, labelled: bool
    ) -> RowsInBlocks:
        """Return rows, checked and counted by one pass."""
        read = ReadProbs(classes, parameter, labelled, {})
        found = BlockParts(blocks, read).by_number(_describe)
        starts, n = {}, 0
        for number in sorted(found):
            starts[number] = n
            n += found[number].n
        return cls(
            parts=BlockParts(blocks, replace(read, starts=starts)),
            n=n,
            n_classes=len(classes),
            label_weight=np.sum([one.by_label for one in found.values()], axis=0),
            rounding=max(one.rounding for one in found.values()),
        )

    @property
    def total_weight(self) -> float:
        """Sum of how often rows count: once each."""
        return float(self.n)

    def every(self, stride: int) -> RowsInMemory:
        """Return every stride-th row, in memory: one pass."""
        pieces = self.parts.total(_Every(stride), _join)
        pieces.sort(key=lambda piece: piece.start)
        return RowsInMemory.of(
            np.concatenate([piece.probs for piece in pieces]),
            np.concatenate([piece.labels for piece in pieces]),
        )

    def mapped(
        self, function: Callable[[ClassRows], ClassRows], n_classes: int | None = None
    ) -> RowsInBlocks:
        """Return the rows in another form, made anew in every pass."""
        k = self.n_classes if n_classes is None else n_classes
        parts = self.parts.then(function)
        if k == self.n_classes:
            return replace(self, parts=parts)
        counts = parts.total(_CountLabels(k))
        return replace(self, parts=parts, n_classes=k, label_weight=counts)


AnyRows: TypeAlias = RowsInMemory | RowsInBlocks
"""A sample, wherever its rows are."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Gives rows other probabilities beside their own."""

    function: Callable[[FloatMatrix], FloatMatrix]

    def __call__(self, rows: ClassRows) -> ClassRows:
        """Return the same rows with what the function makes of theirs."""
        return rows._replace(probs=self.function(rows.probs), before=rows.probs)


@dataclass(frozen=True, slots=True)
class ReadProbs:
    """Reads a block, in every pass anew."""

    classes: Classes
    parameter: str
    labelled: bool
    starts: Mapping[int, int]

    def __call__(self, block: Block) -> ClassRows:
        """Return its rows, checked."""
        return ClassRows(
            block.probs(self.classes, self.parameter).checked(),
            block.labels(self.classes) if self.labelled else _NO_LABELS,
            start=self.starts.get(block.args.block, 0),
        )


class _Found(NamedTuple):
    """What the first pass finds in a block."""

    n: int
    by_label: FloatArray
    rounding: float


def _describe(number: int, rows: ClassRows) -> _Found:
    counts = _CountLabels(rows.probs.shape[1])(rows)
    rounding = float(np.finfo(rows.probs.dtype).eps)
    return _Found(len(rows.probs), counts, rounding)


@dataclass(frozen=True, slots=True)
class _CountLabels:
    """Counts rows by label."""

    n_classes: int

    def __call__(self, rows: ClassRows) -> FloatArray:
        return np.bincount(rows.labels, minlength=self.n_classes).astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Every:
    """Takes rows whose number among all is a multiple of the stride."""

    stride: int

    def __call__(self, rows: ClassRows) -> list[ClassRows]:
        own = slice(-rows.start % self.stride, None, self.stride)
        probs, labels = rows.probs[own].copy(), rows.labels[own].copy()
        return [ClassRows(probs, labels, start=rows.start)]


def _join(found: Sequence[list[ClassRows]]) -> list[ClassRows]:
    return list(chain.from_iterable(found))
