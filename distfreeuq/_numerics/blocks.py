"""In how many blocks of rows to sum, for threads to share.

A kernel sums each block by itself, and the blocks are added up in their order. Their
number decides how a sum is rounded; it follows from the sizes of the arrays alone, so
that no result depends on the number of threads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class BlockPolicy(NamedTuple):
    """The number of blocks for sums of one kind.

    Attributes
    ----------
    most : int
        Blocks at most.
    smallest : int
        Least work in a block: rows, or entries of a matrix, as the caller counts them.
    work_per_sum : int
        Least work in a block for each number that it sums. With less, adding up the
        blocks would cost more than further threads save.
    room : int
        Most numbers in all blocks together.
    """

    most: int
    smallest: int = 1
    work_per_sum: int = 0
    room: int = 1 << 62

    def count(self, work: int, n_sums: int = 1) -> int:
        """Return the number of blocks for so much work that ends in `n_sums` sums."""
        least = max(self.smallest, self.work_per_sum * n_sums)
        return max(1, min(self.most, work // least, self.room // n_sums))

    def count_for_any_work(self, n_sums: int) -> int:
        """Return the number of blocks where rows come in chunks of any size."""
        return max(1, min(self.most, self.room // n_sums))

    def zeros(self, work: int, *shape: int) -> npt.NDArray[np.float64]:
        """Return zeros, an array of this shape for each block."""
        return np.zeros((self.count(work, math.prod(shape)), *shape))


# Rows of probabilities, summed by class: work is counted in rows.
ROW_SUMS = BlockPolicy(most=64, smallest=256, room=1 << 21)
# Passes over a matrix of logits: work is counted in entries.
MATRIX = BlockPolicy(most=64, smallest=1 << 12)
# Products of a row's probabilities and features, whose sums are long.
LINEAR_PRODUCTS = BlockPolicy(most=16, smallest=1 << 12, room=1 << 22)
# Sums to which chunks of rows are added, each chunk to all blocks.
OUTER_PRODUCTS = BlockPolicy(most=8, room=1 << 24)
ROWS_BY_LABEL = BlockPolicy(most=8, room=1 << 22)
# Rows by bin and label: work is counted in scores.
BIN_TABLES = BlockPolicy(most=16, smallest=1 << 14, work_per_sum=1)
# Mean rows of bins: work is counted in rows.
BIN_ROWS = BlockPolicy(most=16, smallest=1 << 12)
# Gaps of all classes by bin: work is counted in entries.
CLASS_GAPS = BlockPolicy(most=16, work_per_sum=16)


def count_blocks(matrix: npt.NDArray[Any]) -> int:
    """Return the number of blocks for a pass over a matrix."""
    return MATRIX.count(matrix.size)


def add_up(partial: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the sum over the blocks, in their order."""
    return np.asarray(partial[0] if len(partial) == 1 else partial.sum(axis=0))
