"""Validate and convert the arguments of public functions.

Nothing is renormalised, changed in place or guessed. What comes out is native,
contiguous and checked, and shares memory with the input wherever that already was.
"""

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from distfreeuq._base import arrays, class_labels
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._base.arrays import (
    AnyArray,
    NotAnArray,
    describe,
    is_integer,
    is_single,
    shape_of,
)
from distfreeuq._base.containers.foreign_values import column_labels, rounding_before
from distfreeuq._base.intent import likely_mistakes
from distfreeuq._base.intent.class_vectors import by_class
from distfreeuq._kernels import _checks
from distfreeuq._kernels.threads import threads_for
from distfreeuq.exceptions import InputError

# How far row sums of softmax outputs stray from one by rounding, by the bytes of the
# user's own floats.
_SUM_TOLERANCE = {2: 1e-3, 4: 1e-4}
_SUM_TOLERANCE_DOUBLE = 1e-6

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.nextafter(0.0, 1.0))
_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_LARGEST_COUNT = 2**31 - 1
# What is a real number to `isinstance`, and to nobody else.
_NO_NUMBERS = bool | np.bool_ | np.timedelta64


class UncheckedProbs(NamedTuple):
    """A matrix of probabilities for a kernel that checks its rows in the same read.

    Attributes
    ----------
    matrix : ndarray (n, K)
    tolerance : float
        Largest distance of a row's sum from one.
    given : object
        What the user gave.
    """

    matrix: FloatMatrix
    tolerance: float
    args: "Arguments"
    parameter: str
    given: Any = None

    def raise_if_invalid(self, row: int) -> None:
        """Raise for the row that a kernel has found to be invalid; -1 means none."""
        if row >= 0:
            self.args.invalid_row(self.matrix, row, self.parameter, self.tolerance)

    def checked(self) -> FloatMatrix:
        """Return the matrix after a read of its own."""
        threads = threads_for(self.matrix.size)
        self.raise_if_invalid(
            _checks._first_bad_row(self.matrix, True, self.tolerance, threads)
        )
        return self.matrix


class _Scores(NamedTuple):
    """Probabilities or logits as the user gave them, and as a matrix."""

    given: Any
    matrix: FloatMatrix
    rows: UncheckedProbs | None


