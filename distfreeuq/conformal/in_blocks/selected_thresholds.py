"""Thresholds of scores in blocks, of which none is kept: by exact selection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray, IntArray
from distfreeuq._numerics.passes.block_parts import BlockParts
from distfreeuq._numerics.passes.radix_selection import GroupedValues, order_statistics
from distfreeuq._numerics.passes.weighted_selection import quantiles_of_groups
from distfreeuq._numerics.quantiles import conformal_rank
from distfreeuq._numerics.row_blocks import Block, RowBlocks


@dataclass(frozen=True, slots=True)
class SelectedThresholds:
    """Thresholds of scores that come in blocks, each read three or four times.

    Attributes
    ----------
    blocks : RowBlocks
        With `scores` and `labels`.
    n_classes : int
    """

    blocks: RowBlocks
    n_classes: int

    def exchangeable(self, alpha: float) -> FloatArray:
        """Return the threshold of split conformal prediction (eq. 7), (K,)."""
        found = order_statistics(self._scores(True), partial(_ranks, [alpha]))
        return np.full(self.n_classes, found.values[0])

    def label_conditional(self, alphas: FloatArray) -> FloatArray:
        """Return each class's own exchangeable threshold, shape (K,) (eq. 10)."""
        ranks = partial(_ranks, alphas.tolist())
        return order_statistics(
            self._scores(False), ranks, np.arange(self.n_classes)
        ).values

    def label_shift(
        self, args: Arguments, weights: FloatArray, alpha: float
    ) -> FloatArray:
        """Return the thresholds under label shift, shape (K,) (eq. 8-9)."""
        unseen = np.isinf(weights)
        if unseen.any():
            self._refuse_rows(args, unseen)
        finite = np.where(unseen, 0.0, weights)
        thresholds = quantiles_of_groups(self._scores(False), finite, 1.0 - alpha)
        thresholds[unseen] = np.inf
        return thresholds

    def _scores(self, together: bool) -> BlockParts[GroupedValues]:
        """Return the scores, all together or by class."""
        return BlockParts(self.blocks, partial(_read, self.n_classes, together))

    def _refuse_rows(self, args: Arguments, unseen: BoolArray) -> None:
        """Raise an error if there are rows of a class that has none by its weight."""
        counts = self._scores(False).total(partial(_count, self.n_classes))
        wrong = np.flatnonzero(unseen & (counts > 0))
        if wrong.size:
            k = int(wrong[0])
            must = "infinite only for classes that the calibration labels lack"
            got = f"inf for class {k}, which has {counts[k]} of the rows"
            args.invalid("label_weight", must, got)


def _read(n_classes: int, together: bool, block: Block) -> GroupedValues:
    """Return the scores of a block and, if they are not taken together, the labels."""
    if block.n == 0:
        return GroupedValues(np.empty(0), np.empty(0, dtype=np.int64))
    must = "numbers without NaN, one per row"
    scores = block.args.vector(block["scores"], "scores", must)
    labels = block.labels(range(n_classes))
    return GroupedValues(scores, None if together else labels)


def _count(n_classes: int, scores: GroupedValues) -> IntArray:
    return np.bincount(scores.groups, minlength=n_classes)  # type: ignore[arg-type]


def _ranks(alphas: list[float], counts: IntArray) -> IntArray:
    """Return the rank of each threshold among so many scores."""
    ranks = [conformal_rank(int(n), a) for n, a in zip(counts, alphas, strict=True)]
    return np.array(ranks, dtype=np.int64)
