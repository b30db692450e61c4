"""Values that a parameter may not have, and some that it may by chance."""

import fractions
import io
from functools import cache
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.presentation import odd_tensors
from tests.unit.odd_values import odd_values

Array = np.ndarray[Any, Any]

# Iterators are used up by a call: each case gets its own.
_FRESH = {
    "generator": lambda: (i for i in range(3)),
    "map": lambda: map(int, "012"),
    "buffer": lambda: io.BytesIO(b"x"),
}
# Arrays that a call could change, and a function of others that raises.
_LEFT_OUT = {
    "frame class",
    "RandomState",
    "BitGenerator",
    "raises as key",
    "list that raises",
}

NUMBERS = (
    0, 1, -1, 2, 0.0, -0.0, 1.0, -1.0, 1.5, 5e-324, 1e-310, 1e-300, 1e-20, 0.999,
    float(np.nextafter(1.0, 0.0)), 1e6, 1e20, 1e150, 1e300, 1.7e308, -1e300,
    float("nan"), float("inf"), float("-inf"), 2**31 - 1, 2**31, 2**53, 2**63, 2**64,
    10**400, -(10**400), True, None, "0.5", 1j, np.float16(0.5), np.float32(0.1),
    np.longdouble(0.1), np.int8(3), np.uint64(2**63), np.array(0.5), np.array([0.5]),
    fractions.Fraction(1, 3), np.bool_(True), "", b"1", [], [0.5], (0.1, 0.2),
)  # fmt: skip

# For what is work that was asked for, however long it lasts: no large numbers.
NO_COUNTS = (
    0, -1, 1.5, 1.0, -1.0, float("nan"), float("-inf"), -(10**400), None, True, "3", "",
    b"1", [], [3], (1, 2), 1j, np.float32(2.0), np.array(2), np.int8(1), np.array([2]),
)  # fmt: skip

TEXTS = ("", "APS", "aps ", "nll\0", "equal_width", "x" * 200, "é", b"nll", None, 1)


@cache
def _odd() -> dict[str, Any]:
    values = odd_values() | odd_tensors()
    return {name: values[name] for name in sorted(values) if name not in _LEFT_OUT}


def odd_value(r: Random) -> Any:
    """Return anything at all."""
    name = r.choice(list(_odd()))
    return _FRESH[name]() if name in _FRESH else _odd()[name]


def spoiled(array: Array, r: Random) -> Any:
    """Return an array with something wrong: an entry, its shape, or its dtype."""
    style = r.randrange(12)
    if style <= 4 and array.size:
        copy = np.array(array, dtype=float)
        entries = (np.nan, np.inf, -np.inf, -0.5, 1e300, 2.0, 5e-324, 1e160, -1e308)
        copy[tuple(r.randrange(size) for size in copy.shape)] = r.choice(entries)
        return copy
    if style == 5:
        return array[:-1]
    if style == 6:
        return array[None]
    if style == 7:
        return array[..., None]
    if style == 8:
        return array.astype(complex)
    if style == 9:
        return _as_dtype(array, r.choice(("S8", "U8", "M8[s]", "m8[s]")))
    if style == 10:
        copy = array.astype(object)
        if copy.size:
            place = tuple(r.randrange(size) for size in copy.shape)
            copy[place] = r.choice((None, "x", 1j, 10**400, np.float32(0.5), b"x"))
        return copy
    if style == 11 and array.ndim == 2:
        return array.T
    return array.ravel()


def _as_dtype(array: Array, dtype: str) -> Array:
    if dtype[0] in "Mm":
        array = np.clip(np.nan_to_num(array), -1e9, 1e9).astype(np.int64)
    return array.astype(dtype)
