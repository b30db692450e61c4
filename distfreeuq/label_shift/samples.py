"""The two samples that an estimate is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from distfreeuq._persistence import register
from distfreeuq._typing import ArrayLike, Classes, FloatMatrix, IntArray
from distfreeuq._validate import Door

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


def read_samples(
    door: Door,
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    classes: ArrayLike | None,
) -> tuple[Samples, Classes]:
    """Return checked samples of at least one row, and the classes of their columns."""
    source, names = door.probs(probs, classes=classes)
    codes = door.labels(labels, names, source.shape[0])
    target = door.new_probs(probs_target, names, "probs_target")
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
