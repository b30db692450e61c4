"""Sums of outer products of rows: what Hessians and sandwiches are made of."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._kernels import _gram
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import OUTER_PRODUCTS, ROW_SUMS, add_up

_UNSCALED = np.empty(0)


class Gram:
    """A sum of outer products to which chunks of rows are added.

    By our own kernel: about as fast as BLAS on one thread, the same to the last bit on
    any number of them, and without a second pool of threads that gets in its way.

    Parameters
    ----------
    width : int
        Length p of the rows.
    single : bool
        Multiply in single precision: six digits, in half the time.
    n_blocks : int, optional
        Sums that threads share; if None, few, because every chunk is added to all.
    """

    __slots__ = ("_blocks", "_single")

    def __init__(
        self, width: int, *, single: bool = False, n_blocks: int | None = None
    ) -> None:
        self._single = single
        if n_blocks is None:
            n_blocks = OUTER_PRODUCTS.count_for_any_work(width**2)
        self._blocks = np.zeros((n_blocks, width, width))

    def add(self, rows: FloatMatrix, weights: FloatArray) -> None:
        """Add the products weight_i row_i row_i' of some rows."""
        self.add_scaled(rows, np.sqrt(weights))

    def add_scaled(self, rows: FloatMatrix, row_scale: FloatArray | None) -> None:
        """Add the products of row_scale_i row_i, of the rows themselves if None."""
        scale = _UNSCALED if row_scale is None else row_scale
        _gram._gram_rows(
            rows, scale, self._single, self._blocks, threads_for(rows.size)
        )

    def total(self) -> FloatMatrix:
        """Return the sum of all that was added, (p, p)."""
        return add_up(self._blocks)


def gram(
    rows: FloatMatrix, row_scale: FloatArray | None = None, *, single: bool = False
) -> FloatMatrix:
    """Return sum_i row_scale_i^2 row_i row_i', shape (p, p).

    `single` multiplies in single precision: twice as fast, six digits.
    """
    n, width = rows.shape
    n_blocks = ROW_SUMS.count(n, width**2)
    products = Gram(width, single=single, n_blocks=n_blocks)
    products.add_scaled(rows, row_scale)
    return products.total()
