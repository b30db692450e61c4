"""Probabilities and labels among the columns of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from distfreeuq._base.array_types import FloatMatrix
from distfreeuq._base.arrays import AnyArray, listed, shortened
from distfreeuq.reporting.files.table_files import FileTable

# Rows whose sum is within this of one may have been rounded.
_ROUNDED = 0.02
_MISSING = {"", "na", "n/a", "nan", "none", "null", "<na>", "nat"}


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """Which columns are meant, and what is in them.

    Attributes
    ----------
    probs : str
        What names of columns with probabilities begin with, where the rest is the
        class; or the columns' names, with commas between them, which are the classes.
    label : str
        The column with labels.
    percent, logits, renormalize : bool
        Whether numbers are divided by 100, made probabilities by a softmax, divided by
        the sums of rows.
    positive : str or None
        The class that a single column of probabilities is of.
    """

    probs: str
    label: str
    percent: bool = False
    logits: bool = False
    renormalize: bool = False
    positive: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Probabilities of a file's rows, and the classes of their columns.

    Attributes
    ----------
    matrix : ndarray (n, K)
    classes : tuple of str
    largest_change : float
        By how much a sum of a row was off one before it was divided by it.
    """

    matrix: FloatMatrix
    classes: tuple[str, ...]
    largest_change: float = 0.0


def source_predictions(table: FileTable, options: ColumnOptions) -> Predictions:
    """Return the source's probabilities; its columns decide which classes there are."""
    if options.probs in table.columns:
        column = table.columns[options.probs]
        if column.ndim == 2:
            return _of_matrix(table, column, options, None)
        return _of_one_column(table, column, options, None)
    name_of = _columns_by_class(table, options)
    if not name_of:
        table.invalid(
            f"have columns whose names begin with --probs {options.probs!r} (--probs "
            "one,two,three names them one by one)",
            f"columns {listed(table.columns)}",
        )
    matrix = _side_by_side(table, list(name_of.values()), options)
    return _checked(table, matrix, tuple(name_of), options)


def target_predictions(
    table: FileTable, options: ColumnOptions, classes: tuple[str, ...]
) -> Predictions:
    """Return the target's probabilities, columns in the order of the source's."""
    if options.probs in table.columns:
        column = table.columns[options.probs]
        if column.ndim == 2:
            found = _of_matrix(table, column, options, classes)
        else:
            found = _of_one_column(table, column, options, classes)
        if found.classes != classes:
            table.invalid(
                f"have the source's classes {listed(classes)}, in this order",
                listed(found.classes),
            )
        return found
    by_class = _columns_by_class(table, options)
    prefix = "" if "," in options.probs else options.probs
    lacking = [f"{prefix}{name}" for name in classes if name not in by_class]
    if lacking:
        table.invalid(
            f"have all probability columns of the source, {listed(lacking)} too",
            f"columns {listed(table.columns)}",
        )
    unknown = [name for name in by_class if name not in classes]
    if unknown:
        more = listed([by_class[name] for name in unknown])
        table.invalid("have no probability columns that the source lacks", more)
    matrix = _side_by_side(table, [by_class[name] for name in classes], options)
    return _checked(table, matrix, classes, options)


def labels_of(
    table: FileTable, column: str, classes: tuple[str, ...], *, partly: bool
) -> list[str | None]:
    """Return the labels as class names; None for missing ones, if these are allowed."""
    if column not in table.columns:
        table.invalid(f"have the column {column!r} of labels", listed(table.columns))
    values = table.columns[column]
    if values.ndim != 1:
        table.invalid(f"have one label per row in {column!r}", f"shape {values.shape}")
    known = {name: name for name in classes}
    known |= {_as_number(name): name for name in classes if _as_number(name)}
    found: list[str | None] = []
    for row, value in enumerate(values.tolist(), start=1):
        text = _as_name(value)
        name = known.get(text, known.get(_as_number(text)))
        if text.lower() in _MISSING and name is None:
            if not partly:
                table.invalid("have a label in every row", f"none in data row {row}")
            found.append(None)
            continue
        if name is None:
            where = "which the array 'classes' names"
            if all(values.ndim == 1 for values in table.columns.values()):
                where = (
                    "which are the names of the probability columns without what "
                    "--probs says"
                )
            table.invalid(
                f"have labels among the classes {listed(classes)}, {where}",
                f"{shortened(text)!r} in data row {row}",
            )
        found.append(name)
    return found


