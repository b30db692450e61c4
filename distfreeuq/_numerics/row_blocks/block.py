"""One block of rows, and arguments that count its rows from the first of all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from distfreeuq._base import class_labels
from distfreeuq._base.arguments import Arguments, UncheckedProbs
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._kernels.threads import one_thread_here

Output = TypeVar("Output")

ADDED_AT_ONCE = 16
"""What blocks add up to is added so many at a time, and no more is held than that."""

_ROW = re.compile(r"(.*\bat (?:row|position) )(\d+)(.*)", re.DOTALL)


def _among_all(text: str, start: int | None) -> str | None:
    """Return what is said of a block's row as of a row of all; None if unknown."""
    found = _ROW.fullmatch(text)
    if found is None or start is None:
        return None
    return f"{found[1]}{int(found[2]) + start}{found[3]}"


def in_words_of_all_rows(message: str, number: int, start: int | None) -> str:
    """Return the message of an error about a block, as one about all rows."""
    found = _among_all(message, start)
    return f"{message} (In block {number}.)" if found is None else found


class BlockArguments(Arguments):
    """Arguments of a function, of which a block is a part.

    Attributes
    ----------
    block : int
        Its number, from zero.
    start : int or None
        The block's first row among all, if that is known.
    """

    __slots__ = ("block", "start")

    def __init__(self, caller: str, block: int, start: int | None) -> None:
        super().__init__(caller)
        self.block = block
        self.start = start

    def invalid(
        self, parameter: str, must: str, got: str, *, hint: str = ""
    ) -> NoReturn:
        """Raise the error of `Arguments`, with the row's number among all rows."""
        found = _among_all(got, self.start)
        got = f"{got} in block {self.block}" if found is None else found
        super().invalid(parameter, must, got, hint=hint)

    def labels(
        self, value: ArrayLike, classes: Classes, n_rows: int, parameter: str = "labels"
    ) -> IntArray:
        """Return labels as column numbers, without warnings that are about all rows."""
        return class_labels.column_numbers(self, value, classes, n_rows, parameter)


@dataclass(frozen=True, slots=True)
class Block:
    """Some of the rows, as they came: nothing is checked but that lengths agree.

    Attributes
    ----------
    args : BlockArguments
        Checks what is read, and words the errors.
    n : int
        Rows of the block.
    values : mapping
        What it has for each parameter.
    """

    args: BlockArguments
    n: int
    values: Mapping[str, Any]

    def __getitem__(self, parameter: str) -> Any:
        """Return what the block has for a parameter, as it came; None for nothing."""
        return self.values.get(parameter)

    def probs(self, classes: Classes, parameter: str = "probs") -> UncheckedProbs:
        """Return probabilities of these classes, for a kernel that checks them."""
        return self.args.unchecked_new_probs(self.values[parameter], classes, parameter)

    def logits(self, classes: Classes, parameter: str = "logits") -> FloatMatrix:
        """Return finite logits of these classes (n, K)."""
        value = self.values[parameter]
        matrix, _ = self.args.logits(value, parameter, may_be_probs=True)
        if matrix.shape[1] != len(classes):
            must = f"of shape (n, {len(classes)}), as in the first block"
            self.args.invalid(parameter, must, f"shape {matrix.shape}")
        columns = class_labels.column_names(self.args, value, parameter)
        if columns is not None:
            class_labels.check_order(self.args, columns, classes, parameter)
        return matrix

    def features(self, parameter: str = "features") -> FloatMatrix:
        """Return finite features (n, d)."""
        return self.args.features(self.values[parameter], parameter)

    def labels(self, classes: Classes, parameter: str = "labels") -> IntArray:
        """Return labels as column numbers (n,)."""
        value = self[parameter]
        if value is None:
            self.args.invalid(parameter, "given for every row", "None")
        return self.args.labels(value, classes, self.n, parameter)

    def weights(self, parameter: str = "sample_weight") -> FloatArray | None:
        """Return finite non-negative weights (n,), all zero perhaps; None for none."""
        value = self[parameter]
        if value is None:
            return None
        return self.args.weights(value, parameter, self.n, allow_all_zero=True)


def make_block(
    caller: str, number: int, start: int | None, values: Mapping[str, Any], first: str
) -> Block:
    """Return a block whose pieces have one row for each row of the `first`."""
    args = BlockArguments(caller, number, start)
    n = n_rows(args, values[first], first)
    for parameter, value in values.items():
        if value is not None and n_rows(args, value, parameter) != n:
            found = n_rows(args, value, parameter)
            BlockArguments(caller, number, None).invalid(
                parameter, f"of length {n}, as {first!r} is,", f"length {found}"
            )
    return Block(args, n, values)


def n_rows(args: Arguments, value: Any, parameter: str) -> int:
    """Return the number of rows of an array, a frame or a list."""
    shape = getattr(value, "shape", None)
    if shape is None:
        shape = args.array(value, parameter, "numbers").shape
    if not shape:
        args.invalid(parameter, "an array with a row for each observation", f"{value}")
    return int(shape[0])


class BlockTask(Generic[Output]):
    """What is made of one block, wherever that is: a callable that can be pickled."""

    def __init__(
        self, function: Callable[[Block], Output], caller: str, names: tuple[str, ...]
    ) -> None:
        self._function = function
        self._caller = caller
        self._names = names

    def __call__(self, place: Place, *pieces: Any) -> tuple[int, Output | None]:
        """Return the number of rows, and what the function makes of them if any."""
        own = [piece.value if isinstance(piece, Piece) else piece for piece in pieces]
        values = dict(zip(self._names, own, strict=True))
        block = make_block(
            self._caller, place.number, place.start, values, self._names[0]
        )
        with one_thread_here():
            return block.n, self._function(block) if block.n else None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block is: its number, and its first row among all if that is known.

    A number alone might be the key of a task.
    """

    number: int
    start: int | None


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of an array in memory, hidden from what looks for tasks in arguments."""

    value: Any
