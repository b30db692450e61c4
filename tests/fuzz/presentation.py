"""The same numbers in another form: order, strides, byte order, container."""

import importlib.util
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd

Array = np.ndarray[Any, Any]
Form = Callable[[Array], Any]


def _every_second(array: Array) -> Array:
    wide = np.zeros((2 * array.shape[0], *array.shape[1:]), dtype=array.dtype)
    wide[::2] = array
    return wide[::2]


def _every_second_column(array: Array) -> Array:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _zero_stride(array: Array) -> Array:
    """Return all rows in the memory of one, where they are equal."""
    if array.ndim and array.shape[0] > 1 and (array == array[:1]).all():
        return np.broadcast_to(array[0], array.shape)
    return array


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _unaligned(array: Array) -> Array:
    buffer = np.zeros(array.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _longdouble(array: Array) -> Array:
    is_double = array.dtype.kind == "f" and array.dtype.itemsize == 8
    return array.astype(np.longdouble) if is_double else array


def _pandas(array: Array) -> Any:
    return pd.DataFrame(array) if array.ndim == 2 else pd.Series(array)


def _pandas_other_index(array: Array) -> Any:
    index = range(array.shape[0], 0, -1)
    if array.ndim == 2:
        return pd.DataFrame(array, index=index)
    return pd.Series(array, index=index)


def _own_columns(array: Array) -> Any:
    """Return a frame whose columns have memory of their own."""
    if array.ndim != 2:
        return pd.Series(array)
    return pd.DataFrame({k: array[:, k].copy() for k in range(array.shape[1])})


class _Subclass(np.ndarray):
    """An array of a class of one's own."""


_ARRAYS: list[Form] = [
    np.asfortranarray,
    lambda array: array[::-1].copy()[::-1],
    lambda array: array[..., ::-1].copy()[..., ::-1],
    _every_second,
    _every_second_column,
    _zero_stride,
    lambda array: array.astype(array.dtype.newbyteorder(">")),
    _read_only,
    _unaligned,
    lambda array: np.ma.array(array),
    lambda array: array.view(_Subclass),
    _pandas,
    _pandas_other_index,
    _own_columns,
]
_OTHERS: list[Form] = [
    _longdouble,
    lambda array: array.tolist(),
    lambda array: tuple(array.tolist()),
    lambda array: list(array),
    lambda array: array.astype(object),
    lambda array: memoryview(np.ascontiguousarray(array)),
]


def _installed_forms() -> list[Form]:
    """Return forms of libraries that the tests do without."""
    forms: list[Form] = []
    if importlib.util.find_spec("polars"):
        import polars as pl

        def as_polars(array: Array) -> Any:
            if array.ndim != 2:
                return pl.Series(array)
            return pl.DataFrame({str(k): array[:, k] for k in range(array.shape[1])})

        forms.append(lambda array: as_polars(array) if array.ndim == 1 else array)
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa

        forms.append(lambda array: pa.array(array) if array.ndim == 1 else array)
    if importlib.util.find_spec("torch"):
        import torch

        forms.append(lambda array: torch.from_numpy(array.copy()))
    return forms


FORMS = _ARRAYS + _OTHERS + _installed_forms()


def present(array: Array, r: Random) -> Any:
    """Return the array in a form of its own, as it is half of the time."""
    if r.random() < 0.5:
        return array
    if array.size == 0 and r.random() < 0.9:
        return array  # a list of no rows has no columns
    short = array.dtype.kind == "f" and array.dtype.itemsize < 8
    # numbers of a list are Python's own, to which rounding of float32 is an error
    return r.choice(_ARRAYS if short else FORMS)(array)
