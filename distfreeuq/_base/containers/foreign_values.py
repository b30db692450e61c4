"""What frames, Arrow tables and tensors hold: values, names of columns, names of rows.

They are told by what they can do, never by their type, so that a library which nobody
here has heard of is read too if it does what others do.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]


def foreign_array(value: Any) -> AnyArray:
    """Return what another library's own conversion gives; its errors pass."""
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        return _tensor(value)
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        return np.asarray(value.get())  # of CuPy's, from the GPU
    if hasattr(value, "to_numpy"):
        try:
            return np.asarray(value.to_numpy())
        except ValueError:  # Arrow's, by itself, only where nothing is copied
            return np.asarray(value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def _tensor(value: Any) -> AnyArray:
    """Return the values of a PyTorch tensor, from whatever device, without its graph.

    Floats that NumPy has not, as bfloat16, become float32.
    """
    value = value.detach().cpu()
    try:
        return np.asarray(value.numpy())
    except TypeError:
        return np.asarray(value.float().numpy())


def is_of_dask(value: Any) -> bool:
    """Say whether the rows are a graph of tasks; xarray's are that, or an array."""
    if isinstance(value, type) or not hasattr(value, "__dask_graph__"):
        return False
    return value.__dask_graph__() is not None


def column_labels(value: Any) -> list[Any] | None:
    """Return the names of a frame's columns, None of what has none."""
    if isinstance(value, type):  # a class and not an object of it
        return None
    if hasattr(value, "to_numpy"):
        if hasattr(value, "columns"):  # pandas, polars and whatever looks like them
            return list(value.columns)
        if hasattr(value, "coords") and hasattr(value, "dims"):
            return _coordinates(value, -1) if len(value.dims) == 2 else None
    if hasattr(value, "to_pydict") and hasattr(value, "schema"):  # Arrow's tables
        return list(value.schema.names)
    return None


def row_labels(value: Any) -> AnyArray | None:
    """Return the index of a pandas object or a DataArray's first coordinate."""
    if hasattr(value, "iloc") and hasattr(value, "index"):
        return np.asarray(value.index.to_numpy())
    if hasattr(value, "coords") and hasattr(value, "dims") and len(value.dims) > 0:
        names = value.coords.get(value.dims[0])
        return None if names is None else np.asarray(names)
    return None


def _coordinates(value: Any, axis: int) -> list[Any] | None:
    names = value.coords.get(value.dims[axis])
    return None if names is None else list(np.asarray(names).tolist())


def rounding_before(value: Any, array: AnyArray) -> float:
    """Return how far rows of bfloat16 may stray from a sum of one; 0 for others.

    An array made of them no longer tells.
    """
    coarse = "bfloat16" in str(getattr(value, "dtype", "")) or (
        array.dtype.kind == "V" and array.dtype.name == "bfloat16"
    )
    return 2.0**-8 if coarse else 0.0


def what_to_do(value: Any) -> str:
    """Return how rows that stand elsewhere are had as a table, or nothing."""
    if hasattr(value, "predict_proba"):  # a classifier
        return " (give what its predict_proba says of the rows)"
    if hasattr(value, "collect"):  # a lazy frame, or a query of Spark's
        return " (call its collect method)"
    if hasattr(value, "__arrow_c_stream__"):
        return " (give pyarrow.table(...) of it)"
    return ""
