"""Arguments of figures: results by the name of their class, curves, words, Axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from distfreeuq._base import arrays
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq._base.arrays import describe

# So that squares of what is drawn, and margins beyond it, are numbers too.
_LARGEST_DRAWN = 1e150


def result(args: Arguments, value: Any, parameter: str, *names: str) -> None:
    """Refuse what is no result of one of these classes, or of one derived from them.

    Classes go by their names: figures are drawn of results that lie above them too.
    """
    if not names_of(value).isdisjoint(names):
        return
    args.invalid(parameter, " or ".join(f"a {name}" for name in names), describe(value))


def names_of(value: Any) -> set[str]:
    """Return the names of the value's class and of those it is derived from."""
    return {cls.__name__ for cls in type(value).__mro__}


def results(args: Arguments, values: Any, parameter: str, name: str) -> None:
    """Refuse what is not one or more results of a class."""
    listed = isinstance(values, list | tuple) and len(values) > 0
    if not listed or any(name not in names_of(value) for value in values):
        args.invalid(parameter, f"a list of one or more {name}", describe(values))


def mapping(args: Arguments, value: Any, parameter: str, what: str) -> dict[str, Any]:
    """Return a dict whose keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        args.invalid(parameter, f"a mapping of names to {what}", describe(value))
    return dict(value)


def curve(
    args: Arguments,
    value: ArrayLike,
    parameter: str,
    *,
    length: int | None = None,
    low: float = -_LARGEST_DRAWN,
    infinite: bool = False,
) -> FloatArray:
    """Return numbers that can be drawn, shape (n,).

    With `infinite` those that cannot are NaN, at which a line is broken.
    """
    must = "numbers to draw, shape (n,)"
    if not infinite:
        high = _LARGEST_DRAWN
        return args.vector(value, parameter, must, length=length, low=low, high=high)
    numbers = arrays.as_floats(args.array(value, parameter, "numbers"))
    if numbers is None or numbers.ndim != 1:
        args.invalid(parameter, must, describe(value))
    if length is not None and numbers.size != length:
        args.invalid(parameter, f"of length {length}", f"length {numbers.size}")
    vector = numbers.astype(np.float64)
    return np.where(np.abs(vector) <= _LARGEST_DRAWN, vector, np.nan)


def words(args: Arguments, value: Any, parameter: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        args.invalid(parameter, "a text", describe(value))
    return value


def names(args: Arguments, value: Any, parameter: str, length: int) -> Sequence[Any]:
    """Return as many names as asked for: those given, or numbers."""
    if value is None:
        return range(length)
    must = f"a sequence of {length} names"
    if isinstance(value, str | bytes | Mapping | set | frozenset):
        args.invalid(parameter, must, describe(value))
    try:
        given = list(value)
    except TypeError:
        args.invalid(parameter, must, describe(value))
    if len(given) != length:
        args.invalid(parameter, must, f"{len(given)}")
    return given
