"""Names for the kinds of arrays that pass between the modules."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

ArrayLike: TypeAlias = npt.ArrayLike
"""What a user may hand over: arrays, lists, Series, DataFrames."""

RowBlock: TypeAlias = ArrayLike | tuple[ArrayLike, ...] | Mapping[str, ArrayLike]
"""Some rows: a matrix, or a tuple or a dict of it and what else its rows have."""
RowsLike: TypeAlias = ArrayLike | Callable[[], Iterable[RowBlock]] | Iterator[RowBlock]
"""Rows in memory, of Dask, or in blocks that a function or an iterator returns."""

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
FloatMatrix: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.int64]
IntMatrix: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
BoolMatrix: TypeAlias = npt.NDArray[np.bool_]
ByteMatrix: TypeAlias = npt.NDArray[np.uint8]
CountMatrix: TypeAlias = npt.NDArray[np.uint16]
IndexArray: TypeAlias = npt.NDArray[np.int32]

Classes: TypeAlias = Sequence[Hashable]
"""The user's own class names by column: ``range(K)``, or a tuple of names."""

RandomState: TypeAlias = (
    int | np.integer[Any] | np.random.SeedSequence | np.random.Generator | None
)
"""A seed, a generator, or None for fresh entropy (Scientific Python SPEC 7)."""