class Arguments:
    """Checks the arguments of one public function, whose name its messages carry."""

    __slots__ = ("_scores", "caller")

    def __init__(self, caller: str) -> None:
        self.caller = caller
        # what was read of the rows that labels belong to: of the source, of the target
        self._scores: dict[bool, _Scores] = {}

    def invalid(
        self, parameter: str, must: str, got: str, *, hint: str = ""
    ) -> NoReturn:
        """Raise the one form of error message; the hint is a sentence of its own."""
        raise InputError(
            f"The '{parameter}' parameter of {self.caller} must be {must}. "
            f"Got {got} instead.{' ' * bool(hint)}{hint}"
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
        is_share: bool = False,
    ) -> float:
        """Return a real number within the limits."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Real) or isinstance(value, _NO_NUMBERS):
            self.invalid(parameter, must, describe(value))
        try:
            number = float(value)
        except OverflowError:  # an integer or a fraction beyond float64
            number = np.nan
        inside = low < number < high if open_ends else low <= number <= high
        if not inside:
            hint = likely_mistakes.level_hint(number, parameter) if is_share else ""
            self.invalid(parameter, must, describe(value), hint=hint)
        return number

    def probability(self, value: Any, parameter: str) -> float:
        """Return a number strictly between 0 and 1."""
        must = "a number in (0, 1)"
        return self.number(
            value, parameter, must, low=0.0, high=1.0, open_ends=True, is_share=True
        )

    def alpha(self, value: Any) -> float:
        """Return the miscoverage level."""
        alpha = self.probability(value, "alpha")
        likely_mistakes.warn_of_large_alpha(alpha, self.caller)
        return alpha

    def alphas(self, value: Any, classes: Classes) -> FloatArray:
        """Return one miscoverage level per class from a number or a vector."""
        n_classes = len(classes)
        if is_single(value):
            return np.full(n_classes, self.alpha(value))
        must = f"a number in (0, 1), or {n_classes} of them"
        value = by_class(self, value, classes, "alpha")
        alphas = self.vector(
            value, "alpha", must, length=n_classes, low=SMALLEST, high=_BELOW_ONE
        )
        largest = float(alphas.max(initial=0.0))
        likely_mistakes.warn_of_large_alpha(largest, self.caller)
        return alphas

    def count(
        self, value: Any, parameter: str, *, low: int, high: int = _LARGEST_COUNT
    ) -> int:
        """Return an integer of at least `low`."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not is_integer(value) or value < low:
            self.invalid(parameter, f"an integer of at least {low}", describe(value))
        if value > high:
            self.invalid(parameter, f"an integer of at most {high}", describe(value))
        return int(value)

    def jobs(self, value: Any) -> int:
        """Return the number of worker processes, -1 for as many as there are cores."""
        if not is_integer(value) or value == 0:
            self.invalid("n_jobs", "an integer other than 0", describe(value))
        return int(value)

    def choice(self, value: Any, parameter: str, options: Iterable[str]) -> str:
        """Return one of the options."""
        options = list(options)
        if not isinstance(value, str) or value not in options:
            must = "one of " + ", ".join(repr(option) for option in options)
            self.invalid(parameter, must, describe(value))
        return value

    def flag(self, value: Any, parameter: str) -> bool:
        """Return a bool that was given as one."""
        if not isinstance(value, bool | np.bool_):
            self.invalid(parameter, "True or False", describe(value))
        return bool(value)

    # --------------------------------------------------------------- matrices

    def probs(
        self, value: ArrayLike, parameter: str = "probs", classes: Any = None
    ) -> tuple[FloatMatrix, Classes]:
        """Return checked probabilities (n, K), and the classes of their columns."""
        rows, names = self.unchecked_probs(value, parameter, classes)
        return rows.checked(), names

    def new_probs(
        self, value: ArrayLike, classes: Classes, parameter: str = "probs"
    ) -> FloatMatrix:
        """Return checked probabilities for a fit with these classes."""
        return self.unchecked_new_probs(value, classes, parameter).checked()

    def unchecked_probs(
        self, value: ArrayLike, parameter: str = "probs", classes: Any = None
    ) -> tuple[UncheckedProbs, Classes]:
        """Return what `probs` does, for a kernel that checks rows on its way."""
        rows = self._probability_rows(value, parameter)
        self._scores[_of_target(parameter)] = _Scores(value, rows.matrix, rows)
        columns = class_labels.column_names(self, value, parameter)
        return rows, self.classes(classes, columns, rows.matrix.shape[1])

    def unchecked_new_probs(
        self, value: ArrayLike, classes: Classes, parameter: str = "probs"
    ) -> UncheckedProbs:
        """Return what `new_probs` does, for a kernel that checks rows on its way."""
        rows = self._probability_rows(value, parameter)
        if rows.matrix.shape[1] != len(classes):
            must = f"of shape (n, {len(classes)}), as in the fit"
            self.invalid(parameter, must, shape_of(arrays.as_array(value)))
        columns = class_labels.column_names(self, value, parameter)
        if columns is not None:
            class_labels.check_order(self, columns, classes, parameter)
        return rows

    def _probability_rows(self, value: ArrayLike, parameter: str) -> UncheckedProbs:
        array = self.array(value, parameter, "probabilities")
        matrix = self._floats(array, parameter, "probabilities", value)
        if matrix.ndim == 1:  # checked, and complementary by construction
            matrix = self._binary(matrix, parameter)
            return UncheckedProbs(matrix, _SUM_TOLERANCE[4], self, parameter, value)
        if matrix.ndim != 2 or matrix.shape[1] < 2:
            must = "of shape (n, K) with K >= 2, or (n,) for the probability of class 1"
            self.invalid(parameter, must, shape_of(array))
        tolerance = _SUM_TOLERANCE_DOUBLE
        if array.dtype.kind == "f":
            tolerance = _SUM_TOLERANCE.get(array.dtype.itemsize, tolerance)
        if array is not value or array.dtype.kind == "V":
            tolerance = max(tolerance, rounding_before(value, array))
        return UncheckedProbs(matrix, tolerance, self, parameter, value)

    def logits(
        self,
        value: ArrayLike,
        parameter: str = "logits",
        classes: Any = None,
        *,
        may_be_probs: bool = False,
        may_mask: bool = False,
    ) -> tuple[FloatMatrix, Classes]:
        """Return finite logits (n, K), and the classes of their columns.

        If they may mask classes, -inf is left where it is, but for whole rows.
        """
        matrix = self._finite_matrix(value, parameter, "logits", may_mask=may_mask)
        if matrix.shape[1] < 2:
            self.invalid(parameter, "of shape (n, K) with K >= 2", shape_of(matrix))
        if not may_be_probs:
            likely_mistakes.warn_of_probabilities(matrix, parameter, self.caller)
        self._scores[_of_target(parameter)] = _Scores(value, matrix, None)
        columns = class_labels.column_names(self, value, parameter)
        return matrix, self.classes(classes, columns, matrix.shape[1])

    def features(self, value: ArrayLike, parameter: str) -> FloatMatrix:
        """Return a finite feature matrix (n, d); (n,) is one feature."""
        matrix = self._finite_matrix(
            value, parameter, "features", vector_is_column=True
        )
        if matrix.shape[1] < 1:
            self.invalid(parameter, "of shape (n, d) with d >= 1", shape_of(matrix))
        return matrix

    def array(self, value: Any, parameter: str, what: str) -> AnyArray:
        """Return an array of any kind, the value's own memory where it is one."""
        try:
            return arrays.as_array(value)
        except NotAnArray as reason:
            got = str(reason)
        self.invalid(parameter, f"an array of {what}", got)

    def _floats(
        self, array: AnyArray, parameter: str, what: str, given: Any = None
    ) -> FloatArray:
        """Return native contiguous float32 or float64, copying only if needed."""
        floats = arrays.as_floats(array)
        if floats is None:
            columns = None if given is None else column_labels(given)
            got = arrays.first_no_number(array, columns)
            hint = likely_mistakes.TEXTS if what == "features" and columns else ""
            if what == "features" and array.dtype.kind == "M":
                hint = likely_mistakes.DATES
            if what == "features" and "Timestamp(" in got:
                hint = likely_mistakes.DATES
            if what == "probabilities":
                hint = likely_mistakes.text_hint(array)
            self.invalid(parameter, f"an array of {what}", got, hint=hint)
        return floats

    def _finite_matrix(
        self,
        value: ArrayLike,
        parameter: str,
        what: str,
        *,
        vector_is_column: bool = False,
        may_mask: bool = False,
    ) -> FloatMatrix:
        array = self.array(value, parameter, what)
        matrix = self._floats(array, parameter, what, value)
        if vector_is_column and matrix.ndim == 1:
            matrix = matrix[:, None]
        if matrix.ndim != 2:
            self.invalid(
                parameter, "a matrix with one row per observation", shape_of(matrix)
            )
        row = _checks._first_bad_row(matrix, False, 0.0, threads_for(matrix.size))
        if row >= 0 and may_mask:
            self._refuse_beside_masked(matrix, parameter, what)
        elif row >= 0:
            column = int(np.flatnonzero(~np.isfinite(matrix[row]))[0])
            got = f"{matrix[row, column]} at row {row}, column {column}"
            hint = likely_mistakes.MASKED if got.startswith("-inf") else ""
            hint = hint if what == "logits" else ""
            self.invalid(parameter, f"finite {what}", got, hint=hint)
        return matrix

    def _refuse_beside_masked(
        self, matrix: FloatMatrix, parameter: str, what: str
    ) -> None:
        """Refuse NaN and +inf, and rows all of whose classes are masked."""
        there = np.isfinite(matrix)
        bad = ~there & ~np.isneginf(matrix)
        rows = np.flatnonzero(bad.any(axis=1))
        if rows.size:
            column = int(bad[rows[0]].argmax())
            got = f"{matrix[rows[0], column]} at row {rows[0]}, column {column}"
            must = f"finite {what}, or -inf for classes that are masked"
            self.invalid(parameter, must, got)
        rows = np.flatnonzero(~there.any(axis=1))
        if rows.size:
            must = f"{what} of which one in every row is finite"
            self.invalid(parameter, must, f"-inf for all classes at row {rows[0]}")

    def _binary(self, vector: FloatArray, parameter: str) -> FloatMatrix:
        """Return (n, 2) from the probabilities of class 1."""
        must = "probabilities in [0, 1]"
        if vector.size and vector.max() > 1.0 and vector.min() >= 0.0:
            whole = bool((vector == np.floor(vector)).all())
            hint = likely_mistakes.SWAPPED if whole else likely_mistakes.PERCENT
        else:
            hint = "If these are log-odds, give scipy.special.expit(log_odds)."
        self._within(vector, 0.0, 1.0, parameter, must, where="row", hint=hint)
        matrix = np.empty((vector.size, 2), dtype=vector.dtype)
        np.subtract(1.0, vector, out=matrix[:, 0])
        matrix[:, 1] = vector
        return matrix

    def invalid_row(
        self, matrix: FloatMatrix, row: int, parameter: str, tolerance: float
    ) -> NoReturn:
        """Say what is wrong with a row that is no probability vector."""
        row_values = matrix[row]
        hint = likely_mistakes.row_hint(row_values)
        for is_bad, must in (
            (~np.isfinite(row_values), "finite probabilities"),
            (row_values < 0, "non-negative probabilities"),
        ):
            if is_bad.any():
                column = int(np.flatnonzero(is_bad)[0])
                got = f"{row_values[column]} at row {row}, column {column}"
                self.invalid(parameter, must, got, hint=hint)
        total = float(row_values.sum(dtype=np.float64))
        must = f"rows of probabilities that sum to one (within {tolerance:g})"
        self.invalid(parameter, must, f"a sum of {total:.8g} at row {row}", hint=hint)

    # ----------------------------------------------------------------- labels

    def classes(self, given: Any, columns: Classes | None, n_classes: int) -> Classes:
        """Return the class names by column: those given, the frame's own, or 0..K-1."""
        return class_labels.class_names(self, given, columns, n_classes)

    def labels(
        self, value: ArrayLike, classes: Classes, n_rows: int, parameter: str = "labels"
    ) -> IntArray:
        """Return labels as column numbers (n,).

        What else is wrong with the rows that they belong to is told first.
        """
        scores = self._scores.get(_of_target(parameter))
        refused: InputError | None
        try:
            codes = class_labels.column_numbers(self, value, classes, n_rows, parameter)
            refused = None
        except InputError as error:
            refused = error
        if refused is not None:
            if scores is not None and scores.rows is not None:
                scores.rows.checked()
            raise refused
        if scores is not None and scores.matrix.shape[0] == n_rows:
            likely_mistakes.warn_of_other_order(
                value, scores.given, parameter, self.caller
            )
            if isinstance(classes, range):
                likely_mistakes.warn_of_counting_from_one(
                    codes, scores.matrix, parameter, self.caller
                )
        return codes

    # ---------------------------------------------------------------- vectors

    def vector(
        self,
        value: ArrayLike,
        parameter: str,
        must: str,
        *,
        length: int | None = None,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> FloatArray:
        """Return a float64 vector without NaN, its entries from `low` to `high`."""
        array = self._floats(
            self.array(value, parameter, "numbers"), parameter, "numbers"
        )
        if array.ndim != 1:
            self.invalid(parameter, must, shape_of(array))
        if length is not None and array.shape[0] != length:
            self.invalid(parameter, f"of length {length}", f"length {array.shape[0]}")
        vector = array.astype(np.float64, copy=False)
        self._within(vector, low, high, parameter, must)
        return vector

    def elements(
        self,
        value: Any,
        parameter: str,
        must: str,
        *,
        low: float,
        high: float,
        allow_nan: bool = False,
    ) -> FloatArray:
        """Return float64 of whatever shape, a number as one of no dimensions."""
        if is_single(value):
            if allow_nan and isinstance(value, Real) and value != value:
                return np.array(np.nan)
            return np.array(self.number(value, parameter, must, low=low, high=high))
        array = self._floats(
            self.array(value, parameter, "numbers"), parameter, "numbers"
        )
        numbers = array.astype(np.float64, copy=False)
        known = np.where(np.isnan(numbers), low, numbers) if allow_nan else numbers
        self._within(known, low, high, parameter, must)
        return numbers

    def numbers(
        self, value: Any, parameter: str, must: str, *, low: float, high: float
    ) -> FloatArray:
        """Return a vector from one number or several."""
        if is_single(value):
            return np.array([self.number(value, parameter, must, low=low, high=high)])
        return self.vector(value, parameter, must, low=low, high=high)

    def _within(
        self,
        vector: FloatArray,
        low: float,
        high: float,
        parameter: str,
        must: str,
        *,
        where: str = "position",
        hint: str = "",
    ) -> None:
        """Raise for a NaN and for any entry outside the limits."""
        if vector.size == 0 or (vector.min() >= low and vector.max() <= high):
            return
        inside = (vector >= low) & (vector <= high)
        index = np.unravel_index(int(np.argmin(inside)), vector.shape)
        first = tuple(int(i) for i in index)
        at = f" at {where} {first[0]}" if vector.ndim == 1 else arrays.place(first)
        self.invalid(parameter, must, f"{vector[first]}{at}", hint=hint)

    def weights(
        self,
        value: ArrayLike,
        parameter: str,
        length: int,
        *,
        allow_infinite: bool = False,
        allow_all_zero: bool = False,
        squared: bool = False,
    ) -> FloatArray:
        """Return non-negative weights, not all zero unless that is allowed.

        The sum of their squares is a number too, if they will be `squared`.
        """
        must = "non-negative" + ("" if allow_infinite else " finite") + " numbers"
        high = np.inf if allow_infinite else LARGEST
        vector = self.vector(value, parameter, must, length=length, low=0.0, high=high)
        largest = float(vector.max(initial=0.0))
        if length and largest == 0.0 and not allow_all_zero:
            self.invalid(parameter, "weights of which some are positive", "all zero")
        if squared and largest > 0.0 and not 1e-100 <= largest <= 1e100:
            must = "weights of which the largest is from 1e-100 to 1e100 (multiply all)"
            self.invalid(parameter, must, f"a largest of {largest:g}")
        return vector

    def label_weights(
        self,
        value: ArrayLike,
        classes: Classes,
        labels: IntArray,
        parameter: str = "label_weight",
    ) -> FloatArray:
        """Return class weights; an infinite one is for classes the source lacks."""
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape[1:] == (len(classes),):
            must = "one weight for each class, or an estimate of the weights"
            hint = likely_mistakes.ROWS_FOR_WEIGHTS
            self.invalid(parameter, must, f"shape {tuple(shape)}", hint=hint)
        value = by_class(self, value, classes, parameter)
        vector = self.weights(value, parameter, len(classes), allow_infinite=True)
        infinite = np.isinf(vector)
        if infinite.any() and infinite[labels].any():
            row = int(np.argmax(infinite[labels]))
            must = "infinite only for classes that the calibration labels lack"
            self.invalid(parameter, must, f"inf for the class of row {row}")
        return vector

    def uniforms(self, value: ArrayLike, n_rows: int) -> FloatArray:
        """Return one number in [0, 1] per row."""
        must = "numbers in [0, 1], one per row"
        return self.vector(value, "uniforms", must, length=n_rows, low=0.0, high=1.0)


def _of_target(parameter: str) -> bool:
    """Say whether an argument is of the target's rows: `probs_target`."""
    return parameter.endswith("_target")
