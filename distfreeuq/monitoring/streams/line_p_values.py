"""P-values of rows that join a line, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distfreeuq._base.array_types import FloatArray, IndexArray, IntArray
from distfreeuq._kernels import _streams

BLOCK = 1 << 17
"""Rows after which Ctrl-C is answered: a tenth of a second or less."""


def blocks(n: int, size: int | None = None) -> Iterator[slice]:
    """Yield the rows of one call of a kernel after another."""
    size = size or BLOCK
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


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
    for at in blocks(cells.size):
        rows = cells[at], uniforms[at]
        _streams._rank_in_line(*rows, longer, tree, before + at.start, p[at], q[at])
    return longer, p, q
