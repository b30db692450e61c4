"""Results without the rows that they keep, so that files need not hold them.

A class says what it keeps of the rows, an entry for each of them, in ``_of_rows``: the
fields that are then None, and do without it predictions and the printed table. One that
needs them has ``_why_rows``: a method that returns the reason, or None.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np

from distfreeuq._base.arguments import Arguments

_T = TypeVar("_T")


def without_rows(value: Any) -> Any:
    """Return the same value without what it keeps of each row.

    Raises
    ------
    InputError
        If it can do nothing without them.
    """
    if isinstance(value, tuple):
        return tuple(map(without_rows, value))
    if isinstance(value, type | np.ndarray) or not dataclasses.is_dataclass(value):
        return value
    why = value._why_rows() if hasattr(value, "_why_rows") else None
    if why is not None:
        must = "True where nothing is left without rows"
        got = f"False for a {type(value).__name__}, {why}"
        Arguments("save").invalid("rows", must, got)
    left_out = fields_of_rows(type(value))
    changed = {
        field.name: None
        if field.name in left_out
        else without_rows(getattr(value, field.name))
        for field in dataclasses.fields(value)
    }
    if all(changed[name] is getattr(value, name) for name in changed):
        return value
    return dataclasses.replace(value, **changed)  # type: ignore[type-var]


def fields_of_rows(cls: type) -> set[str]:
    """Return the fields of a class that have an entry for every row."""
    return {name for base in cls.__mro__ for name in base.__dict__.get("_of_rows", ())}


def kept(values: _T | None, caller: str, parameter: str = "self") -> _T:
    """Return what a result keeps of its rows.

    Raises
    ------
    InputError
        If it was saved without them, or made of rows in blocks.
    """
    if values is None:
        must = "a result that was not saved with rows=False, of rows in memory"
        Arguments(caller).invalid(parameter, must, "one without its rows")
    return values
