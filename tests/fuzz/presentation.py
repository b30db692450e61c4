"""The same numbers in another form: order, strides, byte order, container, library."""

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from contextlib import suppress
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


def _installed(name: str) -> Any:
    """Return a library that the tests do without, None where it is not."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


_polars, _arrow = _installed("polars"), _installed("pyarrow")
_xarray, _torch = _installed("xarray"), _installed("torch")


def _installed_forms() -> list[Form]:
    """Return forms of libraries; columns of a frame would be names of classes."""
    forms: list[Form] = []
    if _polars:
        forms.append(lambda array: _polars.Series(array) if array.ndim == 1 else array)
    if _arrow:
        forms.append(lambda array: _arrow.array(array) if array.ndim == 1 else array)
    if _xarray:
        forms.append(_xarray.DataArray)
    if _torch:
        forms.append(lambda array: _torch.from_numpy(array.copy()))
    return forms


def frames(array: Array, names: list[Any]) -> list[Any]:
    """Return the rows in every installed library's frame, with names of columns."""
    made = [pd.DataFrame(array, columns=names)]
    if not all(isinstance(name, str) for name in names):
        return made
    columns = {name: array[:, k].copy() for k, name in enumerate(names)}
    if _polars:
        made.append(_polars.DataFrame(columns))
    if _arrow:
        made += [_arrow.table(columns), _arrow.RecordBatch.from_pydict(columns)]
    if _xarray:
        coords = {"row": range(array.shape[0]), "class": names}
        made.append(_xarray.DataArray(array, dims=["row", "class"], coords=coords))
    return made


# ---------------------------------------------------------------------------- tensors


def has_tensors() -> bool:
    """Say whether there is a library of tensors to make them with."""
    return _torch is not None


def tensor(array: Array, r: Random) -> tuple[Any, Any]:
    """Return the numbers as a tensor of one of its types, and a plain array of them.

    Some belong to a graph, some are views of another's memory. Where the rows of a
    rounded tensor miss a sum of one by what an array of other floats may not, the
    tensor stands for the plain array too.
    """
    small = not array.size or np.abs(array).max() < 6e4
    types = ["float32", "float64", "float16" if small else "float64", "bfloat16"]
    kind = r.choice(types)
    if kind == "bfloat16" and array.ndim == 2 and r.random() < 0.5:
        array = _in_eighths(array)
    made = _torch.from_numpy(np.array(array, dtype=float)).to(getattr(_torch, kind))
    plain = (made.float() if kind == "bfloat16" else made).numpy().copy()
    made = _one_of_views(made, r)
    if r.random() < 0.5:
        made = made.requires_grad_()
        if r.random() < 0.5:
            made = made * 1  # which stands in a graph
    return made, made if kind == "bfloat16" and _misses_one(plain) else plain


def _one_of_views(made: Any, r: Random) -> Any:
    """Return the tensor, or one that has its numbers in memory of another order."""
    style = r.randrange(4)
    if style == 0 and made.ndim == 2:
        return made.t().contiguous().t()
    if style == 1 and made.ndim and made.shape[0]:
        return _torch.stack([made, made])[1]
    return made


def _in_eighths(array: Array) -> Array:
    """Return rows of eighths that sum to one, where the rows do."""
    if array.shape[1] == 0 or not np.allclose(array.sum(axis=1), 1.0):
        return array
    rows = np.floor(array * 8.0) / 8.0
    largest = rows.argmax(axis=1)
    rows[np.arange(len(rows)), largest] += 1.0 - rows.sum(axis=1)
    return rows


def _misses_one(rows: Array) -> bool:
    """Say whether rows sum to one, but not to the last bits."""
    if rows.ndim != 2:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        misses = np.abs(rows.sum(axis=1, dtype=float) - 1.0)
    return bool(((misses > 1e-9) & (misses < 0.1)).any())


def odd_tensors() -> dict[str, Any]:
    """Return tensors that have no numbers, or none that anybody should take."""
    if _torch is None:
        return {}
    rows = _torch.full((12, 3), 1 / 3)
    return {
        "tensor without memory": rows.to("meta"),
        "sparse tensor": rows.to_sparse(),
        "complex tensor": _torch.complex(rows, rows),
        "conjugated tensor": _torch.complex(rows, rows).conj(),
        "negative view": _torch.complex(rows, rows).conj().imag,
        "tensor of one number": _torch.tensor(0.5, requires_grad=True),
        "tensor of nothing": _torch.empty(0, dtype=_torch.bfloat16),
        "tensor of NaN": _torch.full((12, 3), float("nan"), dtype=_torch.bfloat16),
        "tensor of bool": rows > 0.5,
        "quantized tensor": _torch.quantize_per_tensor(rows, 0.1, 0, _torch.quint8),
        "nested tensor": _torch.nested.nested_tensor([rows[0], rows[0, :2]]),
        "eighth of a float": rows.to(_torch.float8_e4m3fn),
        "parameter": _torch.nn.Parameter(rows),
    }


def import_what_tensors_need() -> None:
    """Have PyTorch import what it does when odd tensors are written or compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tensors that it will not have for long
        for odd in odd_tensors().values():
            repr(odd)
            with suppress(Exception):
                odd == odd  # noqa: B015


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
