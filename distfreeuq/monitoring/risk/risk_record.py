"""What is kept of a stream's losses: their sums at a bounded number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, floats, integers, require

_MOST = 512
"""Rows that are kept; of twice as many every second one is."""


@register("risk-record")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RiskRecord:
    """Sums after every `stride`-th row.

    Attributes
    ----------
    stride : int
        A power of two.
    rows : ndarray (R,)
        Multiples of it, as many as the stream has.
    totals, spreads : ndarray (R,)
        Sums of the losses, and of their squared distances from the mean before.
    """

    stride: int
    rows: IntArray
    totals: FloatArray
    spreads: FloatArray

    _state: ClassVar[State] = {
        "stride": count(low=1),
        "rows": integers("R", low=1),
        "totals": floats("R", low=0.0, finite=True, ascending=True),
        "spreads": floats("R", low=0.0, finite=True, ascending=True),
    }

    def _validate_state(self) -> None:
        size = self.rows.size
        require(size <= _MOST, f"at most {_MOST} rows")
        multiples = self.stride * np.arange(1, size + 1, dtype=np.int64)
        require((self.rows == multiples).all(), "multiples of the stride")
        within = (self.totals <= self.rows + 1e-6).all()
        require(within, "losses that are at most one")

    def extended(
        self, before: int, totals: FloatArray, spreads: FloatArray
    ) -> RiskRecord:
        """Return the record with the rows that come after the first `before`."""
        stride = self.stride
        while (before + totals.size) // stride > _MOST:
            stride *= 2
        new = np.arange(before // stride + 1, (before + totals.size) // stride + 1)
        rows = new * stride
        at = rows - before - 1
        kept = self.rows % stride == 0
        return RiskRecord(
            stride=stride,
            rows=read_only(np.concatenate([self.rows[kept], rows])),
            totals=read_only(np.concatenate([self.totals[kept], totals[at]])),
            spreads=read_only(np.concatenate([self.spreads[kept], spreads[at]])),
        )


def no_record() -> RiskRecord:
    """Return the record of a stream without labels."""
    nothing = read_only(np.empty(0))
    return RiskRecord(1, read_only(np.empty(0, dtype=np.int64)), nothing, nothing)
