"""Labelled rows in blocks, as calibrators are fitted to them.

A first pass finds what fits need to know of all rows before they begin: how many there
are, the largest weight, the widest logits. Fits then ask for sums over the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from distfreeuq._base.array_types import Classes, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.passes.block_parts import BlockParts, Blocks
from distfreeuq._numerics.passes.shared_passes import fit_in_step
from distfreeuq._numerics.sample_weights import effective_sizes
from distfreeuq.calibration.rows.calibration_rows import (
    CalibrationRows,
    described,
    weigh,
)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RowsInBlocks:
    """What `CalibrationRows` are in memory, with `parts` to sum over.

    Attributes
    ----------
    parts : BlockParts
        Blocks as `CalibrationRows`, whose weights are divided by the largest of all.
    classes : sequence
    sizes : mapping
        Rows of each block, by its number.
    n_counted : int
        Rows of positive weight.
    total_weight, effective_size : float
    is_weighted : bool
    label_counts, label_weights, top_counts : ndarray (K,)
    logit_range, logit_norm, largest_logit : float
    has_masked : bool
    """

    parts: BlockParts[CalibrationRows]
    classes: Classes
    sizes: Mapping[int, int]
    n_counted: int
    total_weight: float
    effective_size: float
    is_weighted: bool
    label_counts: IntArray
    label_weights: FloatArray
    top_counts: IntArray
    logit_range: float
    logit_norm: float
    largest_logit: float
    has_masked: bool

    @classmethod
    def of(cls, parts: BlockParts[CalibrationRows], classes: Classes) -> RowsInBlocks:
        """Return the rows of blocks whose weights are of any scale: one pass."""
        found = parts.by_number(_describe)
        facts = list(found.values())
        largest = max(one.largest for one in facts)
        unit = largest if largest > 0.0 else 1.0
        # weights of any scale have sums that are numbers
        share = np.array([one.largest / unit for one in facts])
        total = float(share @ [one.weight for one in facts])
        square = float(share**2 @ [one.square for one in facts])
        return cls(
            parts=parts.then(_Rescale(unit)),
            classes=classes,
            sizes={number: one.n for number, one in found.items()},
            n_counted=sum(one.n_counted for one in facts),
            total_weight=total,
            effective_size=float(effective_sizes(np.array(total), np.array(square))),
            is_weighted=min(one.smallest for one in facts) < largest,
            label_counts=np.sum([one.label_counts for one in facts], axis=0),
            label_weights=share @ np.array([one.label_weights for one in facts]),
            top_counts=np.sum([one.top_counts for one in facts], axis=0),
            logit_range=max(one.logit_range for one in facts),
            logit_norm=max(one.logit_norm for one in facts),
            largest_logit=max(one.largest_logit for one in facts),
            has_masked=any(one.has_masked for one in facts),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.sizes.values())

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    def of_group(self, code: int) -> RowsInBlocks:
        """Return the rows of a group, described by themselves: one pass."""
        return RowsInBlocks.of(self.parts.then(_OfGroup(code)), self.classes)

    def in_step(self, fits: Sequence[Callable[[RowsInBlocks], _T]]) -> list[_T]:
        """Return what each fit makes of these rows, in passes that they share."""

        def of_shared(fit: Callable[[RowsInBlocks], _T], blocks: Blocks) -> _T:
            return fit(replace(self, parts=replace(self.parts, blocks=blocks)))

        return fit_in_step(self.parts.blocks, [partial(of_shared, fit) for fit in fits])

    def with_logits(
        self, function: Callable[[FloatMatrix], FloatMatrix]
    ) -> RowsInBlocks:
        """Return the rows with other logits, and described as before."""
        return replace(self, parts=self.parts.then(_WithLogits(function)))

    def every(self, stride: int) -> CalibrationRows:
        """Return every stride-th row, in memory: one pass."""
        starts, end = {}, 0
        for number in sorted(self.sizes):
            starts[number] = end
            end += self.sizes[number]
        found = self.parts.by_number(_Every(starts, stride))
        pieces = [found[number] for number in sorted(found)]
        return CalibrationRows(
            logits=np.concatenate([piece.logits for piece in pieces]),
            labels=np.concatenate([piece.labels for piece in pieces]),
            weights=np.concatenate([piece.weights for piece in pieces]),
            tops=np.concatenate([piece.tops for piece in pieces]),
            classes=self.classes,
            logit_range=self.logit_range,
            logit_norm=self.logit_norm,
            has_masked=self.has_masked,
        )


FitRows: TypeAlias = CalibrationRows | RowsInBlocks
"""What a calibrator is fitted to."""


class _Facts(NamedTuple):
    """What the first pass finds in a block; sums of weights in units of its largest."""

    n: int
    n_counted: int
    largest: float
    smallest: float
    weight: float
    square: float
    label_counts: IntArray
    label_weights: FloatArray
    top_counts: IntArray
    logit_range: float
    logit_norm: float
    largest_logit: float
    has_masked: bool


def _describe(number: int, rows: CalibrationRows) -> _Facts:
    """Describe a block of rows."""
    largest = float(rows.weights.max(initial=0.0))
    scaled = rows.weights / (largest if largest > 0.0 else 1.0)
    return _Facts(
        n=rows.n,
        n_counted=rows.n_counted,
        largest=largest,
        smallest=float(rows.weights.min(initial=np.inf)),
        weight=float(scaled.sum()),
        square=float(np.square(scaled).sum()),
        label_counts=rows.label_counts,
        label_weights=weigh(rows.labels, scaled, rows.n_classes),
        top_counts=rows.top_counts,
        logit_range=rows.logit_range,
        logit_norm=rows.logit_norm,
        largest_logit=rows.largest_logit,
        has_masked=rows.has_masked,
    )


@dataclass(frozen=True, slots=True)
class _Rescale:
    """Divides the weights of a block by the largest of all."""

    largest: float

    def __call__(self, rows: CalibrationRows) -> CalibrationRows:
        return replace(rows, weights=np.ascontiguousarray(rows.weights / self.largest))


@dataclass(frozen=True, slots=True)
class _OfGroup:
    """Takes the rows of a block that are in a group."""

    code: int

    def __call__(self, rows: CalibrationRows) -> CalibrationRows:
        assert rows.groups is not None
        own = rows.groups == self.code
        return described(
            rows.logits[own], rows.labels[own], rows.weights[own], rows.classes
        )


@dataclass(frozen=True, slots=True)
class _WithLogits:
    """Gives the rows of a block other logits."""

    function: Callable[[FloatMatrix], FloatMatrix]

    def __call__(self, rows: CalibrationRows) -> CalibrationRows:
        return rows.with_logits(self.function)


@dataclass(frozen=True, slots=True)
class _Every:
    """Takes rows of a block whose number among all is a multiple of the stride."""

    starts: Mapping[int, int]
    stride: int

    def __call__(self, number: int, rows: CalibrationRows) -> CalibrationRows:
        own = slice(-self.starts[number] % self.stride, None, self.stride)
        return rows.at(own)
