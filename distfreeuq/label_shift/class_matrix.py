"""Matrices by pairs of classes of which most hold nothing, and the classes that do.

Two hundred rows have labels of at most two hundred classes, however many there are. A
fit to thousands of classes is that of the classes which take part, and its matrices are
kept for these alone: the others would fill the memory with zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.memory import check_memory
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import (
    State,
    count,
    floats,
    integers,
    real,
    require,
)

# Up to these many classes, all take part.
MANY_CLASSES = 500


@register("class-matrix")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassMatrix:
    """A (K, K) matrix that is zero outside some rows and columns.

    ``np.asarray`` makes the whole of it.

    Attributes
    ----------
    n_classes : int
        K.
    rows, columns : ndarray (R,), (C,)
        Numbers of the classes, ascending.
    block : ndarray (R, C)
        Their entries, float64.
    diagonal_elsewhere : float
        What is on the diagonal at the other classes: +inf for variances.
    """

    n_classes: int
    rows: IntArray
    columns: IntArray
    block: FloatMatrix
    diagonal_elsewhere: float = 0.0

    _state: ClassVar[State] = {
        "n_classes": count("K"),
        "rows": integers("R", below="K"),
        "columns": integers("C", below="K"),
        "block": floats("R", "C"),
        "diagonal_elsewhere": real(0.0, finite=False),
    }

    def _validate_state(self) -> None:
        for numbers in (self.rows, self.columns):
            require(bool((np.diff(numbers) > 0).all()), "ascending numbers of classes")

    def __repr__(self) -> str:
        """Return one line."""
        shape = f"{self.rows.size} x {self.columns.size}"
        return f"<ClassMatrix K={self.n_classes}, {shape} entries>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatMatrix:
        """Return the whole matrix, (K, K)."""
        return self.whole().astype(dtype or np.float64, copy=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(K, K)."""
        return self.n_classes, self.n_classes

    def sum(self, axis: int) -> FloatArray:
        """Return the sums over the rows (axis 0) or columns, shape (K,)."""
        out = np.zeros(self.n_classes)
        out[self.columns if axis == 0 else self.rows] = self.block.sum(axis=axis)
        return out

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (K,)."""
        out = np.full(self.n_classes, self.diagonal_elsewhere)
        both, row, column = np.intersect1d(
            self.rows, self.columns, assume_unique=True, return_indices=True
        )
        out[both] = self.block[row, column]
        return out

    def at(self, rows: IntArray, columns: IntArray) -> FloatMatrix:
        """Return the entries of some rows and columns; zeros where there are none."""
        out = np.zeros((rows.size, columns.size))
        _, to_row, row = np.intersect1d(
            rows, self.rows, assume_unique=True, return_indices=True
        )
        _, to_column, column = np.intersect1d(
            columns, self.columns, assume_unique=True, return_indices=True
        )
        out[np.ix_(to_row, to_column)] = self.block[np.ix_(row, column)]
        return out

    def whole(self) -> FloatMatrix:
        """Return the matrix with all its zeros, (K, K)."""
        needed = 16.0 * self.n_classes**2
        must = "few enough for a matrix by pairs of classes (.block has what is in it)"
        check_memory(Arguments("ClassMatrix.whole"), "n_classes", must, needed)
        out = np.zeros(self.shape)
        if self.diagonal_elsewhere:
            np.fill_diagonal(out, self.diagonal_elsewhere)
        out[np.ix_(self.rows, self.columns)] = self.block
        return out


@dataclass(frozen=True, slots=True, eq=False)
class TakingPart:
    """The classes that take part in a fit.

    Attributes
    ----------
    n_classes : int
        All of them, K.
    classes : ndarray (J,) or None
        Numbers of those that take part, ascending; None if all do.
    """

    n_classes: int
    classes: IntArray | None

    @classmethod
    def if_few(cls, marked: BoolArray) -> TakingPart:
        """Return the marked classes if they are few of many, and else all."""
        few = 2 * int(marked.sum()) <= marked.size > MANY_CLASSES
        return cls(marked.size, np.flatnonzero(marked) if few else None)

    @property
    def size(self) -> int:
        """Number of classes that take part, J."""
        return self.n_classes if self.classes is None else int(self.classes.size)

    def codes(self, labels: IntArray) -> IntArray:
        """Return labels as numbers among those that take part."""
        if self.classes is None:
            return labels
        place = np.zeros(self.n_classes, dtype=np.int64)
        place[self.classes] = np.arange(self.classes.size)
        return np.asarray(place[labels])

    def columns(self, matrix: FloatMatrix) -> FloatMatrix:
        """Return the columns of those that take part."""
        if self.classes is None:
            return matrix
        return np.ascontiguousarray(matrix[:, self.classes])

    def of(self, values: FloatArray) -> FloatArray:
        """Return the numbers of those that take part (J,) from those of all."""
        return values if self.classes is None else values[self.classes]

    def vector(self, values: FloatArray, elsewhere: float = 0.0) -> FloatArray:
        """Return numbers of all classes (K,) from those of the ones that take part."""
        if self.classes is None:
            return values
        out = np.full(self.n_classes, elsewhere, dtype=values.dtype)
        out[self.classes] = values
        return out

    def matrix(
        self, values: FloatMatrix, elsewhere: float
    ) -> ClassMatrix | FloatMatrix:
        """Return a read-only matrix by pairs of all classes."""
        if self.classes is None:
            return read_only(values)
        return ClassMatrix(
            self.n_classes, self.classes, self.classes, read_only(values), elsewhere
        )


def check_room(
    args: Arguments, taking_part: TakingPart, n_matrices: int, instead: str = ""
) -> None:
    """Refuse classes whose matrices do not fit into the memory, before they are made.

    Parameters
    ----------
    args : Arguments
    taking_part : TakingPart
    n_matrices : int
        Matrices by pairs of classes that are in memory at the same time.
    instead : str
        What else could be done.
    """
    k = taking_part.size
    must = (
        "of fewer classes with rows, or rows of a machine with more memory: "
        f"{n_matrices} matrices of {k} x {k} numbers are made{instead}"
    )
    check_memory(args, "probs", must, 8.0 * n_matrices * k**2)
