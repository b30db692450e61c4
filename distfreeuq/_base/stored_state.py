"""What a class may hold: types, shapes and ranges of its fields, as one table.

A class that can be saved has a table ``_state`` with an entry for every field, which is
added to that of the class it derives from:

    _state: ClassVar[State] = {
        "classes": column_names("K"),
        "thresholds": floats("K", nan=False),
        "alpha": rate(),
    }

An entry is a function of the field's value and of the sizes found so far, and raises a
ValueError. A size such as "K" stands for whatever the first field with it has; all
other fields must agree, and "K+1" is one more. Saving and loading ask every entry. The
compiled core trusts its callers: without this an index in a file would be read or
written out of bounds. "*" stands for any size, and ... for any shape.
"""

import math
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from distfreeuq._base.arrays import AnyArray, describe

Size: TypeAlias = str | int | EllipsisType
Sizes: TypeAlias = dict[str, int]
Entry: TypeAlias = Callable[[Any, Sizes], None]
State: TypeAlias = Mapping[str, Entry]

_MOST_NAMES = 10**7
"""Classes or features: range(10**18) takes no place in a file, but fills the memory."""
_WHOLE = 2**53
"""Integers below this one are floats as well, and a thousand of them have a sum."""


def state_of(cls: type) -> dict[str, Entry]:
    """Return the table of a class, with those of the classes it derives from."""
    table: dict[str, Entry] = {}
    for base in reversed(cls.__mro__):
        table.update(base.__dict__.get("_state", {}))
    return table


def check_state(state: Any) -> None:
    """Raise a ValueError that names the first field that cannot be as it is."""
    _check_fields(state, {})
    if hasattr(state, "_validate_state"):
        state._validate_state()


def _check_fields(state: Any, sizes: Sizes) -> None:
    for name, entry in state_of(type(state)).items():
        try:
            entry(getattr(state, name), sizes)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def require(holds: Any, what: str) -> None:
    """Raise unless something holds; `what` says what should."""
    if not holds:
        raise ValueError(f"{what} was expected")


# ------------------------------------------------------------------------------ arrays


def floats(
    *shape: Size,
    low: float = -math.inf,
    high: float = math.inf,
    nan: bool = True,
    finite: bool = False,
    ascending: bool = False,
    single: bool = False,
) -> Entry:
    """Allow float64 from `low` to `high`, with `single` float32 as well.

    NaN is allowed, and not a number below `low`, unless `nan` is False or `finite`.
    """
    dtypes = (np.float64, np.float32) if single else (np.float64,)

    def check(value: Any, sizes: Sizes) -> None:
        array = _array(value, dtypes, shape, sizes)
        if array.size == 0:
            return
        if finite:
            require(np.isfinite(array).all(), "no NaN and no infinity")
        elif not nan or ascending:
            require(not np.isnan(array).any(), "no NaN")
        if low > -math.inf:
            require(not (array < low).any(), f"nothing below {low:g}")
        if high < math.inf:
            require(not (array > high).any(), f"nothing above {high:g}")
        if ascending:
            require((array[1:] >= array[:-1]).all(), "ascending order")

    return check


def masses(*shape: Size, single: bool = False) -> Entry:
    """Allow probabilities or weights: finite, and none of them negative."""
    return floats(*shape, low=0.0, finite=True, single=single)


def integers(*shape: Size, low: int = 0, below: str | int = _WHOLE) -> Entry:
    """Allow int64 of this shape, at least `low`, and below a number or size."""

    def check(value: Any, sizes: Sizes) -> None:
        array = _array(value, (np.int64,), shape, sizes)
        if array.size == 0:
            return
        require(array.min() >= low, f"nothing below {low}")
        most = (sizes[below] if isinstance(below, str) else below) - 1
        require(array.max() <= most, f"nothing above {most}")

    return check


def table_of_counts(*shape: Size) -> Entry:
    """Allow counts of rows (int64), or sums of their weights (float64)."""
    counts, weights = integers(*shape), masses(*shape)

    def check(value: Any, sizes: Sizes) -> None:
        whole = isinstance(value, np.ndarray) and value.dtype == np.int64
        (counts if whole else weights)(value, sizes)

    return check


def flags(*shape: Size) -> Entry:
    """Allow bools of this shape."""

    def check(value: Any, sizes: Sizes) -> None:
        _array(value, (np.bool_,), shape, sizes)

    return check


def _array(
    value: Any, dtypes: tuple[Any, ...], shape: tuple[Size, ...], sizes: Sizes
) -> AnyArray:
    text = "..." if shape == (...,) else ", ".join(map(str, shape))
    what = f"an array of {dtypes[0].__name__} and shape ({text})"
    if not isinstance(value, np.ndarray) or value.dtype not in dtypes:
        _unlike(what, value)
    require(value.dtype.isnative and value.flags.aligned, what)
    if shape == (...,):
        return value
    if value.ndim != len(shape):
        _unlike(what, value)
    for size, found in zip(shape, value.shape, strict=True):
        _agree(size, found, sizes, what)
    return value


def _agree(size: Size, found: int, sizes: Sizes, what: str) -> None:
    """Give a size its value, or compare it to the one that it has."""
    if not isinstance(size, str):
        require(found == size, what)
        return
    if size == "*":
        return
    letter, _, more = size.partition("+")
    base = found - int(more or 0)
    known = sizes.setdefault(letter, base)
    if known != base or base < 0:
        raise ValueError(f"{what}, {letter} = {known}, was expected")


