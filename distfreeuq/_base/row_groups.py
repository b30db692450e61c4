"""Groups of rows: which there are, and which one each row is in."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.array_types import IntArray
from distfreeuq._base.arrays import AnyArray

if TYPE_CHECKING:
    from distfreeuq._base.arguments import Arguments

Names = tuple[Hashable, ...]
"""The names of groups, in order."""


def read_groups(
    args: Arguments, groups: Any, n: int, parameter: str = "groups"
) -> tuple[Names, IntArray]:
    """Return the groups' names in order, and each row's position among them (n,)."""
    distinct, codes = distinct_groups(args, groups, n, parameter)
    names = in_order(distinct)
    position = {name: code for code, name in enumerate(names)}
    places = np.array([position[name] for name in distinct], dtype=np.int64)
    return tuple(names), places[codes]


def look_up_groups(
    args: Arguments, groups: Any, n: int, names: Names
) -> tuple[IntArray, list[Hashable]]:
    """Return new rows' positions among known groups, -1 if unseen, and the unseen."""
    distinct, codes = distinct_groups(args, groups, n)
    position = {name: code for code, name in enumerate(names)}
    places = np.array([position.get(name, -1) for name in distinct], dtype=np.int64)
    unseen = [name for name in distinct if name not in position]
    return places[codes], unseen


def distinct_groups(
    args: Arguments, groups: Any, n: int, parameter: str = "groups"
) -> tuple[list[Hashable], IntArray]:
    """Return the different groups as plain Python values, and which each row is in."""
    array = args.array(groups, parameter, f"{parameter}, one per row")
    if array.ndim != 1 or array.shape[0] != n:
        must = f"{n} {parameter}, one per row"
        args.invalid(parameter, must, f"shape {array.shape}")
    if _is_within_few(array):
        numbers, codes = few_integers(array.astype(np.int64))
        return list(numbers), codes
    items = arrays.as_items(array)
    try:
        distinct = list(dict.fromkeys(items))
    except TypeError:  # one of them cannot be looked up
        distinct = items
    for item in distinct:
        if not _is_group(item):
            row = next(row for row, other in enumerate(items) if other is item)
            must = "values that can be told apart, none of them missing"
            args.invalid(parameter, must, f"{arrays.describe(item)} at row {row}")
        if arrays.is_half_a_pair(item):
            row, must = items.index(item), "texts that UTF-8 can hold"
            args.invalid(parameter, must, f"{arrays.describe(item)} at row {row}")
    position = {item: code for code, item in enumerate(distinct)}
    codes = np.fromiter(map(position.__getitem__, items), np.int64, len(items))
    return distinct, codes


def in_order(distinct: list[Hashable]) -> list[Hashable]:
    """Return the values in order, of appearance if they have no other."""
    try:
        return sorted(distinct)  # type: ignore[type-var]
    except TypeError:
        return distinct


def few_integers(values: IntArray) -> tuple[list[int], IntArray]:
    """Return the different ones in order, and where each row's stands among them."""
    low = int(values.min()) if values.size else 0
    offsets = values - low
    present = np.bincount(offsets) > 0
    distinct = (low + np.flatnonzero(present)).tolist()
    return distinct, (np.cumsum(present) - 1)[offsets]


def _is_within_few(array: AnyArray) -> bool:
    """Say whether these are integers with no more between them than there are rows."""
    if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64):
        return False
    return array.size > 0 and int(array.max()) - int(array.min()) < array.size


def _is_group(item: Any) -> bool:
    """Say whether a value can be looked up: hashable, and equal to itself."""
    try:
        hash(item)
        return item is not None and bool(item == item)
    except (TypeError, ValueError):
        return False
