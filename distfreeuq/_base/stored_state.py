"""Checks of what a file held, for the `_validate_state` of a class.

The compiled core trusts its callers: an index out of range in a file would be read or
written out of bounds. All of these raise a ValueError.
"""

from typing import Any

import numpy as np

from distfreeuq._base.arrays import AnyArray

Shape = tuple[int, ...]


def require(holds: Any, what: str) -> None:
    """Raise unless something holds; `what` says what should."""
    if not holds:
        raise ValueError(f"{what} was expected")


def check_floats(state: Any, **shapes: Shape) -> None:
    """Check that fields of these names are floats of these shapes."""
    for name, shape in shapes.items():
        _check_array(state, name, (np.float64, np.float32), shape)


def check_integers(state: Any, **shapes: Shape) -> None:
    """Check that fields of these names are 64-bit integers of these shapes."""
    for name, shape in shapes.items():
        _check_array(state, name, (np.int64,), shape)


def check_flags(state: Any, **shapes: Shape) -> None:
    """Check that fields of these names are bools of these shapes."""
    for name, shape in shapes.items():
        _check_array(state, name, (np.bool_,), shape)


def _check_array(state: Any, name: str, dtypes: tuple[Any, ...], shape: Shape) -> None:
    array = getattr(state, name)
    is_array = isinstance(array, np.ndarray)
    wanted = dtypes[0].__name__
    require(
        is_array and array.dtype in dtypes and array.shape == shape,
        f"{name} of dtype {wanted} and shape {shape}",
    )


def check_ascending(array: AnyArray, name: str) -> None:
    """Check that a vector is sorted and holds no NaN; equal entries are allowed."""
    in_order = (array[1:] >= array[:-1]).all() and not np.isnan(array).any()
    require(in_order, f"{name} in ascending order")


def check_indices(array: AnyArray, name: str, size: int) -> None:
    """Check that integers are positions among `size` things."""
    inside = array.size == 0 or (array.min() >= 0 and array.max() < size)
    require(inside, f"{name} from 0 to {size - 1}")


def check_finite(array: AnyArray, name: str) -> None:
    """Check that an array holds neither NaN nor infinities."""
    require(np.isfinite(array).all(), f"{name} without NaN and infinities")


def check_masses(array: AnyArray, name: str) -> None:
    """Check that an array holds probabilities or weights: finite, not negative."""
    require(array.min(initial=0.0) >= 0.0, f"non-negative {name}")
    check_finite(array, name)
