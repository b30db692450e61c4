"""Rows of the source and of the stream, as the line of scores takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    FloatArray,
    IndexArray,
    IntArray,
    RandomState,
)
from distfreeuq._base.random_streams import stream
from distfreeuq._numerics.row_sums import check_and_predict
from distfreeuq.monitoring.streams.line_p_values import blocks
from distfreeuq.monitoring.streams.score_cells import (
    StreamScore,
    cells_of,
    own_numbers,
    read_features,
    read_score,
)

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class StreamRows:
    """Rows that are about to join the line.

    Attributes
    ----------
    cells : ndarray (n,) of int32
    predicted : ndarray (n,)
        Column numbers.
    uniforms : ndarray (n,)
        Break ties.
    """

    cells: IndexArray
    predicted: IntArray
    uniforms: FloatArray

    def take(self, some: slice) -> StreamRows:
        """Return some of the rows."""
        return StreamRows(self.cells[some], self.predicted[some], self.uniforms[some])


def read_source(
    args: Arguments,
    probs: UncheckedProbs,
    score: Any,
    features: Any,
    generator: np.random.Generator,
) -> tuple[StreamRows, StreamScore]:
    """Return the source's rows, and the score that the user chose."""
    n, n_classes = probs.matrix.shape
    matrix = read_features(args, None, features, n)
    chosen = read_score(args, score, n_classes, matrix)
    return _rows(args, probs, chosen, matrix, generator), chosen


def read_rows(
    args: Arguments,
    probs: UncheckedProbs,
    score: StreamScore,
    features: Any,
    generator: np.random.Generator,
) -> StreamRows:
    """Return new rows of the stream."""
    matrix = read_features(args, score, features, probs.matrix.shape[0])
    return _rows(args, probs, score, matrix, generator)


def _rows(
    args: Arguments,
    probs: UncheckedProbs,
    score: StreamScore,
    features: Any,
    generator: np.random.Generator,
) -> StreamRows:
    predicted = check_and_predict(probs)
    n, n_classes = probs.matrix.shape
    own = own_numbers(args, score, probs.matrix, features)
    cells, first = np.empty(n, dtype=np.int32), np.empty(n)
    for at in blocks(n):
        # row by row, so that batches of any size take the same numbers for each row
        uniforms = generator.random((at.stop - at.start, score.draws))
        confidence = probs.matrix[np.arange(at.start, at.stop), predicted[at]]
        numbers = None if own is None else own[at]
        cells[at] = cells_of(
            score, predicted[at], confidence, n_classes, uniforms, numbers
        )
        first[at] = uniforms[:, 0]
    return StreamRows(cells, predicted, first)


# ------------------------------------------------------- random numbers, between calls


def first_state(rng: RandomState, caller: str) -> tuple[int, int]:
    """Return the state of a generator of the monitor's own.

    Numbers of a generator that others use too could not be continued from a file.
    """
    given = stream(rng, "monitor", caller)
    words = given.integers(0, _MASK, size=4, dtype=np.uint64, endpoint=True)
    seed = np.random.SeedSequence([int(word) for word in words])
    return state_of(np.random.Generator(np.random.PCG64(seed)))


def generator_at(state: tuple[int, int]) -> np.random.Generator:
    """Return a generator that goes on from a state."""
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": state[0], "inc": state[1]},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return np.random.Generator(bits)


def state_of(generator: np.random.Generator) -> tuple[int, int]:
    """Return a generator's state, which has given out doubles only."""
    inner: Any = generator.bit_generator.state["state"]
    return int(inner["state"]), int(inner["inc"])
