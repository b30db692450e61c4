"""Read rows that come in blocks, whatever they come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import isroutine
from typing import Any, TypeVar

import numpy as np

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes
from distfreeuq._base.arrays import AnyArray, NotAnArray, as_array, describe
from distfreeuq._numerics.row_blocks.block import Block, make_block
from distfreeuq._numerics.row_blocks.dask_rows import DaskRows, columns_of, is_dask
from distfreeuq._numerics.row_blocks.iterated import IteratedRows, refuse_iterator
from distfreeuq._numerics.row_blocks.joined_rows import JoinedRows

Output = TypeVar("Output")


def is_in_blocks(value: Any) -> bool:
    """Say whether rows come in blocks: of Dask, a function's, or an iterator's."""
    if isinstance(value, np.ndarray) or value is None:
        return False
    return is_dask(value) or callable(value) or isinstance(value, Iterator)


def is_iterated(value: Any) -> bool:
    """Say whether rows are a function's blocks, or an iterator's."""
    return is_in_blocks(value) and not is_dask(value)


def read_blocks(
    args: Arguments,
    values: Mapping[str, Any],
    *,
    again: bool = False,
    progress: bool = False,
) -> RowBlocks | None:
    """Return rows that come in blocks; None if all of these are arrays in memory.

    Parameters
    ----------
    args : Arguments
        Words the errors.
    values : mapping
        What the user gave of each row, by parameter; the first is the matrix of rows.
        What is None is left out. Where the first is a function or an iterator, its
        blocks have the others, as tuples in this order or as mappings by these names.
    again : bool
        Whether rows are read more than once, which an iterator cannot be.
    progress : bool
        Whether to show a bar; Dask has bars of its own.
    """
    first = next(iter(values))
    given = {name: one for name, one in values.items() if one is not None}
    if not any(map(is_dask, given.values())):
        if first not in given or not is_in_blocks(given[first]):
            return None
        for name, value in given.items():
            if name != first:
                must = f"None where {first!r} is blocks, which have their own"
                hint = _model_hint(given[first])
                args.invalid(name, must, describe(value), hint=hint)
        if again and not callable(given[first]):
            refuse_iterator(args, first, given[first])
        iterated = IteratedRows(args, given[first], tuple(values), progress)
        return RowBlocks(args, iterated, first, iterated.first)
    for name, value in given.items():
        if not is_dask(value) and (callable(value) or isinstance(value, Iterator)):
            args.invalid(name, "of Dask, as other rows are", describe(value))
    if first not in given:
        args.invalid(first, "given, one row per observation", "None")
    return RowBlocks(args, DaskRows(args, given), first, given)


def _model_hint(rows: Any) -> str:
    """Return what to give in place of something that is called, but is no function."""
    if not callable(rows) or isroutine(rows) or isinstance(rows, partial):
        return ""
    return (
        f"If the {type(rows).__name__} is a model, give the probabilities it returns."
    )


def refuse_blocks(args: Arguments, values: Mapping[str, Any], hint: str) -> None:
    """Raise an error for rows in blocks, where a fit needs them in memory.

    `hint` is a sentence that says what to do instead.
    """
    for name, value in values.items():
        if is_in_blocks(value):
            must, got = "an array in memory", describe(value)
            args.invalid(name, must, got, hint=_model_hint(value) or hint)


class RowBlocks:
    """Rows that come in blocks; each `map` and `total` is one pass over them.

    Attributes
    ----------
    parameter : str
        The parameter that has the matrix of rows.
    """

    def __init__(
        self,
        args: Arguments,
        source: DaskRows | IteratedRows,
        parameter: str,
        first: Mapping[str, Any],
    ) -> None:
        self._args = args
        self._source = source
        self.parameter = parameter
        self._first = first

    def has(self, parameter: str) -> bool:
        """Say whether rows have this."""
        return self._first.get(parameter) is not None

    @property
    def is_dask(self) -> bool:
        """Whether blocks are read in an order of the scheduler's."""
        return isinstance(self._source, DaskRows)

    @property
    def n(self) -> int | None:
        """Rows of all blocks, where this is known before they are read."""
        if isinstance(self._source, IteratedRows) or self._source.sizes is None:
            return None
        return sum(self._source.sizes)

    def n_columns(self) -> int:
        """Return the number of columns: two where probabilities are a vector."""
        return self._columns()[1]

    def classes(self, given: Any) -> Classes:
        """Return the class names by column: those given, the frame's own, or 0..K-1.

        Raises an error for fewer than two classes.
        """
        columns, n = self._columns()
        if n < 2:
            must = "of shape (n, K) with K >= 2, or (n,) for the probability of class 1"
            self._args.invalid(self.parameter, must, f"{n} column")
        return self._args.classes(given, columns, n)

    def column_names(self) -> Classes | None:
        """Return the names of the columns, if they have any."""
        return self._columns()[0]

    def _columns(self) -> tuple[Classes | None, int]:
        """Return the names of the columns, if they have any, and their number."""
        value = self._first[self.parameter]
        if not is_dask(value):
            try:
                array = as_array(value) if not hasattr(value, "shape") else value
            except NotAnArray as error:
                must = "blocks of rows, each an array"
                self._args.invalid(self.parameter, must, f"{error} in the first")
            n = 2 if array.ndim < 2 else int(array.shape[1])
            return class_labels.column_names(self._args, value, self.parameter), n
        if value.ndim > 2 or (value.ndim == 2 and value.shape[1] != value.shape[1]):
            must = "of shape (n, K), with K known"
            self._args.invalid(self.parameter, must, f"shape {value.shape}")
        frame, n = columns_of(value)
        if value.ndim < 2:
            return None, 2
        if frame is None:
            return None, int(n)
        return class_labels.column_names(self._args, frame, self.parameter), int(n)

    def map(self, function: Callable[[Block], Output]) -> list[Output]:
        """Return what the function makes of each block, in the order of the blocks."""
        return self._source.map(function) or [function(self._no_rows())]

    def total(
        self,
        function: Callable[[Block], Output],
        add_up: Callable[[Sequence[Output]], Output],
    ) -> Output:
        """Return the sum of what the function makes of each block.

        `add_up` gets some of these, or sums of them, at a time; with one block it is
        not called.
        """
        found = self._source.total(function, add_up)
        return found[0] if found else function(self._no_rows())

    def joined(
        self, function: Callable[[Block], tuple[AnyArray, ...]]
    ) -> tuple[AnyArray, ...]:
        """Return arrays with a number per row, as the function returns them of a block.

        They are new arrays, in the order of the rows.
        """
        rows = JoinedRows()
        for arrays in self._source.each(function):
            rows.append(arrays)
        return rows.whole() if rows.n else function(self._no_rows())

    def _no_rows(self) -> Block:
        """Return a block of no rows, with all parameters that rows have."""
        shape = (0, self.n_columns())
        values: dict[str, Any] = {
            name: np.empty(0) for name in self._first if self.has(name)
        }
        values[self.parameter] = np.empty(shape)
        return make_block(self._args.caller, 0, 0, values, self.parameter)
