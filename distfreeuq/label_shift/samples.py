"""The two samples that an estimate is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distfreeuq._persistence import register
from distfreeuq._typing import ArrayLike, Classes, FloatMatrix, IntArray
from distfreeuq._validate import Door, RowCheck, first_bad_row
from distfreeuq.label_shift.row_sums import check_and_predict

_MAX_NAMED = 5


@register
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Samples:
    """Both samples, by reference.

    Attributes
    ----------
    probs : ndarray (n, K)
        Source predictions, as the user gave them.
    labels : ndarray (n,)
        Their classes, as column numbers.
    probs_target : ndarray (m, K)
        Target predictions.
    """

    probs: FloatMatrix
    labels: IntArray
    probs_target: FloatMatrix

    def __repr__(self) -> str:
        """Return one line."""
        n, m = self.probs.shape[0], self.probs_target.shape[0]
        return f"<Samples n={n} m={m} K={self.probs.shape[1]}>"

    @property
    def class_counts(self) -> IntArray:
        """Source rows by class, shape (K,)."""
        return np.bincount(self.labels, minlength=self.probs.shape[1])


class Predictions:
    """Predicts the most likely class of each row in the read that checks the rows."""

    __slots__ = ("of_source", "of_target")

    of_source: IntArray
    of_target: IntArray

    def check_source(self, matrix: FloatMatrix, tolerance: float) -> int:
        """Return the first row that is no probability vector, or -1."""
        self.of_source = np.empty(matrix.shape[0], dtype=np.int64)
        return check_and_predict(matrix, tolerance, self.of_source)

    def check_target(self, matrix: FloatMatrix, tolerance: float) -> int:
        """Return the same of the target's rows."""
        self.of_target = np.empty(matrix.shape[0], dtype=np.int64)
        return check_and_predict(matrix, tolerance, self.of_target)


def read_samples(
    door: Door,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    classes: ArrayLike | None,
    predictions: Predictions | None = None,
) -> tuple[Samples, Classes]:
    """Return checked samples of at least one row, and the classes of their columns.

    The predicted classes of both go to `predictions`, if they are wanted.
    """
    source_check: RowCheck = first_bad_row
    target_check: RowCheck = first_bad_row
    if predictions is not None:
        source_check = predictions.check_source
        target_check = predictions.check_target
    source, names = door.probs(probs, classes=classes, check=source_check)
    codes = door.labels(labels, names, source.shape[0])
    target = door.new_probs(probs_target, names, "probs_target", target_check)
    for parameter, matrix in (("probs", source), ("probs_target", target)):
        if matrix.shape[0] == 0:
            door.refuse(parameter, "at least one row", "none")
    return Samples(source, codes, target), names


def name_classes(classes: Classes, positions: Sequence[int] | IntArray) -> str:
    """Return "class 'a'", or "classes 'a', 'b' and 3 more"."""
    names = [repr(classes[int(k)]) for k in positions]
    shown = ", ".join(names[:_MAX_NAMED])
    if len(names) > _MAX_NAMED:
        shown += f" and {len(names) - _MAX_NAMED} more"
    return f"class {shown}" if len(names) == 1 else f"classes {shown}"
