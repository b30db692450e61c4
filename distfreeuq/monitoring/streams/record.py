"""What is kept of a stream's past: its wealth at a bounded number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, floats, integers, require

_MOST = 2048
"""Rows that are kept; of twice as many every second one is."""


@register("stream-record")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StreamRecord:
    """The wealth after every `stride`-th row.

    Attributes
    ----------
    stride : int
        A power of two.
    rows : ndarray (R,)
        Multiples of it, as many as the stream has.
    log_wealth, log_largest : ndarray (R,)
        Then, and the largest until then.
    """

    stride: int
    rows: IntArray
    log_wealth: FloatArray
    log_largest: FloatArray

    _state: ClassVar[State] = {
        "stride": count(low=1),
        "rows": integers("R", low=1),
        "log_wealth": floats("R", finite=True),
        "log_largest": floats("R", low=0.0, finite=True, ascending=True),
    }

    def _validate_state(self) -> None:
        size = self.rows.size
        require(size <= _MOST, f"at most {_MOST} rows")
        multiples = self.stride * np.arange(1, size + 1, dtype=np.int64)
        require((self.rows == multiples).all(), "multiples of the stride")
        require((self.log_wealth <= self.log_largest).all(), "wealth up to the largest")

    def extended(
        self, before: int, log_wealth: FloatArray, log_largest: FloatArray
    ) -> StreamRecord:
        """Return the record with the rows that come after the first `before`."""
        stride = self.stride
        while (before + log_wealth.size) // stride > _MOST:
            stride *= 2
        new = np.arange(before // stride + 1, (before + log_wealth.size) // stride + 1)
        rows = new * stride
        at = rows - before - 1
        kept = self.rows % stride == 0
        return StreamRecord(
            stride=stride,
            rows=read_only(np.concatenate([self.rows[kept], rows])),
            log_wealth=read_only(
                np.concatenate([self.log_wealth[kept], log_wealth[at]])
            ),
            log_largest=read_only(
                np.concatenate([self.log_largest[kept], log_largest[at]])
            ),
        )


def empty_record() -> StreamRecord:
    """Return the record of a stream that has not begun."""
    nothing = read_only(np.empty(0))
    return StreamRecord(1, read_only(np.empty(0, dtype=np.int64)), nothing, nothing)
