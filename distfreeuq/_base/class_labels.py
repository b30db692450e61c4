"""Class names, and labels as column numbers: part of `arguments`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.array_types import ArrayLike, Classes, IntArray
from distfreeuq._base.arrays import AnyArray, describe, listed, shape_of
from distfreeuq._base.containers.foreign_values import column_labels
from distfreeuq._base.intent import likely_mistakes

if TYPE_CHECKING:
    from distfreeuq._base.arguments import Arguments


def column_names(args: Arguments, value: Any, parameter: str) -> Classes | None:
    """Return the class names that a DataFrame's columns give; None for 0..K-1."""
    if type(value) is np.ndarray:
        return None
    columns = column_labels(value)
    if columns is None:
        return None
    names = tuple(arrays.plain(name) for name in columns)
    if _count_from_zero(names):
        return None
    _check_names(args, names, parameter, "a frame with distinct column names")
    return names


def class_names(
    args: Arguments, given: Any, columns: Classes | None, n_classes: int
) -> Classes:
    """Return the class names by column: those given, the frame's own, or 0..K-1."""
    if given is None:
        return range(n_classes) if columns is None else columns
    must = "a sequence of class names, one per column"
    if isinstance(given, str | bytes | Set | Mapping):
        args.invalid("classes", must, describe(given))
    try:
        names = tuple(arrays.plain(name) for name in given)
    except Exception:  # TypeError as a rule, but the iterator is the user's
        names = None
    if names is None:
        args.invalid("classes", must, describe(given))
    if len(names) != n_classes:
        must = f"one name for each of the {n_classes} columns"
        args.invalid("classes", must, f"{len(names)} names")
    _check_names(args, names, "classes", "distinct names")
    if columns is not None and contradict(columns, names):
        must = f"the frame's columns in the frame's order, {listed(columns)}"
        args.invalid("classes", must, listed(names))
    return range(n_classes) if _count_from_zero(names) else names


def name_array(classes: Classes) -> AnyArray:
    """Return the names as an array: of integers or floats if all are, or of objects."""
    if isinstance(classes, range):
        return np.arange(len(classes))
    for kind, dtype_kind in ((int, "i"), (float, "f")):
        if all(type(name) is kind for name in classes):
            array = np.asarray(classes)
            if array.dtype.kind == dtype_kind:  # not so for integers beyond int64
                return array
    return np.fromiter(classes, dtype=object, count=len(classes))


def name_classes(classes: Classes, positions: Iterable[int]) -> str:
    """Return "class 'a'", or "classes 'a', 'b'", for a message."""
    names = [classes[int(k)] for k in positions]
    return ("class " if len(names) == 1 else "classes ") + listed(names)


def contradict(columns: Classes, names: Classes) -> bool:
    """Say whether columns name some of these classes, but not all in this order.

    Columns that are called alike around the names, as 'prob_cat', name them too.
    """
    if tuple(columns) == tuple(names):
        return False
    if not set(columns).isdisjoint(names):
        return True
    found = None
    for before, after in _around(str(columns[0]), names):
        called = [f"{before}{name}{after}" for name in names]
        if called == [str(column) for column in columns]:
            return False
        found = found or set(called) == {str(column) for column in columns}
    return bool(found)


def _around(column: str, names: Classes) -> Iterable[tuple[str, str]]:
    """Return what may stand before and after every name, by one column's name."""
    for name in map(str, names):
        start = column.find(name)
        while start >= 0:
            yield column[:start], column[start + len(name) :]
            start = column.find(name, start + 1)


def check_order(
    args: Arguments, columns: Classes, classes: Classes, parameter: str
) -> None:
    """Refuse the columns of a frame that name a fit's classes in another order."""
    if contradict(columns, classes):
        must = f"with the fit's columns in the fit's order, {listed(classes)}"
        hint = f"In that order they are {parameter}[list(fit.classes)]."
        alike = set(columns) == set(classes)
        args.invalid(parameter, must, listed(columns), hint=hint if alike else "")


