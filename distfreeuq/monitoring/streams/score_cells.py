"""The score by which rows of a stream are ranked, as one of 65,536 cells.

A cell is a function of the row alone, fixed before any row was seen: cells between
quantiles of the source would leave no exact p-values, as the rows that made them stand
in the line too. Rows of one cell are tied, and ties are broken at random, so that a
coarse cell costs power and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import LARGEST, Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IndexArray,
    IntArray,
)
from distfreeuq._base.arrays import describe, is_integer
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, maybe, nothing, require, text

N_CELLS = 2**16

NAMES = ("confidence", "class", "class-confidence", "aps")
"""Scores of the predicted class and its probability."""

# Log-odds of the predicted class between which cells are equally wide. Those of a
# uniform row of a million classes are -14; beyond 37 a double is one.
_LOW_LOGIT, _HIGH_LOGIT = -16.0, 40.0

# Cells of any number x: a bit for its sign, then for |x| 64 octaves of 512 cells each.
_STEPS = 9
_OCTAVES = 6
_SMALLEST_EXPONENT = 1023 - 32


@register("stream-score")
@dataclass(frozen=True, slots=True)
class StreamScore:
    """What is watched of a row.

    Attributes
    ----------
    name : str
        One of `NAMES`, "column" for a column of the features, or "function".
    column : int or None
    n_features : int or None
        Columns of the features, where there are any.
    function : callable or None
    """

    name: str
    column: int | None = None
    n_features: int | None = None
    function: Callable[[Any], Any] | None = None

    _state: ClassVar[State] = {
        "name": text(*NAMES, "column", "function"),
        "column": maybe(count()),
        "n_features": maybe(count(low=1)),
        "function": nothing(),
    }

    def _check_savable(self) -> None:
        if self.function is not None:
            must = "one of the package's: a file holds no code"
            Arguments("save").invalid("score", must, describe(self.function))

    def _validate_state(self) -> None:
        require(self.name != "function", "a score of the package's own")
        by_column = self.name == "column"
        require((self.column is not None) == by_column, "a column for that score only")
        require((self.n_features is not None) == by_column, "features for a column")
        if self.column is not None and self.n_features is not None:
            require(self.column < self.n_features, "a column that there is")

    @property
    def draws(self) -> int:
        """How many uniforms a row takes: one breaks ties."""
        return 2 if self.name == "aps" else 1

    def describe(self) -> str:
        """Return what the summary prints."""
        if self.name == "column":
            return f"column {self.column} of features"
        if self.function is not None:
            return str(getattr(self.function, "__name__", "own")) + " (given)"
        return _DESCRIBED[self.name]


_DESCRIBED = {
    "confidence": "confidence",
    "class": "predicted class",
    "class-confidence": "class, confidence",
    "aps": "APS of the prediction",
}


def read_score(
    args: Arguments, score: Any, n_classes: int, features: FloatMatrix | None
) -> StreamScore:
    """Return the score that the user chose."""
    n_features = None if features is None else features.shape[1]
    if callable(score):
        return StreamScore("function", None, n_features, score)
    if is_integer(score):
        if n_features is None:
            must = "given where score= is the number of a column"
            args.invalid("features", must, "None")
        column = args.count(score, "score", low=0, high=n_features - 1)
        return StreamScore("column", column, n_features)
    if not isinstance(score, str) or score not in NAMES:
        listed = ", ".join(repr(name) for name in NAMES)
        must = f"one of {listed}, the number of a column of features=, or a function"
        args.invalid("score", must, describe(score))
    if features is not None:
        must = "None for a score of the predictions"
        args.invalid("features", must, f"a matrix with {n_features} columns")
    if score.startswith("class") and n_classes > N_CELLS:
        must = f"'confidence' with more than {N_CELLS} classes"
        args.invalid("score", must, describe(score))
    return StreamScore(score)


def read_features(
    args: Arguments, score: StreamScore | None, features: Any, n_rows: int
) -> FloatMatrix | None:
    """Return a matrix of as many rows, with the columns that the source had."""
    wanted = None if score is None else score.n_features
    if features is None:
        if wanted is not None:
            must = f"a matrix with {wanted} columns, as in shift_monitor"
            args.invalid("features", must, "None")
        return None
    matrix = args.features(features, "features")
    if matrix.shape[0] != n_rows:
        must = f"of {n_rows} rows, as probabilities are"
        args.invalid("features", must, f"{matrix.shape[0]} rows")
    if score is not None and matrix.shape[1] != wanted:
        must = "None, as in shift_monitor"
        if wanted is not None:
            must = f"of {wanted} columns, as in shift_monitor"
        args.invalid("features", must, f"{matrix.shape[1]} columns")
    return matrix


# ------------------------------------------------------------------------------- cells


def cells_of(
    score: StreamScore,
    predicted: IntArray,
    confidence: FloatArray,
    n_classes: int,
    uniforms: FloatMatrix,
    own: FloatArray | None,
) -> IndexArray:
    """Return the cell of each row, shape (n,); larger scores are in larger cells.

    `own` are the numbers of a column or a function, `uniforms` (n, draws).
    """
    if own is not None:
        return _number_cells(own)
    if score.name == "class":
        return predicted.astype(np.int32)
    if score.name == "aps":
        top = np.minimum(confidence.astype(np.float64), 1.0)
        found = (uniforms[:, 1] * top * N_CELLS).astype(np.int32)
        return np.minimum(found, np.int32(N_CELLS - 1))
    cells = _confidence_cells(confidence)
    if score.name == "class-confidence":
        wide = N_CELLS // n_classes
        inside = cells.astype(np.int64) * wide // N_CELLS
        cells = (predicted * wide + inside).astype(np.int32)
    return cells


def _confidence_cells(confidence: FloatArray) -> IndexArray:
    """Return cells of equal width in log-odds: 1 - 1e-6 is not 1 - 1e-7."""
    top = np.minimum(confidence.astype(np.float64), 1.0)
    with np.errstate(divide="ignore"):
        logit = np.log(top) - np.log1p(-top)
    place = (logit - _LOW_LOGIT) * (N_CELLS / (_HIGH_LOGIT - _LOW_LOGIT))
    return np.clip(place, 0, N_CELLS - 1).astype(np.int32)


def _number_cells(values: FloatArray) -> IndexArray:
    """Return cells of relative width 1/512, from 2^-32 to 2^32 and for either sign."""
    numbers = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    bits = np.abs(numbers).view(np.int64) >> (52 - _STEPS)
    half = N_CELLS // 2
    size = np.clip(bits - (_SMALLEST_EXPONENT << _STEPS), 0, (1 << 15) - 1)
    found: IndexArray = np.where(numbers < 0, half - 1 - size, half + size).astype(
        np.int32
    )
    return found


def own_numbers(
    args: Arguments,
    score: StreamScore,
    probs: FloatMatrix,
    features: FloatMatrix | None,
) -> FloatArray | None:
    """Return a number per row from the column or function; None for other scores."""
    if score.name == "column" and features is not None:
        return features[:, score.column]
    if score.function is None:
        return None
    found: ArrayLike = score.function(probs if features is None else features)
    must = "a function that returns a finite number for each row"
    array = args.array(found, "score", "numbers")
    if array.shape != (probs.shape[0],) or array.dtype.kind not in "iufb":
        got = f"an array of shape {array.shape} and dtype {array.dtype}"
        args.invalid("score", must, got)
    return args.vector(array, "score", must, low=-LARGEST, high=LARGEST)
