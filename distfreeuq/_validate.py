"""The one door where user input becomes arrays, and where bad input is told so.

Nothing is renormalised, changed in place or guessed. What comes out is native, contiguous
and checked, and shares memory with the input wherever that already was.
"""

from collections.abc import Hashable, Iterable
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from distfreeuq._kernels import _checks
from distfreeuq._typing import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq.exceptions import InputError
from distfreeuq.threads import threads_for

# Row sums of softmax outputs stray this far by rounding, and no further.
_SUM_TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-4}


class Door:
    """Checks the arguments of one public function, whose name its messages carry."""

    __slots__ = ("caller",)

    def __init__(self, caller: str) -> None:
        self.caller = caller

    def refuse(self, parameter: str, must: str, got: str) -> NoReturn:
        """Raise the one form of error message."""
        raise InputError(
            f"The '{parameter}' parameter of {self.caller} must be {must}. "
            f"Got {got} instead."
        )

    # ---------------------------------------------------------------- scalars

    def number(
        self,
        value: Any,
        parameter: str,
        must: str,
        *,
        low: float = -np.inf,
        high: float = np.inf,
        open_ends: bool = False,
    ) -> float:
        """Return a real number within the limits."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            self.refuse(parameter, must, _describe(value))
        number = float(value)
        inside = low < number < high if open_ends else low <= number <= high
        if not inside:
            self.refuse(parameter, must, _describe(value))
        return number

    def probability(self, value: Any, parameter: str) -> float:
        """Return a number strictly between 0 and 1."""
        return self.number(
            value, parameter, "a number in (0, 1)", low=0.0, high=1.0, open_ends=True
        )

    def alpha(self, value: Any) -> float:
        """Return the miscoverage level."""
        return self.probability(value, "alpha")

    def alphas(self, value: Any, n_classes: int) -> FloatArray:
        """Return one miscoverage level per class from a number or a vector."""
        if np.ndim(value) == 0:
            return np.full(n_classes, self.alpha(value))
        must = f"a number in (0, 1), or {n_classes} of them"
        vector = self.vector(value, "alpha", must, length=n_classes)
        outside = ~((vector > 0) & (vector < 1))
        if outside.any():
            position = int(np.flatnonzero(outside)[0])
            self.refuse("alpha", must, f"{vector[position]} at position {position}")
        return vector

    def count(self, value: Any, parameter: str, *, low: int) -> int:
        """Return an integer of at least `low`."""
        integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not integral or value < low:
            must = f"an integer of at least {low}"
            self.refuse(parameter, must, _describe(value))
        return int(value)

    def choice(self, value: Any, parameter: str, options: Iterable[str]) -> str:
        """Return one of the options."""
        options = list(options)
        if not isinstance(value, str) or value not in options:
            must = "one of " + ", ".join(repr(option) for option in options)
            self.refuse(parameter, must, _describe(value))
        return value

    def flag(self, value: Any, parameter: str) -> bool:
        """Return a bool that was given as one."""
        if not isinstance(value, bool | np.bool_):
            self.refuse(parameter, "True or False", _describe(value))
        return bool(value)

    # --------------------------------------------------------------- matrices

    def probs(
        self, value: ArrayLike, parameter: str = "probs", classes: Any = None
    ) -> tuple[FloatMatrix, Classes]:
        """Return checked probabilities (n, K), and the classes of their columns."""
        matrix = self._probability_matrix(value, parameter)
        return matrix, self.classes(classes, _column_names(value), matrix.shape[1])

    def new_probs(
        self, value: ArrayLike, classes: Classes, parameter: str = "probs"
    ) -> FloatMatrix:
        """Return checked probabilities for a fit with these classes."""
        matrix = self._probability_matrix(value, parameter)
        if matrix.shape[1] != len(classes):
            must = f"of shape (n, {len(classes)}), as in the fit"
            self.refuse(parameter, must, f"{matrix.shape[1]} columns")
        columns = _column_names(value)
        if columns is not None and set(columns) == set(classes):
            if tuple(columns) != tuple(classes):
                must = f"with the columns in the fit's order, {_describe(list(classes))}"
                self.refuse(parameter, must, _describe(list(columns)))
        return matrix

    def _probability_matrix(self, value: ArrayLike, parameter: str) -> FloatMatrix:
        matrix = self._matrix(value, parameter, "probabilities")
        if matrix.ndim == 1:
            matrix = self._binary(matrix, parameter)
        if matrix.ndim != 2 or matrix.shape[1] < 2:
            must = "of shape (n, K) with K >= 2, or (n,) for the probability of class 1"
            self.refuse(parameter, must, _shape(value))
        tolerance = _SUM_TOLERANCE[matrix.dtype]
        row = _checks._first_bad_row(matrix, True, tolerance, threads_for(matrix.size))
        if row >= 0:
            self._refuse_probability_row(matrix[row], row, parameter, tolerance)
        return matrix

    def logits(
        self, value: ArrayLike, parameter: str = "logits", classes: Any = None
    ) -> tuple[FloatMatrix, Classes]:
        """Return finite logits (n, K), and the classes of their columns."""
        matrix = self._finite_matrix(value, parameter, "logits")
        if matrix.shape[1] < 2:
            self.refuse(parameter, "of shape (n, K) with K >= 2", _shape(value))
        return matrix, self.classes(classes, _column_names(value), matrix.shape[1])

    def features(self, value: ArrayLike, parameter: str) -> FloatMatrix:
        """Return a finite feature matrix (n, d); (n,) is one feature."""
        matrix = self._finite_matrix(value, parameter, "features", vector_is_column=True)
        if matrix.shape[1] < 1:
            self.refuse(parameter, "of shape (n, d) with d >= 1", _shape(value))
        return matrix

    def _matrix(self, value: ArrayLike, parameter: str, what: str) -> FloatMatrix:
        """Return a native contiguous float32 or float64 array, copying only if needed."""
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            self.refuse(parameter, f"an array of {what}", "an array with masked entries")
        if isinstance(value, np.ndarray):
            array = value
        else:
            try:
                array = np.asarray(_frame_values(value))
            except ValueError:
                self.refuse(parameter, f"a rectangular array of {what}", _describe(value))
        if array.dtype.kind not in "fiub":
            array = self._numbers_in_objects(array, parameter, what)
        single = array.dtype.kind == "f" and array.dtype.itemsize == 4
        dtype = np.float32 if single else np.float64
        return np.ascontiguousarray(array, dtype=dtype) if array.ndim else array

    def _numbers_in_objects(
        self, array: np.ndarray[Any, Any], parameter: str, what: str
    ) -> FloatMatrix:
        if array.dtype.kind == "O" and array.ndim:
            try:
                return array.astype(np.float64)
            except (TypeError, ValueError):
                pass
        self.refuse(parameter, f"numeric {what}", f"dtype {array.dtype}")

    def _finite_matrix(
        self,
        value: ArrayLike,
        parameter: str,
        what: str,
        *,
        vector_is_column: bool = False,
    ) -> FloatMatrix:
        matrix = self._matrix(value, parameter, what)
        if vector_is_column and matrix.ndim == 1:
            matrix = matrix[:, None]
        if matrix.ndim != 2:
            self.refuse(parameter, "a matrix with one row per observation", _shape(value))
        row = _checks._first_bad_row(matrix, False, 0.0, threads_for(matrix.size))
        if row >= 0:
            column = int(np.flatnonzero(~np.isfinite(matrix[row]))[0])
            got = f"{matrix[row, column]} at row {row}, column {column}"
            self.refuse(parameter, f"finite {what}", got)
        return matrix

    def _binary(self, vector: FloatArray, parameter: str) -> FloatMatrix:
        """Return (n, 2) from the probabilities of class 1."""
        outside = ~((vector >= 0.0) & (vector <= 1.0))
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            must = "probabilities in [0, 1]"
            self.refuse(parameter, must, f"{vector[row]} at row {row}")
        return np.column_stack([1.0 - vector, vector]).astype(vector.dtype, copy=False)

    def _refuse_probability_row(
        self, row_values: FloatArray, row: int, parameter: str, tolerance: float
    ) -> NoReturn:
        for is_bad, must in (
            (~np.isfinite(row_values), "finite probabilities"),
            (row_values < 0, "non-negative probabilities"),
        ):
            if is_bad.any():
                column = int(np.flatnonzero(is_bad)[0])
                got = f"{row_values[column]} at row {row}, column {column}"
                self.refuse(parameter, must, got)
        total = float(row_values.sum(dtype=np.float64))
        must = f"rows of probabilities that sum to one (within {tolerance:g})"
        self.refuse(parameter, must, f"a sum of {total:.8g} at row {row}")

    # ----------------------------------------------------------------- labels

    def classes(self, given: Any, columns: Classes | None, n_classes: int) -> Classes:
        """Return the class names by column: those given, the columns' own, or 0..K-1."""
        if given is None:
            return range(n_classes) if columns is None else columns
        if isinstance(given, str) or not isinstance(given, Iterable):
            must = "a sequence of class names, one per column"
            self.refuse("classes", must, _describe(given))
        names = tuple(_plain(name) for name in given)
        if len(names) != n_classes:
            must = f"{n_classes} names, one per column"
            self.refuse("classes", must, f"{len(names)} names")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            self.refuse("classes", "distinct names", f"{twice!r} more than once")
        if columns is not None and names != tuple(columns) and set(names) == set(columns):
            must = "in the order of the DataFrame's columns"
            self.refuse("classes", must, f"{list(names)} for columns {list(columns)}")
        return range(n_classes) if names == tuple(range(n_classes)) else names

    def labels(
        self, value: ArrayLike, classes: Classes, n_rows: int, parameter: str = "labels"
    ) -> IntArray:
        """Return labels as column numbers (n,)."""
        array = np.asarray(_frame_values(value))
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            self.refuse(parameter, "one label per row, shape (n,)", _shape(value))
        if array.shape[0] != n_rows:
            must = f"as long as the probabilities ({n_rows} rows)"
            self.refuse(parameter, must, f"{array.shape[0]} labels")
        if isinstance(classes, range):
            return self._integer_labels(array, len(classes), parameter)
        return self._named_labels(array, classes, parameter)

    def _integer_labels(
        self, array: np.ndarray[Any, Any], n_classes: int, parameter: str
    ) -> IntArray:
        must = f"integers 0..{n_classes - 1}, or names listed in classes="
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.dtype.kind == "O":
            try:
                array = array.astype(np.float64)
            except (TypeError, ValueError):
                self.refuse(parameter, must, _describe(array[0]) + " at row 0")
        if array.dtype.kind not in "iubf":
            self.refuse(parameter, must, _describe(_plain(array[0])) + " at row 0")
        valid = (array >= 0) & (array < n_classes)
        if array.dtype.kind == "f":
            valid &= np.floor(array) == array
        if not valid.all():
            row = int(np.flatnonzero(~valid)[0])
            self.refuse(parameter, must, f"{array[row]} at row {row}")
        return np.ascontiguousarray(array, dtype=np.int64)

    def _named_labels(
        self, array: np.ndarray[Any, Any], classes: Classes, parameter: str
    ) -> IntArray:
        code_of = {name: code for code, name in enumerate(classes)}
        try:
            values, inverse = np.unique(array, return_inverse=True)
            names = [_plain(name) for name in values]
        except TypeError:  # names of several types have no order
            names, inverse = [_plain(name) for name in array], np.arange(array.size)
        codes = np.array([code_of.get(name, -1) for name in names], dtype=np.int64)
        labels = codes[inverse.reshape(-1)] if array.size else np.empty(0, np.int64)
        if (labels < 0).any():
            row = int(np.flatnonzero(labels < 0)[0])
            known = ", ".join(repr(name) for name in list(classes)[:8])
            known += ", ..." if len(classes) > 8 else ""
            got = f"{_plain(array[row])!r} at row {row}"
            self.refuse(parameter, f"among the classes {known}", got)
        return labels

    # ---------------------------------------------------------------- vectors

    def vector(
        self, value: ArrayLike, parameter: str, must: str, *, length: int | None = None
    ) -> FloatArray:
        """Return a float64 vector without NaN."""
        array = self._matrix(value, parameter, "numbers")
        if array.ndim != 1:
            self.refuse(parameter, must, _shape(value))
        if length is not None and array.shape[0] != length:
            self.refuse(parameter, f"of length {length}", f"length {array.shape[0]}")
        vector = array.astype(np.float64, copy=False)
        if np.isnan(vector).any():
            row = int(np.flatnonzero(np.isnan(vector))[0])
            self.refuse(parameter, must, f"nan at position {row}")
        return vector

    def weights(
        self,
        value: ArrayLike,
        parameter: str,
        length: int,
        *,
        allow_infinite: bool = False,
        allow_all_zero: bool = False,
    ) -> FloatArray:
        """Return non-negative weights, not all zero."""
        must = "non-negative" + ("" if allow_infinite else " finite") + " numbers"
        vector = self.vector(value, parameter, must, length=length)
        bad = vector < 0
        if not allow_infinite:
            bad |= np.isinf(vector)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            self.refuse(parameter, must, f"{vector[row]} at position {row}")
        if length and not allow_all_zero and not (vector > 0).any():
            self.refuse(parameter, "weights of which some are positive", "all zero")
        return vector

    def label_weights(
        self, value: ArrayLike, n_classes: int, labels: IntArray
    ) -> FloatArray:
        """Return class weights; an infinite one is for classes the source lacks."""
        vector = self.weights(value, "label_weight", n_classes, allow_infinite=True)
        contradicted = np.isinf(vector[labels])
        if contradicted.any():
            row = int(np.flatnonzero(contradicted)[0])
            must = "infinite only for classes that the calibration labels lack"
            self.refuse("label_weight", must, f"inf for the class of row {row}")
        return vector

    def uniforms(self, value: ArrayLike, n_rows: int) -> FloatArray:
        """Return one number in [0, 1] per row."""
        must = "numbers in [0, 1], one per row"
        vector = self.vector(value, "uniforms", must, length=n_rows)
        outside = (vector < 0) | (vector > 1)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            self.refuse("uniforms", must, f"{vector[row]} at position {row}")
        return vector


def _frame_values(value: Any) -> Any:
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def _column_names(value: Any) -> Classes | None:
    """Return the column names of a DataFrame (pandas or polars), None for plain arrays."""
    columns = getattr(value, "columns", None)
    if columns is None:
        return None
    names = tuple(_plain(name) for name in columns)
    return None if names == tuple(range(len(names))) else names


def _plain(name: Any) -> Hashable:
    plain: Hashable = name.item() if isinstance(name, np.generic) else name
    return plain


def _shape(value: Any) -> str:
    return f"shape {np.shape(value)}"


def _describe(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