def column_numbers(
    args: Arguments, value: ArrayLike, classes: Classes, n_rows: int, parameter: str
) -> IntArray:
    """Return one column number per row, shape (n,)."""
    numbered = isinstance(classes, range)
    if isinstance(value, list | tuple) and not numbered:
        # through an array, names of several types would all become strings
        array: AnyArray = np.fromiter(value, dtype=object, count=len(value))
    else:
        array = args.array(value, parameter, "labels, one per row")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        hint = likely_mistakes.shape_hint(array, n_rows, len(classes))
        must = "one label per row, shape (n,)"
        args.invalid(parameter, must, shape_of(array), hint=hint)
    if array.shape[0] != n_rows:
        must = f"one label for each of the {n_rows} rows"
        args.invalid(parameter, must, f"{array.shape[0]} labels")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if numbered and array.dtype.kind in "iubf":
        return _numbered(args, array, len(classes), parameter)
    return _named(args, array, classes, parameter)


def _numbered(
    args: Arguments, array: AnyArray, n_classes: int, parameter: str
) -> IntArray:
    if array.min() >= 0 and array.max() < n_classes:  # false for NaN
        labels = arrays.as_native(array, np.int64)
        if array.dtype.kind != "f" or (labels == array).all():
            return labels
    valid = (array >= 0) & (array < n_classes) & (array == np.floor(array))
    row = int(np.argmin(valid))
    _invalid_label(args, array, row, range(n_classes), parameter)


def _named(
    args: Arguments, array: AnyArray, classes: Classes, parameter: str
) -> IntArray:
    code_of = {name: code for code, name in enumerate(classes)}
    items = arrays.as_items(array)
    codes = _look_up(items, code_of)
    if codes.min() < 0 and array.dtype.kind == "O":  # NumPy's dates are not Python's
        codes = _look_up([arrays.plain(item) for item in items], code_of)
    if array.dtype.kind in "mM":  # or NaT, which Python has not, would pass for None
        codes[np.isnat(array)] = -1
    if codes.min() < 0:
        row = int(np.argmin(codes >= 0))
        _invalid_label(args, array, row, classes, parameter)
    return codes


def _look_up(items: list[Any], code_of: dict[Hashable, int]) -> IntArray:
    """Return each item's code, -1 for an unknown one."""
    try:
        codes = map(code_of.get, items, repeat(-1))
        return np.fromiter(codes, dtype=np.int64, count=len(items))
    except Exception:  # an item that cannot be hashed is no class name
        known = (code_of.get(x, -1) if _is_hashable(x) else -1 for x in items)
        return np.fromiter(known, dtype=np.int64, count=len(items))


def _invalid_label(
    args: Arguments, labels: AnyArray, row: int, classes: Classes, parameter: str
) -> NoReturn:
    must = f"among the classes {listed(classes)}"
    if isinstance(classes, range):
        must = f"integers 0..{len(classes) - 1}, or names listed in classes="
    got = f"{describe(labels[row])} at row {row}"
    hint = likely_mistakes.label_hint(labels, classes)
    args.invalid(parameter, must, got, hint=hint)


def _check_names(
    args: Arguments, names: tuple[Hashable, ...], parameter: str, must: str
) -> None:
    """Refuse names among which a label could not be looked up."""
    seen: set[Hashable] = set()
    for name in names:
        if not _is_hashable(name):
            args.invalid(parameter, "names that can be hashed", describe(name))
        if _is_missing(name):
            args.invalid(parameter, f"{must}, none of them missing", str(name))
        if arrays.is_half_a_pair(name):
            args.invalid(parameter, f"{must} that UTF-8 can hold", describe(name))
        if name in seen:
            args.invalid(parameter, must, f"{describe(name)} more than once")
        seen.add(name)


def _count_from_zero(names: tuple[Hashable, ...]) -> bool:
    """Say whether the names are the integers 0..K-1; False and 0.0 are other names."""
    return all(type(name) is int and name == k for k, name in enumerate(names))


def _is_hashable(name: Any) -> bool:
    try:
        hash(name)
    except Exception:  # TypeError as a rule, but the object is the user's
        return False
    return True


def _is_missing(name: Any) -> bool:
    """Say whether the value is a NaN, NaT or NA: what does not equal itself."""
    try:
        return bool(name != name)
    except Exception:  # pandas' NA has no truth value
        return True