# ------------------------------------------------------------------------ columns


def _columns_by_class(table: FileTable, options: ColumnOptions) -> dict[str, str]:
    """Return the column of each class, in the file's order or that of --probs."""
    begins = [name for name in table.columns if name.startswith(options.probs)]
    begins = [name for name in begins if name != options.label]
    if begins and options.probs:
        return {name.removeprefix(options.probs).strip(): name for name in begins}
    if "," not in options.probs:
        return {}
    names = [name.strip() for name in options.probs.split(",")]
    lacking = [name for name in names if name not in table.columns]
    if lacking or len(set(names)) != len(names):
        must = f"have the columns that --probs names, {listed(names)}, once each"
        table.invalid(must, f"columns {listed(table.columns)}")
    return {name: name for name in names}


def _of_matrix(
    table: FileTable,
    matrix: AnyArray,
    options: ColumnOptions,
    classes: tuple[str, ...] | None,
) -> Predictions:
    if matrix.dtype.kind not in "fiu":
        table.invalid(f"have numbers in {options.probs!r}", f"{matrix.dtype}")
    single = matrix.dtype == np.float32
    matrix = matrix if single else matrix.astype(np.float64)
    given = table.columns.get("classes")
    names = [str(k) for k in range(matrix.shape[1])]
    if (
        given is None
        and classes is not None
        and matrix.shape[1] == len(classes)
        and list(classes) != names
    ):
        table.invalid(
            f"have the source's classes {listed(classes)} in an array 'classes'",
            "no such array",
        )
    if given is not None:
        names = [_as_name(name) for name in given.ravel().tolist()]
    if len(names) != matrix.shape[1] or len(set(names)) != len(names):
        must = f"name {matrix.shape[1]} different classes in 'classes'"
        table.invalid(must, f"{listed(names)}")
    return _checked(table, matrix, tuple(names), options)


def _of_one_column(
    table: FileTable,
    column: AnyArray,
    options: ColumnOptions,
    classes: tuple[str, ...] | None,
) -> Predictions:
    """Return both classes' probabilities from those of one."""
    if options.logits:
        table.invalid("have a column of logits for every class", "a single one")
    if classes is None:
        classes = _two_classes(table, options)
    if len(classes) != 2:
        must = f"have probabilities of all the source's classes {listed(classes)}"
        table.invalid(must, f"the single column {options.probs!r}")
    if not column.size:
        table.invalid("have rows under the column names", "none")
    one = _numbers(table, options.probs, options)
    matrix = np.column_stack([1.0 - one, one])
    outside = np.flatnonzero(~((one >= 0.0) & (one <= 1.0)))
    if outside.size:
        hint = "" if options.percent else " (--percent divides by 100)"
        table.invalid(
            f"have probabilities between 0 and 1 in {options.probs!r}{hint}",
            f"{one[outside[0]]:g} in data row {outside[0] + 1}",
        )
    return Predictions(matrix, classes)


def _two_classes(table: FileTable, options: ColumnOptions) -> tuple[str, ...]:
    values = table.columns.get(options.label)
    if values is None:
        table.invalid(
            f"have the column {options.label!r} of labels", listed(table.columns)
        )
    names = sorted({_as_name(value) for value in values.ravel().tolist()})
    names = [_as_number(name) or name for name in names if name.lower() not in _MISSING]
    positive = options.positive
    if positive is None and set(names) <= {"0", "1"}:
        return ("0", "1")
    if positive is None:
        table.invalid(
            f"have labels 0 and 1 where {options.probs!r} is the only column of "
            "probabilities, or --positive say which label it is of",
            f"labels {listed(names)}",
        )
    others = [name for name in names if name != positive]
    if len(others) != 1:
        table.invalid(
            f"have one label beside --positive {positive!r} where {options.probs!r} is "
            "the only column of probabilities",
            f"labels {listed(names)}",
        )
    return (others[0], positive)


