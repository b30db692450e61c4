"""Dask's arrays, frames and series, of which this package knows no more than here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import as_array
from distfreeuq._numerics.row_blocks.block import (
    ADDED_AT_ONCE,
    BlockTask,
    Piece,
    Place,
    n_rows,
)
from distfreeuq._numerics.row_blocks.task_graph import (
    TaskGraph,
    added_up,
    graph_of_blocks,
)

Output = TypeVar("Output")
Sizes = tuple[int, ...]
"""Rows of each chunk."""

_MAKE_KNOWN = (
    "compute_chunk_sizes() of an array, to_dask_array(lengths=True) of a frame"
)


_ROWS_OF_WAVE = 1 << 22
"""Rows of which a number each is gathered at a time: 32 MB of doubles."""

_BLOCKS_OF_THREAD = 16
"""Each thread has so many of these blocks, so that few threads wait for the last."""


class DaskRows:
    """Collections of Dask, cut into the same rows, and arrays in memory beside them.

    Attributes
    ----------
    sizes : tuple of int or None
        Rows of each block, where they are known.
    """

    def __init__(self, args: Arguments, values: Mapping[str, Any]) -> None:
        collections = {name: one for name, one in values.items() if is_dask(one)}
        self.caller = args.caller
        self.names = tuple(values)
        known = {
            name: sizes
            for name, one in collections.items()
            if (sizes := _known_sizes(one)) is not None
        }
        first = next(iter(known or collections))
        self.sizes = known.get(first)
        self.n_blocks = _n_blocks(collections[first])
        self._pieces: list[Sequence[Any]] = [
            self._cut(args, name, one, first) for name, one in values.items()
        ]

    def _cut(self, args: Arguments, name: str, value: Any, first: str) -> Sequence[Any]:
        """Return the rows of each block."""
        if is_dask(value):
            return self._cut_collection(args, name, value, first)
        if self.sizes is None:
            must = (
                f"a Dask collection cut as {first!r} is, whose chunks have unknown "
                "sizes"
            )
            hint = f"Or make them known: {_MAKE_KNOWN}."
            args.invalid(name, must, "an array in memory", hint=hint)
        n = sum(self.sizes)
        found = n_rows(args, value, name)
        if found != n:
            args.invalid(name, f"of length {n}, as {first!r} is,", f"length {found}")
        ends = np.cumsum(self.sizes).tolist()
        rows = value if hasattr(value, "iloc") else _as_rows(value)
        take = rows.iloc if hasattr(rows, "iloc") else rows
        return [
            Piece(take[end - size : end])
            for end, size in zip(ends, self.sizes, strict=True)
        ]

    def _cut_collection(
        self, args: Arguments, name: str, value: Any, first: str
    ) -> Sequence[Any]:
        sizes = _known_sizes(value)
        if sizes is not None and self.sizes is not None and sizes != self.sizes:
            if sum(sizes) != sum(self.sizes):
                must = f"of length {sum(self.sizes)}, as {first!r} is,"
                args.invalid(name, must, f"length {sum(sizes)}")
            value = value.rechunk({0: self.sizes})
        if _n_blocks(value) != self.n_blocks:
            must = f"cut into {self.n_blocks} blocks of rows, as {first!r} is"
            hint = f"Chunks are cut anew where their sizes are known: {_MAKE_KNOWN}."
            args.invalid(name, must, f"{_n_blocks(value)} blocks", hint=hint)
        if getattr(value, "ndim", 1) > 1 and hasattr(value, "rechunk"):
            value = value.rechunk(dict.fromkeys(range(1, value.ndim), -1))
        pieces: Sequence[Any] = np.ravel(value.to_delayed()).tolist()
        return pieces

    def starts(self) -> Sequence[int | None]:
        """Return the first row of each block, None where it is not known."""
        if self.sizes is None:
            return [None] * self.n_blocks
        ends: list[int] = np.cumsum(self.sizes).tolist()
        return [end - size for end, size in zip(ends, self.sizes, strict=True)]

    def _tasks(self, function: Callable[..., Output]) -> TaskGraph:
        task = BlockTask(function, self.caller, self.names)
        return graph_of_blocks(task, self.starts(), self._pieces)

    def map(self, function: Callable[..., Output]) -> list[Output]:
        """Return what the function makes of each block that has rows."""
        return [output for n, output in self._tasks(function).compute() if n]

    def each(self, function: Callable[..., Output]) -> Iterator[Output]:
        """Yield the same one by one, and let go of what was yielded.

        On threads some millions of rows are computed at a time, so that what is made of
        these finds the room of those before.
        """
        tasks = self._tasks(function)
        for some in self._waves() if tasks.shares_memory else [slice(None)]:
            found = tasks[some].compute()
            found.reverse()
            while found:
                n, output = found.pop()
                if n:
                    yield output

    def _waves(self) -> Iterator[slice]:
        """Yield blocks to be computed at once: all, where sizes are not known."""
        import dask.config
        from dask.system import CPU_COUNT

        n_threads = dask.config.get("num_workers", None) or CPU_COUNT
        first, n = 0, 0
        for number, size in enumerate(self.sizes or (), start=1):
            n += size
            if n >= _ROWS_OF_WAVE and number - first >= _BLOCKS_OF_THREAD * n_threads:
                yield slice(first, number)
                first, n = number, 0
        if first < self.n_blocks:
            yield slice(first, self.n_blocks)

    def total(
        self,
        function: Callable[..., Output],
        add_up: Callable[[Sequence[Output]], Output],
    ) -> list[Output]:
        """Return the sum of these, in a list that is empty if there are no rows."""
        sums = added_up(self._tasks(function), _Adding(add_up), ADDED_AT_ONCE)
        ((n, output),) = sums.compute()
        return [output] if n else []

    def lazily(
        self,
        task: Callable[..., Any],
        fit: Any,
        n_columns: int | None,
        dtype: np.dtype[Any],
    ) -> Any:
        """Return a Dask array (n, n_columns) of what a task makes of each block.

        Without columns, of one number for each row.
        """
        import dask.array
        from dask.delayed import delayed

        array: Any = dask.array

        columns = () if n_columns is None else (n_columns,)
        one_fit = delayed(fit, pure=False, traverse=False)
        make = delayed(task, pure=False, traverse=False)
        sizes = [np.nan] * self.n_blocks if self.sizes is None else self.sizes
        places = map(Place, range(self.n_blocks), self.starts())
        cut = zip(places, *self._pieces, strict=True)
        blocks = [
            array.from_delayed(
                make(one_fit, *arguments), shape=(size, *columns), dtype=dtype
            )
            for arguments, size in zip(cut, sizes, strict=True)
        ]
        return array.concatenate(blocks, allow_unknown_chunksizes=True)


class _Adding:
    """The sum of what has rows; a callable that can be pickled."""

    def __init__(self, add_up: Callable[[Sequence[Any]], Any]) -> None:
        self._add_up = add_up

    def __call__(self, *found: tuple[int, Any]) -> tuple[int, Any]:
        outputs = [output for n, output in found if n]
        n = sum(n for n, _ in found)
        return n, self._add_up(outputs) if len(outputs) > 1 else next(
            iter(outputs), None
        )


def is_dask(value: Any) -> bool:
    """Say whether this is a collection of Dask's that has rows."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def no_rows(value: Any) -> Any:
    """Return none of the rows of a collection, or of an array in memory."""
    if not is_dask(value):
        return value.iloc[:0] if hasattr(value, "iloc") else _as_rows(value)[:0]
    if not hasattr(value, "chunks"):
        return value._meta
    return np.empty((0, *value.shape[1:]), dtype=value.dtype)


def columns_of(value: Any) -> tuple[Any, int]:
    """Return what names the columns, and their number; of one dimension, one."""
    if not hasattr(value, "chunks"):  # of a DataFrame or a Series
        meta = value._meta
        return meta, int(meta.shape[1]) if meta.ndim > 1 else 1
    return None, 1 if value.ndim < 2 else value.shape[1]


def _known_sizes(value: Any) -> Sizes | None:
    chunks = getattr(value, "chunks", None)
    if chunks is None or any(size != size for size in chunks[0]):
        return None
    return tuple(int(size) for size in chunks[0])


def _n_blocks(value: Any) -> int:
    if hasattr(value, "chunks"):
        return len(value.chunks[0])
    return int(value.npartitions)


def _as_rows(value: Any) -> Any:
    """Return what can be cut: of a list, its items as they are."""
    if isinstance(value, list | tuple) and not any(
        isinstance(item, list | tuple) for item in value[:1]
    ):
        return np.fromiter(value, dtype=object, count=len(value))
    return as_array(value)
