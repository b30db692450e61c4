"""Source and target rows of which one sample at least is in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, Classes
from distfreeuq._base.arrays import describe, listed
from distfreeuq._numerics.passes.block_parts import BlockParts
from distfreeuq._numerics.passes.pooled_features import FeatureRows, PooledParts
from distfreeuq._numerics.passes.row_parts import OnePart, Parts
from distfreeuq._numerics.row_blocks import Block, RowBlocks, read_blocks


class SamplesInBlocks(NamedTuple):
    """Checked rows of two samples, with parts to sum over.

    Attributes
    ----------
    parts : parts of FeatureRows
        Of both samples.
    n_source, n_target : int
    features : sequence
        Names of the d columns.
    """

    parts: Parts[FeatureRows]
    n_source: int
    n_target: int
    features: Classes

    @property
    def is_target(self) -> BoolArray:
        """Whether each row is a target row, the source's first, shape (n,)."""
        return np.arange(self.n_source + self.n_target) >= self.n_source


def read_samples_in_blocks(
    args: Arguments, source: Any, target: Any, method: Any, formula: Any
) -> SamplesInBlocks | None:
    """Return rows of which one sample at least is in blocks; None if neither is.

    Rows in blocks are read by one pass.
    """
    given = {"source": source, "target": target}
    both = {
        name: read_blocks(args, {name: value}, again=True)
        for name, value in given.items()
    }
    if all(blocks is None for blocks in both.values()):
        return None
    if not isinstance(method, str) or method != "logistic":
        must = (
            "'logistic' where rows come in blocks (for others estimate from arrays of "
            "a sample, and weigh the rows of every block by the result's weight)"
        )
        args.invalid("method", must, describe(method))
    if formula is not None:
        must = "None where rows come in blocks: make its columns in each block"
        args.invalid("formula", must, describe(formula))
    samples: list[_Sample] = []
    start, d = 0, None
    names: Any = None
    for name, blocks in both.items():
        own = _read_one(args, name, given[name], blocks, start)
        if d is not None and own.d != d:
            must = f"of shape (n, {d}), with the columns of 'source'"
            args.invalid(name, must, f"{own.d} columns")
        if own.n < 2:
            args.invalid(name, "of at least two rows", f"{own.n}")
        found: Any = own.names
        known = names is not None and found is not None
        if known and class_labels.contradict(found, names):
            must = f"with the columns of 'source' in their order, {listed(names)}"
            args.invalid(name, must, listed(found))
        names, d, start = names or found, own.d, start + own.n
        samples.append(own)
    pooled = PooledParts(samples[0].parts, samples[1].parts)
    features = names or range(samples[0].d)
    return SamplesInBlocks(pooled, samples[0].n, samples[1].n, features)


class _Sample(NamedTuple):
    """The rows of one sample, their numbers of rows and columns, and names of these."""

    parts: Parts[FeatureRows]
    n: int
    d: int
    names: Classes | None


def _read_one(
    args: Arguments, name: str, given: Any, blocks: RowBlocks | None, start: int
) -> _Sample:
    """Return the rows of a sample, whose first has this number."""
    label = float(name == "target")
    if blocks is None:
        x = args.features(given, name)
        columns = class_labels.column_names(args, given, name)
        rows = FeatureRows(x, np.full(len(x), label), start)
        return _Sample(OnePart(rows), x.shape[0], x.shape[1], columns)
    read = _ReadBlock(name, label, {})
    found = BlockParts(blocks, read).by_number(_shape)
    starts, end = {}, start
    for number in sorted(found):
        starts[number] = end
        end += found[number][0]
    widths = {d for _, d in found.values()}
    if len(widths) > 1:
        args.invalid(name, "blocks with the same columns", f"{sorted(widths)} of them")
    parts = BlockParts(blocks, replace(read, starts=starts))
    return _Sample(parts, end - start, widths.pop(), blocks.column_names())


@dataclass(frozen=True, slots=True)
class _ReadBlock:
    """Reads a block, in every pass anew."""

    parameter: str
    label: float
    starts: Mapping[int, int]

    def __call__(self, block: Block) -> FeatureRows:
        x = block.features(self.parameter)
        start = self.starts.get(block.args.block, 0)
        return FeatureRows(x, np.full(len(x), self.label), start)


def _shape(number: int, rows: FeatureRows) -> tuple[int, int]:
    n, d = rows.x.shape
    return n, d