def _side_by_side(
    table: FileTable, names: Sequence[str], options: ColumnOptions
) -> FloatMatrix:
    """Return columns as one matrix; in an archive they could differ in length."""
    columns = [_numbers(table, name, options) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.shape != columns[0].shape or column.ndim != 1:
            table.invalid(
                f"have one number per row in {name!r}, as in {names[0]!r}",
                f"shapes {column.shape} and {columns[0].shape}",
            )
    return np.column_stack(columns)


def _numbers(table: FileTable, name: str, options: ColumnOptions) -> Any:
    """Return a column as numbers; the first value that is none is an error."""
    column = table.columns[name]
    if column.dtype.kind in "fiu":
        values = column.astype(np.float64)
    else:
        values = np.array(
            [
                _number(table, name, row, value, options)
                for row, value in enumerate(column.tolist(), start=1)
            ],
            dtype=np.float64,
        )
    masked = np.isneginf(values) & options.logits
    bad = np.flatnonzero(~(np.isfinite(values) | masked))
    if bad.size:
        where = f"{values[bad[0]]} in data row {bad[0] + 1}"
        table.invalid(f"have finite numbers in the column {name!r}", where)
    return values / 100.0 if options.percent else values


def _number(
    table: FileTable, name: str, row: int, value: Any, options: ColumnOptions
) -> float:
    text = str(value).strip()
    if options.percent:
        text = text.removesuffix("%").strip()
    if table.decimal_comma:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        got = shortened(repr(value)) if text else "nothing"
        hint = " (--percent reads percentages)" if text.endswith("%") else ""
        must = f"have numbers in the column {name!r}{hint}"
        table.invalid(must, f"{got} in data row {row}")


# ------------------------------------------------------------------- probabilities


def _checked(
    table: FileTable,
    matrix: FloatMatrix,
    classes: tuple[str, ...],
    options: ColumnOptions,
) -> Predictions:
    """Return rows that sum to one, as they are or as the options say."""
    if len(matrix) == 0:
        table.invalid("have rows under the column names", "none")
    if len(classes) < 2:
        table.invalid("have probabilities of two classes at least", listed(classes))
    if options.logits:
        return Predictions(_softmax(table, matrix), classes)
    tolerance = 1e-4 if matrix.dtype == np.float32 else 1e-6
    bad = np.flatnonzero(~((matrix >= 0.0) & (matrix <= 1.0 + tolerance)).all(axis=1))
    sums = matrix.sum(axis=1, dtype=np.float64)
    percentages = bool((np.abs(sums - 100.0) < 100.0 * _ROUNDED).all())
    if bad.size:
        hint = " (--logits makes probabilities of logits)"
        if percentages:
            hint = " (--percent divides by 100)"
        elif options.percent:
            hint = " after division by 100"
        row = matrix[bad[0]]
        value = row[np.flatnonzero(~((row >= 0.0) & (row <= 1.0 + tolerance)))[0]]
        table.invalid(
            f"have probabilities between 0 and 1{hint}",
            f"{value:g} in data row {bad[0] + 1}",
        )
    off = np.abs(sums - 1.0)
    worst = float(off.max())
    if worst <= tolerance:
        return Predictions(matrix, classes)
    first = int(np.flatnonzero(off > tolerance)[0])
    if worst > _ROUNDED or not options.renormalize:
        hint = ""
        if worst <= _ROUNDED:
            hint = " (--renormalize divides rounded ones by their sums)"
        table.invalid(
            f"have probabilities that sum to one in every row{hint}",
            f"the sum {sums[first]:.7g} in data row {first + 1}",
        )
    return Predictions(matrix / sums[:, np.newaxis], classes, worst)


def _softmax(table: FileTable, matrix: FloatMatrix) -> FloatMatrix:
    sums = matrix.sum(axis=1, dtype=np.float64)
    if (matrix >= 0.0).all() and (np.abs(sums - 1.0) < _ROUNDED).all():
        table.invalid("have logits where --logits is given", "probabilities")
    if (np.isnan(matrix) | np.isposinf(matrix)).any():
        table.invalid("have finite logits, or -inf for masked classes", "others")
    if np.isneginf(matrix.max(axis=1)).any():
        table.invalid("have a finite logit in every row", "a row of -inf alone")
    shifted = matrix.astype(np.float64) - matrix.max(axis=1, keepdims=True)
    powers = np.exp(shifted)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


# --------------------------------------------------------------------------- names


def _as_name(value: Any) -> str:
    """Return a label as text: 3 for 3.0, which a missing label makes of integers."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _as_number(text: str) -> str:
    """Return "3" for "3.0" and "03", nothing for what is no number."""
    try:
        value = float(text)
    except ValueError:
        return ""
    return str(int(value)) if value.is_integer() else repr(value)
