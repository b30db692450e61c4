"""P-values of rows that join a line, one after the other."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, IndexArray, IntArray
from distfreeuq._kernels import _streams


def join_line(
    line: IntArray, cells: IndexArray, uniforms: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the line with these rows at its end, their p-values, and one minus these.

    `line` are rows by cell of the score, shape (C,), and is left as it is. Theory page,
    11.1.
    """
    longer = line.copy()
    p, q = np.empty(cells.size), np.empty(cells.size)
    tree = np.empty_like(longer)
    before = int(line.sum())
    _streams._rank_in_line(cells, uniforms, longer, tree, before, p, q)
    return longer, p, q
