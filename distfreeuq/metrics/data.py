"""What the metrics need of a row: a probability, whether it came true, a weight.

The matrix is read once; all that follows works on vectors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    ByteMatrix,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import AnyArray
from distfreeuq._kernels import _row_stats
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.row_blocks import Block, RowBlocks, read_blocks

EVENTS = ("predicted", "class-1")

# What may be read of every row. What is not asked for takes no memory.
TOP = frozenset({"confidence"})
BY_CLASS = frozenset({"confidence", "predicted"})
ALL = frozenset({"confidence", "predicted", "of_label", "brier"})

# A share of the largest weight whose square is no number: such a row has no weight.
_NO_WEIGHT = 1e-150


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """Checked rows, ready for sums.

    Attributes
    ----------
    confidence : ndarray (n,)
        Probability of the event, in the precision it was given in; empty if it was not
        asked for.
    hits : ndarray (n,) of uint8
        1 where the event came true.
    weights : ndarray (n,)
        Divided by the largest, so that equal weights are exactly 1.
    weight_scale : float
        The largest weight.
    predicted, labels : ndarray (n,) or None
        Column numbers, where they are known and asked for.
    of_label, brier : ndarray (n,) or None
        The label's probability, and the row's Brier score, likewise.
    probs : ndarray (n, K) or None
    classes : sequence
    """

    confidence: FloatArray
    hits: ByteMatrix
    weights: FloatArray
    weight_scale: float
    predicted: IntArray | None = None
    labels: IntArray | None = None
    of_label: FloatArray | None = None
    brier: FloatArray | None = None
    probs: FloatMatrix | None = None
    classes: Classes = ()

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.hits.size

    def mean(self, values: FloatArray) -> float:
        """Return the weighted mean; rows of weight zero count for nothing.

        It is not a product of vectors, because BLAS would start threads that compete
        with those of the kernels.
        """
        if self.weights.min() == self.weights.max():
            return float(values.mean())
        used = self.weights > 0.0
        if not used.all():
            return float(np.average(values[used], weights=self.weights[used]))
        return float(np.average(values, weights=self.weights))


def read_matrix(
    args: Arguments,
    probs: Any,
    labels: Any,
    *,
    sample_weight: ArrayLike | None,
    classes: Any,
    event: str = "predicted",
    needs: Collection[str] = TOP,
    parameter: str = "probs",
) -> Rows:
    """Return what is needed of probabilities (n, K), or (n,) of class 1, and labels.

    Of rows in blocks the same numbers are gathered, and the matrix is left where it is.
    """
    event = args.choice(event, "event", EVENTS)
    given: dict[str, Any] = {parameter: probs, "labels": labels}
    blocks = read_blocks(args, {**given, "sample_weight": sample_weight})
    if blocks is not None:
        return _gather(args, blocks, blocks.classes(classes), event, needs)
    unchecked, names = args.unchecked_probs(probs, parameter, classes)
    matrix = unchecked.matrix
    n, n_classes = matrix.shape
    numbers = args.labels(labels, names, n)
    weights, scale = _weights(args, sample_weight, n, parameter)
    hits = np.empty(n, dtype=np.uint8)
    predicted = np.empty(n if "predicted" in needs else 0, dtype=np.int64)
    confidence, of_label = (
        np.empty(n if name in needs else 0, dtype=matrix.dtype)
        for name in ("confidence", "of_label")
    )
    brier = np.empty(n if "brier" in needs else 0)
    bad = _row_stats._read_rows(
        matrix,
        numbers,
        unchecked.tolerance,
        hits,
        predicted,
        confidence,
        of_label,
        brier,
        threads_for(matrix.size),
    )
    unchecked.raise_if_invalid(bad)
    if event == "class-1":
        if n_classes != 2:
            must = "'predicted' with more than two classes"
            args.invalid("event", must, f"'class-1' with {n_classes} classes")
        confidence = np.ascontiguousarray(matrix[:, 1])
        hits = (numbers == 1).view(np.uint8)
    return Rows(
        confidence=confidence,
        hits=hits,
        weights=weights,
        weight_scale=scale,
        predicted=predicted if "predicted" in needs else None,
        labels=numbers,
        of_label=of_label if "of_label" in needs else None,
        brier=brier if "brier" in needs else None,
        probs=matrix,
        classes=names,
    )


def _gather(
    args: Arguments,
    blocks: RowBlocks,
    classes: Classes,
    event: str,
    needs: Collection[str],
) -> Rows:
    """Return the same of rows in blocks: some numbers of each row, in one pass."""
    read = _ReadBlock(blocks.parameter, classes, event, tuple(needs))
    hits, labels, predicted, confidence, of_label, brier, weight = blocks.joined(read)
    sample_weight = weight if blocks.has("sample_weight") else None
    weights, scale = _weights(args, sample_weight, hits.size, blocks.parameter)
    return Rows(
        confidence=confidence,
        hits=hits,
        weights=weights,
        weight_scale=scale,
        predicted=predicted if "predicted" in needs else None,
        labels=labels,
        of_label=of_label if "of_label" in needs else None,
        brier=brier if "brier" in needs else None,
        classes=classes,
    )


@dataclass(frozen=True, slots=True)
class _ReadBlock:
    """Reads the numbers of a block's rows; those that are not needed are zeros."""

    parameter: str
    classes: Classes
    event: str
    needs: tuple[str, ...]

    def __call__(self, block: Block) -> tuple[AnyArray, ...]:
        given: dict[str, Any] = {
            "probs": block[self.parameter],
            "labels": block["labels"],
        }
        rows = read_matrix(
            block.args,
            **given,
            sample_weight=None,
            classes=self.classes,
            event=self.event,
            needs=self.needs,
            parameter=self.parameter,
        )
        weights, nothing = block.weights(), np.zeros(rows.n, dtype=np.bool_)
        found = (rows.predicted, rows.confidence, rows.of_label, rows.brier, weights)
        return (
            rows.hits,
            nothing if rows.labels is None else rows.labels,
            *(nothing if x is None or x.size != rows.n else x for x in found),
        )


