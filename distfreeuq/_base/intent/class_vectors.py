"""Numbers with one for each class: by the classes' names, where they carry names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.array_types import Classes
from distfreeuq._base.arrays import listed

if TYPE_CHECKING:
    from distfreeuq._base.arguments import Arguments

Names = tuple[Any, ...]


def names_of(value: Any) -> Names | None:
    """Return the names that a dict, a Series or a DataArray gives its entries.

    None: it has none, as a list, an array, or a Series whose index is 0, 1, 2, ...
    """
    if isinstance(value, Mapping):
        return tuple(value)
    if getattr(value, "ndim", None) != 1:
        return None
    if hasattr(value, "to_numpy") and hasattr(value, "index"):
        names = value.index  # of a pandas Series
    elif hasattr(value, "to_numpy") and hasattr(value, "coords"):
        names = value.coords.get(value.dims[0], [])  # of an xarray DataArray
    else:
        return None
    named = tuple(arrays.plain(name) for name in np.asarray(names).tolist())
    if all(type(name) is int and name == k for k, name in enumerate(named)):
        return None
    return named


def without_names(value: Any) -> Any:
    """Return the entries as they stand."""
    return list(value.values()) if isinstance(value, Mapping) else value


def by_class(args: Arguments, value: Any, classes: Classes, parameter: str) -> Any:
    """Return the entries in the order of the classes; without names, as they are."""
    names = names_of(value)
    if names is None:
        return value
    try:
        entries = dict(zip(names, range(len(names)), strict=True))
        known = len(entries) == len(names) > 0 and entries.keys() == set(classes)
    except TypeError:  # a name that cannot be looked up
        known = False
    if not known:
        args.invalid(
            parameter,
            f"with one entry for each of the classes {listed(classes)}, by name",
            f"entries for {listed(names)}" if names else "no entries",
            hint="Numbers without names, as in an array, are taken by position.",
        )
    if isinstance(value, Mapping):
        return [value[name] for name in classes]
    array = args.array(value, parameter, "numbers")
    return array[[entries[name] for name in classes]]


def by_number(args: Arguments, value: Any, parameter: str) -> Any:
    """Return the entries of classes without names, in the order 0, 1, 2, ..."""
    names = names_of(value)
    if names is None:
        return value
    return by_class(args, value, range(len(names)), parameter)


def common_names(
    args: Arguments, first: Any, second: Any, parameters: tuple[str, str]
) -> Names | None:
    """Return the names that two vectors share, in the order of the first."""
    names, others = names_of(first), names_of(second)
    if (names is None) != (others is None):
        with_names, without = parameters if others is None else parameters[::-1]
        args.invalid(
            without,
            f"named by class, as {with_names!r} is, or classes= be given",
            "numbers without names",
        )
    return names
