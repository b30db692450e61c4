"""What people hand over, as plain arrays: lists, Series, frames, masked arrays.

Nothing here knows what the numbers mean; `Arguments` does, and words the errors.
"""

import reprlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from distfreeuq._base.containers import foreign_values

AnyArray = npt.NDArray[Any]

# A message names this many, and says how many more there are.
_MAX_LISTED = 8

_ALL_AT_ONCE = (
    "here all rows are needed at once: give what its compute method returns, if that "
    "fits into memory"
)

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


class NotAnArray(Exception):
    """The value has no form as an array of plain values; the text says what it is."""


def as_array(value: Any) -> AnyArray:
    """Return an ndarray of any dtype, the value's own memory wherever it has one."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        first = tuple(np.argwhere(np.ma.getmaskarray(value))[0].tolist())
        raise NotAnArray(f"a masked entry{place(first)}")
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise NotAnArray("a sparse matrix (call its toarray method)")
    if foreign_values.is_of_dask(value) and getattr(value, "ndim", 1) > 1:
        raise NotAnArray(f"a Dask {type(value).__name__} ({_ALL_AT_ONCE})")
    if isinstance(value, Set | Mapping | Iterator | str | bytes):
        raise NotAnArray(describe(value))
    try:
        array = foreign_values.foreign_array(value)
    except Exception as error:  # a foreign object's conversion may raise anything
        if isinstance(value, list | tuple) and isinstance(error, ValueError):
            raise NotAnArray("rows of different lengths") from error
        raise NotAnArray(f"{describe(value)} ({error})") from error
    if array.ndim == 0 and array.dtype.kind == "O":
        raise NotAnArray(describe(value) + foreign_values.what_to_do(value))
    return array


def row_names(value: Any) -> AnyArray | tuple[Any, ...] | None:
    """Return the rows' names in a frame: integers, or a tuple of other names.

    None: it has none, or they only count the rows from zero.
    """
    if type(value) is np.ndarray:
        return None
    names = foreign_values.row_labels(value)
    if names is None:
        return None
    if names.dtype.kind == "i":
        counts = names.size == 0 or (names[0] == 0 and names[-1] == names.size - 1)
        if counts and np.array_equal(names, np.arange(names.size)):
            return None
        return read_only(names.astype(np.int64))
    index: Any = getattr(value, "index", None)
    return tuple(index.tolist() if hasattr(index, "tolist") else as_items(names))


def read_only(array: AnyArray) -> AnyArray:
    """Return a view that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view


def is_integer(value: Any) -> TypeGuard[int | np.integer[Any]]:
    """Say whether it is an integer, and neither a truth value nor a span of time.

    NumPy's spans of time are integers to `isinstance`.
    """
    return isinstance(value, int | np.integer) and not isinstance(
        value, bool | np.timedelta64
    )


def is_single(value: Any) -> bool:
    """Say whether the value is one thing and not a row of them."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return not hasattr(value, "__len__") or isinstance(value, str | bytes)


def as_floats(array: AnyArray) -> npt.NDArray[np.floating[Any]] | None:
    """Return native contiguous float32 or float64: the same memory if it is that.

    Half precision becomes float32, everything else that is real becomes float64. None:
    these are no real numbers.
    """
    kind = array.dtype.kind
    if kind == "O":
        return _floats_in_objects(array)
    if kind == "V" and "float" in array.dtype.name:  # such as JAX's bfloat16
        return array.astype(np.float32)
    if kind not in "fiub":
        return None
    single = kind == "f" and array.dtype.itemsize <= 4
    return as_native(array, np.float32 if single else np.float64)


def as_native(array: AnyArray, dtype: type[np.generic]) -> AnyArray:
    """Return what a kernel can read: the same memory if it is that, else a copy."""
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    with np.errstate(over="ignore"):  # beyond float64 is inf, which is refused later
        return np.array(array, dtype=dtype, order="C")


def _floats_in_objects(array: AnyArray) -> npt.NDArray[np.float64] | None:
    if any(isinstance(item, str | bytes) for item in array.flat):
        return None  # which astype would parse
    try:
        return array.astype(np.float64, order="C")
    except Exception:  # an item's own __float__ may raise anything
        return None


def as_items(array: AnyArray) -> list[Any]:
    """Return the entries of a vector as Python objects, dates as dates."""
    kind = array.dtype.kind
    if kind in "mM" and np.datetime_data(array.dtype)[0] in _BELOW_MICRO:
        micro = array.astype(f"{kind}8[us]")
        if np.array_equal(micro, array, equal_nan=True):
            array = micro
    items: list[Any] = array.tolist()
    return items


_BELOW_MICRO = ("ns", "ps", "fs", "as")  # units that NumPy would turn into integers


def plain(name: Any) -> Hashable:
    """Return a NumPy scalar as the Python object it stands for."""
    if isinstance(name, np.generic) and name == name:  # Python has no NaT
        name = as_items(np.asarray(name).reshape(1))[0]
    hashable: Hashable = name
    return hashable


def is_half_a_pair(name: Any) -> bool:
    """Say whether a text holds half of a surrogate pair: no file or frame takes it."""
    if not isinstance(name, str) or name.isascii():
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return True
    return False


def describe(value: Any) -> str:
    """Return what was got, in a few words."""
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.size > 6:
            return f"an array of shape {value.shape}"
        value = value.tolist()
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        value = value.item()  # which may be a plain number of a span of time
    try:
        with np.errstate(all="ignore"):  # frames compute how to print their numbers
            text = _short.repr(value)
    except Exception:  # such as the limit on the digits of an integer
        text = ""
    says_it = 0 < len(text) <= 80 and " at 0x" not in text and "\n" not in text
    if says_it and not (text.startswith("<") and " " in text):
        return text
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def shortened(text: str, length: int = 200) -> str:
    """Return a text for a message: on one line, and cut in the middle if it is long."""
    if not text.isprintable():
        text = ascii(text)[1:-1]
    if len(text) <= length:
        return text
    return f"{text[: length // 2]}...{text[-length // 2 :]}"


def first_no_number(array: AnyArray, columns: Any = None) -> str:
    """Return where an array that `as_floats` refused first holds something else.

    `columns` are the names of its columns, if it came in a frame.
    """
    if array.dtype.kind == "O":
        for index in np.ndindex(array.shape):
            if _floats_in_objects(np.array([array[index]], dtype=object)) is None:
                where = place(index)
                if columns is not None and len(index) == 2 and len(columns) > index[1]:
                    where += f" ({describe(columns[index[1]])})"
                return f"{describe(array[index])}{where}"
    return f"an array of dtype {array.dtype}"


def place(index: tuple[int, ...]) -> str:
    """Return where an entry is, for a message."""
    words = ("row", "column")
    if not 0 < len(index) <= 2:
        return f" at {index}" if index else ""
    return " at " + ", ".join(
        f"{word} {i}" for word, i in zip(words, index, strict=False)
    )


def listed(names: Iterable[Any]) -> str:
    """Return the first few names for a message, and how many more there are."""
    all_names = list(names)
    shown = ", ".join(describe(name) for name in all_names[:_MAX_LISTED])
    more = len(all_names) - _MAX_LISTED
    return shown + (f" and {more} more" if more > 0 else "")


def shape_of(array: AnyArray) -> str:
    """Return the shape for a message; of a single number, the number."""
    return f"shape {array.shape}" if array.ndim else describe(array.item())
