"""Numbers back in the kind of container that their rows came in."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes
from distfreeuq._base.arrays import AnyArray, describe, shape_of
from distfreeuq._base.containers.foreign_values import column_labels
from distfreeuq.exceptions import InputError

_KINDS = (
    "an array or a list, or a frame, table, Series, DataArray or tensor of pandas, "
    "modin, polars, pyarrow, narwhals, xarray, PyTorch, JAX or another library that "
    "speaks the Array API"
)


def in_kind(values: Any, rows: Any, *, classes: Any = None) -> Any:
    """Return what was computed of rows as the kind of object that the rows are.

    Every function of this package returns arrays and results of its own. This makes of
    them a frame with the rows' index and the classes as columns, or a tensor on the
    rows' device.

    Parameters
    ----------
    values : array_like (n,) or (n, K), or PredictionSets
        Probabilities, p-values, sets, ...
    rows : frame, Series, tensor or array of n rows
        Of pandas, modin, polars, pyarrow, narwhals, xarray, PyTorch, JAX, or another
        library that speaks the Array API.
    classes : sequence of K names, optional
        Names of the columns; by default those of the sets, those of `rows` where it has
        K columns, or 0..K-1. polars and pyarrow have texts only.

    Returns
    -------
    object
        A frame or a matrix for (n, K), a Series or a vector for (n,). Sets are their
        `mask`. Arrays for rows in an array or a list.

    Notes
    -----
    Numbers keep the precision in which they were computed: half precision and bfloat16
    are worked on, and come back, in float32. A tensor comes to this package through the
    memory of the CPU and without its graph, and goes back to its device without one.

    Examples
    --------
    >>> import pandas as pd
    >>> import distfreeuq as dfu
    >>> rows = pd.DataFrame(
    ...     [[0.75, 0.25], [0.125, 0.875]], columns=["no", "yes"], index=["r7", "r9"])
    >>> shift = dfu.label_weights({"no": 0.5, "yes": 0.5}, {"no": 0.8, "yes": 0.2})
    >>> dfu.in_kind(shift.adapt(rows), rows).round(3)
           no    yes
    r7  0.923  0.077
    r9  0.364  0.636
    """
    args = Arguments("in_kind")
    names = None
    if hasattr(values, "mask") and hasattr(values, "classes"):  # PredictionSets
        names, values = values.classes, values.mask
    array = args.array(values, "values", "numbers")
    if array.ndim not in (1, 2):
        args.invalid("values", "of shape (n,) or (n, K)", shape_of(array))
    try:
        n_rows = len(rows)
    except Exception:  # TypeError as a rule, but the object is the user's
        args.invalid("rows", _KINDS, describe(rows))
    if n_rows != array.shape[0]:
        must = f"of the {array.shape[0]} rows that 'values' has"
        args.invalid("rows", must, f"{n_rows} rows")
    if array.ndim == 2:
        names = _names(args, classes, names, rows, array.shape[1])
    elif classes is not None:
        args.invalid("classes", "None for one number per row", describe(classes))
    if isinstance(rows, np.ndarray | list | tuple):
        return array
    try:
        return _made_as(args, _as_others_have(array), rows, names)
    except InputError:
        raise
    except Exception as error:  # of the other library
        reason = f"{describe(values)} ({type(error).__name__}: {error})"
    args.invalid("values", f"what a {type(rows).__name__} can hold", reason)


def _as_others_have(array: AnyArray) -> AnyArray:
    """Return the array in the machine's byte order, in floats of at most 64 bits."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _names(
    args: Arguments, given: Any, own: Classes | None, rows: Any, n_columns: int
) -> list[Any]:
    """Return the names of the columns: those given, of the sets, or of the rows."""
    if given is None and own is not None:
        return list(own)
    if given is None:
        columns = column_labels(rows)
        if columns is not None and len(columns) == n_columns:
            return columns
    return list(class_labels.class_names(args, given, None, n_columns))


def _made_as(args: Arguments, array: AnyArray, rows: Any, names: Any) -> Any:
    """Return an object of the library that the rows are of."""
    root = type(rows).__module__.partition(".")[0]
    if root == "narwhals":
        inner = _made_as(args, array, rows.to_native(), names)
        convert: Any = sys.modules["narwhals"]
        return convert.from_native(inner, allow_series=True)
    # whoever has an object of a library has imported it
    library: Any = sys.modules.get("modin.pandas" if root == "modin" else root)
    if hasattr(rows, "iloc") and hasattr(library, "DataFrame"):
        if array.ndim == 1:
            return library.Series(array, index=rows.index)
        columns = _column_index(names)
        return library.DataFrame(array, index=rows.index, columns=columns)
    if root == "polars":
        if array.ndim == 1:
            return library.Series(array)
        return library.DataFrame(_by_text(args, array, names))
    if root == "pyarrow":
        if array.ndim == 1:
            return library.array(array)
        columns = {
            name: np.ascontiguousarray(column)
            for name, column in _by_text(args, array, names).items()
        }
        return library.table(columns)
    if hasattr(rows, "dims") and hasattr(rows, "coords"):
        return _data_array(library, array, rows, names)
    if hasattr(rows, "detach") and hasattr(library, "as_tensor"):
        return library.as_tensor(np.array(array), device=rows.device)
    if hasattr(rows, "__array_namespace__"):
        return rows.__array_namespace__().asarray(array, device=rows.device)
    args.invalid("rows", _KINDS, describe(rows))


def _column_index(names: list[Any]) -> Any:
    """Return pandas' index of names, of which tuples are names too."""
    import pandas as pd

    return pd.Index(names, tupleize_cols=False)


def _by_text(args: Arguments, array: AnyArray, names: list[Any]) -> dict[str, AnyArray]:
    """Return the columns by the names' texts, for frames that have no other names."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        args.invalid(
            "classes", "names whose texts differ, for such a frame", str(names)
        )
    return {text: array[:, k] for k, text in enumerate(texts)}


def _data_array(library: Any, array: AnyArray, rows: Any, names: Any) -> Any:
    """Return an xarray DataArray with the rows' dimension and coordinates."""
    first = rows.dims[0]
    coords = {first: rows.coords[first]} if first in rows.coords else {}
    if array.ndim == 1:
        return library.DataArray(array, dims=[first], coords=coords)
    second = rows.dims[1] if len(rows.dims) == 2 else "class"
    return library.DataArray(
        array, dims=[first, second], coords={**coords, second: names}
    )
