"""Rows that bins are made of, in blocks: every total is a pass over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._numerics.passes.block_parts import BlockParts
from distfreeuq._numerics.row_blocks import Block, RowBlocks
from distfreeuq.binning.data import BinningRows


@dataclass(frozen=True, slots=True)
class BinningRowsInBlocks:
    """What `BinningRows` are in memory, with `parts` to sum over.

    Attributes
    ----------
    parts : BlockParts
        Blocks as `BinningRows`.
    classes : sequence
    label_counts : ndarray (K,)
    others : ndarray (n', K) or None
        Probabilities of the rows that only choose the bins, in memory.
    """

    parts: BlockParts[BinningRows]
    classes: Classes
    label_counts: IntArray
    others: FloatMatrix | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.label_counts.sum())

    @property
    def sample_weight(self) -> None:
        """Rows in blocks have no weights."""
        return

    @property
    def n_chose(self) -> int:
        """Number of rows that only choose the bins."""
        return 0 if self.others is None else self.others.shape[0]

    def prior(self) -> FloatArray:
        """Return the class frequencies of all rows, shape (K,)."""
        return np.asarray(self.label_counts / self.n)


AnyBinningRows: TypeAlias = BinningRows | BinningRowsInBlocks
"""Rows that bins are made of, wherever they are."""


def rows_of_blocks(
    args: Arguments, blocks: RowBlocks, classes: Classes
) -> BinningRowsInBlocks:
    """Return rows in blocks, checked and counted by one pass."""
    if blocks.has("sample_weight"):
        must = "None where rows come in blocks: bins of weighted rows need them at once"
        args.invalid("sample_weight", must, "weights")
    parts = BlockParts(blocks, _ReadBlock(classes, blocks.parameter))
    counts = parts.total(_count_labels)
    if not counts.sum():
        args.invalid(blocks.parameter, "of at least one row", "no rows")
    return BinningRowsInBlocks(parts, classes, counts)


@dataclass(frozen=True, slots=True)
class _ReadBlock:
    """Reads a block, in every pass anew."""

    classes: Classes
    parameter: str

    def __call__(self, block: Block) -> BinningRows:
        probs = block.probs(self.classes, self.parameter).checked()
        return BinningRows(probs, block.labels(self.classes), self.classes)


def _count_labels(rows: BinningRows) -> IntArray:
    return np.bincount(rows.labels, minlength=len(rows.classes))