def _unlike(what: str, value: Any) -> NoReturn:
    kind = f" of dtype {value.dtype}" if isinstance(value, np.ndarray) else ""
    raise ValueError(f"{what} was expected, and not {describe(value)}{kind}")


# ----------------------------------------------------------------------------- numbers


def real(
    low: float = -math.inf,
    high: float = math.inf,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    nan: bool = False,
    finite: bool = True,
) -> Entry:
    """Allow a number from `low` to `high`, strictly above `above` and below `below`."""

    def check(value: Any, sizes: Sizes) -> None:
        value = _scalar(value)
        if type(value) not in (int, float):
            _unlike("a number", value)
        if value != value:
            require(nan, "a number that is not NaN")
            return
        if type(value) is int:
            require(abs(value) < _WHOLE, "a number that a float holds exactly")
        require(not finite or abs(value) < math.inf, "a finite number")
        inside = low <= value <= high
        inside = inside and (value > above or above == -math.inf)
        inside = inside and (value < below or below == math.inf)
        if not inside:
            _unlike(f"a number in its range ({_range(low, high, above, below)})", value)

    return check


def _range(low: float, high: float, above: float, below: float) -> str:
    return f"{max(low, above):g} to {min(high, below):g}"


def proportion(*, nan: bool = False) -> Entry:
    """Allow a number from 0 to 1."""
    return real(0.0, 1.0, nan=nan)


def rate() -> Entry:
    """Allow a number strictly between 0 and 1."""
    return real(above=0.0, below=1.0)


def count(
    size: str | None = None, *, low: int = 0, high: int | None = _WHOLE - 1
) -> Entry:
    """Allow an integer from `low` to `high`; it is the size of this name, if any."""

    def check(value: Any, sizes: Sizes) -> None:
        value = _scalar(value)
        if type(value) is not int or value < low:
            _unlike(f"an integer from {low} on", value)
        if high is not None and value > high:
            _unlike(f"an integer up to {high}", value)
        if size is not None:
            _agree(size, value, sizes, "a number of rows that agrees with the arrays")

    return check


def flag() -> Entry:
    """Allow True and False."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(_scalar(value)) is not bool:
            _unlike("True or False", value)

    return check


def _scalar(value: Any) -> Any:
    """Return the Python number of a NumPy scalar, which a file holds in its place."""
    return value.item() if isinstance(value, np.generic) else value


# ------------------------------------------------------------ texts, names and parts


def text(*choices: str) -> Entry:
    """Allow a text; one of `choices` if there are any."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is not str:
            _unlike("a text", value)
        if choices and value not in choices:
            _unlike(f"one of {', '.join(choices)}", value)

    return check


def flag_or_text(*choices: str) -> Entry:
    """Allow True, False, or one of these texts."""
    as_flag, as_text = flag(), text(*choices)

    def check(value: Any, sizes: Sizes) -> None:
        (as_text if isinstance(value, str) else as_flag)(value, sizes)

    return check


def column_names(size: str) -> Entry:
    """Allow names of columns: range(K), or a tuple of K different ones."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) not in (range, tuple) or len(value) > _MOST_NAMES:
            _unlike("a tuple of names", value)
        _agree(size, len(value), sizes, "as many names as columns")
        if isinstance(value, range):
            require(value == range(len(value)), "numbers from 0 on")
            return
        require(len(set(value)) == len(value), "different names")
        require(all(name == name for name in value), "names without NaN")

    return check


def row_name() -> Entry:
    """Allow the name of a row: a text, a number, None, or a tuple of these."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is tuple:
            for item in value:
                check(item, sizes)
        elif value is not None and type(value) not in (str, int, float, bool):
            _unlike("a text or a number that names a row", value)

    return check


def several(entry: Entry, size: str | None = None) -> Entry:
    """Allow a tuple whose items are all of one kind."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is not tuple:
            _unlike("a tuple", value)
        if size is not None:
            _agree(size, len(value), sizes, "as many items as others have")
        for item in value:
            entry(item, sizes)

    return check


def pair(first: Entry, second: Entry) -> Entry:
    """Allow a tuple of two."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is not tuple or len(value) != 2:
            _unlike("a pair", value)
        first(value[0], sizes)
        second(value[1], sizes)

    return check


def maybe(entry: Entry) -> Entry:
    """Allow None, and what the entry allows."""

    def check(value: Any, sizes: Sizes) -> None:
        if value is not None:
            entry(value, sizes)

    return check


def either(array: Entry, other: Entry) -> Entry:
    """Allow an array of one kind, or something else that is no array."""

    def check(value: Any, sizes: Sizes) -> None:
        (array if isinstance(value, np.ndarray) else other)(value, sizes)

    return check


def part(*classes: type, same: str | None = None) -> Entry:
    """Allow an object of these classes; `same` is a size that it has in common.

    The object has been checked already.
    """

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, classes):
            _unlike(" or ".join(cls.__name__ for cls in classes), value)
        if same is not None:
            _check_fields(value, {same: sizes[same]})

    return check


def part_or_none(*classes: type, same: str | None = None) -> Entry:
    """Allow None, or an object of these classes."""
    return maybe(part(*classes, same=same))


def nothing() -> Entry:
    """Allow None only."""

    def check(value: Any, sizes: Sizes) -> None:
        require(value is None, "None")

    return check
