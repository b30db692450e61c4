"""Arrays of unknown length, put together of blocks with little room beside them.

Blocks are copied into long pieces at once, so that their memory serves the next blocks;
the pieces are so long that the system takes each one back as soon as it is let go. A
list of blocks in its place would keep twice the room of what is joined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distfreeuq._base.arrays import AnyArray

_ROWS_OF_PIECE = 1 << 22
"""Of doubles 32 MB, from which size on C's library asks the system for memory."""


class JoinedRows:
    """Several arrays with a number per row, block after block.

    Attributes
    ----------
    n : int
        Rows that were appended.
    """

    def __init__(self) -> None:
        self.n = 0
        self._pieces: list[list[AnyArray]] = []
        self._used = _ROWS_OF_PIECE

    def append(self, arrays: Sequence[AnyArray]) -> None:
        """Copy a block's arrays behind those of the blocks before."""
        size, done = arrays[0].shape[0], 0
        self.n += size
        while done < size:
            if self._used == _ROWS_OF_PIECE:
                self._pieces.append(
                    [np.empty(_ROWS_OF_PIECE, dtype=one.dtype) for one in arrays]
                )
                self._used = 0
            some = min(size - done, _ROWS_OF_PIECE - self._used)
            for piece, one in zip(self._pieces[-1], arrays, strict=True):
                piece[self._used : self._used + some] = one[done : done + some]
            self._used += some
            done += some

    def whole(self) -> tuple[AnyArray, ...]:
        """Return the arrays of all rows, of which there is one at least.

        Pieces are let go as they are copied.
        """
        pieces, n = self._pieces, self.n
        if len(pieces) == 1:
            return tuple(piece[:n].copy() for piece in pieces.pop())
        out = tuple(np.empty(n, dtype=piece.dtype) for piece in pieces[0])
        start = 0
        pieces.reverse()
        while pieces:
            piece = pieces.pop()
            some = min(n - start, _ROWS_OF_PIECE)
            for whole, own in zip(out, piece, strict=True):
                whole[start : start + some] = own[:some]
            start += some
        return out
