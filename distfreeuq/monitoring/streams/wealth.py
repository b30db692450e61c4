"""Capital that is bet on p-values: what the kernel needs, between two calls of it.

The bets are those of src_c/bets.h: powers and slopes in p, and histograms of past
p-values with pieces of several sizes and memories of several lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    floats,
    integers,
    masses,
    real,
    require,
)
from distfreeuq._kernels import _streams
from distfreeuq.monitoring.streams.line_p_values import blocks

_CASH, _POWERS, _SLOPES, _FIRST_HISTOGRAM = 1, 8, 4, 13
_MOST_PIECES, _MOST_BETS = 64, 64

# Pieces and memory (rows after which a p-value counts 1/e) of the histograms.
_HISTOGRAMS = ((4, 200.0), (4, 2000.0), (16, 500.0), (16, 4000.0), (64, 4000.0))
_CLASS_MEMORY = 2000.0

# P-values that every piece has before there are any: a histogram of few is flat.
_PRIOR = 10.0

# What a pool spreads anew after each row; 0 is 1/(t + 1) after t rows, which fits any
# number of rows before a change, as the others fit about 100, 1000 and 10,000.
_SHARES = (0.0, 1e-2, 1e-3, 1e-4)

# Half of all capital begins as cash, so that a long wait costs at most half.
_IN_CASH = 0.5


@register("wealth")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Wealth:
    """The capital on E bets in P pools, H of the bets by histograms.

    Attributes
    ----------
    start : ndarray (E,)
        How capital is spread in the beginning.
    shares : ndarray (P,)
        What of its capital a pool spreads anew after each row.
    capital : ndarray (P, E)
        In units of exp(`log_scale`).
    log_scale : float
    since_best : ndarray (E,)
        What each bet made since the row at which that is most.
    best_start : ndarray (E,)
        How many rows came before that one.
    pieces, growth, prior, weight, totals : ndarray (H,)
    counts : ndarray (H, 64)
    """

    start: FloatArray
    shares: FloatArray
    capital: FloatMatrix
    log_scale: float
    since_best: FloatArray
    best_start: IntArray
    pieces: IntArray
    growth: FloatArray
    prior: FloatArray
    weight: FloatArray
    counts: FloatMatrix
    totals: FloatArray

    _state: ClassVar[State] = {
        "start": masses("E"),
        "shares": floats("P", low=0.0, high=0.5, finite=True),
        "capital": masses("P", "E"),
        "log_scale": real(),
        "since_best": masses("E"),
        "best_start": integers("E"),
        "pieces": integers("H", low=2, below=_MOST_PIECES + 1),
        "growth": floats("H", low=1.0, high=2.0, finite=True),
        "prior": floats("H", low=1e-6, high=1e6, finite=True),
        "weight": floats("H", low=1.0, high=1e100, finite=True),
        "counts": masses("H", _MOST_PIECES),
        "totals": masses("H"),
    }

    def _validate_state(self) -> None:
        n_bets, histograms = self.start.size, self.pieces.size
        require(self.shares.size and histograms, "a pool and a histogram")
        require(n_bets == _FIRST_HISTOGRAM + histograms, "a bet for each histogram")
        require(n_bets <= _MOST_BETS, f"at most {_MOST_BETS} bets")
        require(abs(self.start.sum() - 1.0) < 1e-9, "capital spread that sums to one")
        whole = self.capital.sum()
        require(1e-101 < whole < 1e101, "capital within its scale")

    @property
    def log_wealth(self) -> float:
        """Logarithm of all capital, 0 in the beginning."""
        return math.log(self.capital.sum()) + self.log_scale

    @property
    def change_at(self) -> int:
        """Rows before the best bet of all began to win: an estimate of the change."""
        return int(self.best_start[int(np.argmax(self.since_best))])

    def after(
        self, p: FloatArray, q: FloatArray, before: int
    ) -> tuple[Wealth, FloatArray]:
        """Return the wealth after these p-values, q = 1 - p, and its logarithms."""
        names = "capital", "since_best", "best_start", "weight", "counts", "totals"
        own = {name: getattr(self, name).copy() for name in names}
        log_wealth = np.empty(p.size)
        log_scale = self.log_scale
        for at in blocks(p.size):
            log_scale = _streams._bet(
                p[at],
                q[at],
                before + at.start,
                self.start,
                self.shares,
                own["capital"],
                log_scale,
                own["since_best"],
                own["best_start"],
                self.pieces,
                self.growth,
                self.prior,
                own["weight"],
                own["counts"],
                own["totals"],
                log_wealth[at],
            )
        parts = {name: read_only(array) for name, array in own.items()}
        return replace(self, log_scale=log_scale, **parts), log_wealth


def first_wealth(bets: tuple[str, ...], n_classes: int) -> Wealth:
    """Return capital of one, spread over bets of these families."""
    of_classes = min(max(n_classes, 2), _MOST_PIECES)
    histograms = [*_HISTOGRAMS, (of_classes, _CLASS_MEMORY)]
    n = len(histograms)
    families = {
        "power": slice(_CASH, _CASH + _POWERS),
        "slope": slice(_CASH + _POWERS, _FIRST_HISTOGRAM),
        "histogram": slice(_FIRST_HISTOGRAM, _FIRST_HISTOGRAM + n - 1),
        "class": slice(_FIRST_HISTOGRAM + n - 1, _FIRST_HISTOGRAM + n),
    }
    start = np.zeros(_FIRST_HISTOGRAM + n)
    start[0] = _IN_CASH
    for name in bets:
        members = start[families[name]]
        members[:] = (1.0 - _IN_CASH) / len(bets) / members.size
    shares = np.array(_SHARES)
    return Wealth(
        start=read_only(start),
        shares=read_only(shares),
        capital=read_only(np.tile(start / shares.size, (shares.size, 1))),
        log_scale=0.0,
        since_best=read_only(np.ones(start.size)),
        best_start=read_only(np.zeros(start.size, dtype=np.int64)),
        pieces=read_only(np.array([pieces for pieces, _ in histograms])),
        growth=read_only(np.array([math.exp(1.0 / m) for _, m in histograms])),
        prior=read_only(np.full(n, _PRIOR)),
        weight=read_only(np.ones(n)),
        counts=read_only(np.zeros((n, _MOST_PIECES))),
        totals=read_only(np.zeros(n)),
    )


FAMILIES = ("power", "slope", "histogram", "class")
"""What may be bet."""
