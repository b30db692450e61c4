"""Arrays as lists of numbers in a JSON text, and back to the last bit."""

import math
from typing import Any

import numpy as np

from distfreeuq._base.arrays import AnyArray
from distfreeuq._base.files.archive import PLAIN_KINDS

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def listed_of(array: AnyArray) -> dict[str, Any]:
    """Return an array as its dtype, shape and numbers, row after row.

    A float's shortest text is read back as the same float; what JSON has no number for
    is a text.
    """
    values = array.ravel().tolist()
    if array.dtype.kind == "f":
        values = [one if math.isfinite(one) else repr(one) for one in values]
    return {
        "dtype": array.dtype.newbyteorder("<").str,
        "shape": list(array.shape),
        "values": values,
    }


def array_of_list(listed: dict[str, Any]) -> AnyArray:
    """Return the array that `listed_of` described; ValueError if it is none."""
    dtype = np.dtype(listed["dtype"])
    if dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"an array has the dtype {dtype}")
    values, shape = listed["values"], listed["shape"]
    if dtype.kind == "f":
        values = [_NOT_FINITE[x] if isinstance(x, str) else x for x in values]
        kinds: tuple[type, ...] = (float,)
    else:
        kinds = (bool,) if dtype.kind == "b" else (int,)
    if any(type(one) not in kinds for one in values):
        raise ValueError("an array has other numbers than its dtype says")
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("a shape is no list of sizes")
    if math.prod(shape) != len(values):
        raise ValueError("an array has another size than its shape says")
    return np.array(values, dtype=dtype).reshape(shape)