def read_predictions(
    args: Arguments,
    confidence: ArrayLike,
    labels: ArrayLike,
    predicted: ArrayLike,
    *,
    sample_weight: ArrayLike | None,
    classes: Any,
    parameter: str = "probs",
) -> Rows:
    """Return rows from the predicted labels and the confidence in them, each (n,)."""
    values = _probabilities(args, confidence, parameter)
    names = _names_of(args, classes, labels, predicted)
    numbers = args.labels(labels, names, values.size)
    guesses = args.labels(predicted, names, values.size, "predicted")
    weights, scale = _weights(args, sample_weight, values.size, parameter)
    return Rows(
        confidence=values,
        hits=(guesses == numbers).view(np.uint8),
        weights=weights,
        weight_scale=scale,
        predicted=guesses,
        labels=numbers,
        classes=names,
    )


def read_hits(
    args: Arguments,
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    sample_weight: ArrayLike | None,
) -> Rows:
    """Return rows from confidences and whether each prediction was right, each (n,)."""
    values = _probabilities(args, confidence, "confidence")
    must = "True or False (1 or 0), one per confidence"
    outcome = args.vector(
        correct, "correct", must, length=values.size, low=0.0, high=1.0
    )
    between = (outcome != 0.0) & (outcome != 1.0)
    if between.any():
        first = int(np.argmax(between))
        args.invalid("correct", must, f"{outcome[first]} at position {first}")
    weights, scale = _weights(args, sample_weight, values.size, "confidence")
    return Rows(
        confidence=values,
        hits=outcome.astype(np.uint8),
        weights=weights,
        weight_scale=scale,
    )


def _probabilities(args: Arguments, value: ArrayLike, parameter: str) -> FloatArray:
    """Return probabilities (n,) in the precision they came in: so are their edges."""
    must = "probabilities in [0, 1], shape (n,)"
    vector = args.vector(value, parameter, must, low=0.0, high=1.0)
    single = getattr(value, "dtype", None) == np.float32
    return np.ascontiguousarray(vector, dtype=np.float32 if single else np.float64)


def _names_of(
    args: Arguments, classes: Any, labels: ArrayLike, predicted: ArrayLike
) -> Classes:
    """Return the class names: those given, or 0 .. the largest number seen."""
    arrays = [
        np.asarray(args.array(labels, "labels", "labels")),
        np.asarray(args.array(predicted, "predicted", "labels")),
    ]
    if classes is not None:
        try:
            n_given = len(classes)
        except TypeError:  # of a generator, a sparse matrix, a number
            n_given = 0
        return args.classes(classes, None, n_given)
    for name, array in zip(("labels", "predicted"), arrays, strict=True):
        whole = array.dtype.kind in "iu" or all(type(x) is int for x in array.flat)
        if not whole:
            must = "integers 0, 1, ... unless 'classes' names them"
            args.invalid(name, must, f"dtype {array.dtype}")
    return range(1 + max(int(array.max(initial=0)) for array in arrays))


def _weights(
    args: Arguments, value: ArrayLike | None, n: int, first: str
) -> tuple[FloatArray, float]:
    """Return weights divided by the largest, and the largest."""
    if n == 0:
        args.invalid(first, "of at least one row", "none")
    if value is None:
        return np.ones(n), 1.0
    weights = args.weights(value, "sample_weight", n)
    largest = float(weights.max())
    relative = weights / largest
    relative[relative < _NO_WEIGHT] = 0.0
    return relative, largest


def log_losses(of_label: FloatArray) -> FloatArray:
    """Return -log of the labels' probabilities; +0.0 for 1, inf for 0."""
    with np.errstate(divide="ignore"):
        return 0.0 - np.log(of_label.astype(np.float64))
