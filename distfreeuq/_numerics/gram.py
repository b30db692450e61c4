"""Sums of outer products of rows: what Hessians and sandwiches are made of."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._kernels import _gram
from distfreeuq._kernels.threads import threads_for

_MAX_BLOCKS = 8
_MAX_ENTRIES = 1 << 24


class Gram:
    """A sum of outer products that chunks of rows are added to.

    By our own kernel: about as fast as BLAS on one thread, the same to the last bit on
    any number of them, and without a second pool of threads that gets in its way.

    Parameters
    ----------
    width : int
        Length p of the rows.
    single : bool
        Multiply in single precision: six digits, in half the time.
    """

    __slots__ = ("_blocks", "_single")

    def __init__(self, width: int, *, single: bool = False) -> None:
        self._single = single
        n_blocks = max(1, min(_MAX_BLOCKS, _MAX_ENTRIES // width**2))
        self._blocks = np.zeros((n_blocks, width, width))

    def add(self, rows: FloatMatrix, weights: FloatArray) -> None:
        """Add the products weight_i row_i row_i' of some rows."""
        _gram._gram_rows(
            rows,
            np.sqrt(weights),
            self._single,
            self._blocks,
            threads_for(rows.size),
        )

    def total(self) -> FloatMatrix:
        """Return the sum of all that was added, (p, p)."""
        upper = np.triu(self._blocks.sum(axis=0))
        return np.asarray(upper + np.triu(upper, 1).T)
