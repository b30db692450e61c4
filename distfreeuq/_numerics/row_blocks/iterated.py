"""Blocks one after another: from an iterator, or a function that makes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe, listed
from distfreeuq._base.progress import progress_bar
from distfreeuq._numerics.row_blocks.block import ADDED_AT_ONCE, Block, make_block

Output = TypeVar("Output")


class IteratedRows:
    """Blocks one after another.

    Parameters
    ----------
    given : callable or iterator
        A function that returns blocks, or an iterator of them, which is read once.
    names : tuple of str
        The parameters, in the order in which a tuple has them.
    """

    def __init__(
        self, args: Arguments, given: Any, names: tuple[str, ...], progress: bool
    ) -> None:
        self._args = args
        self._names = names
        self._given = given
        self._progress = progress
        self._peeked: Iterator[Any] | None = None
        self._is_read = False
        blocks = self._blocks()
        try:
            first = next(blocks)
        except StopIteration:
            args.invalid(names[0], "of one block at least", "no blocks")
        self.first = self._values(first)
        if not callable(given):
            self._peeked = chain([first], blocks)

    def _blocks(self) -> Iterator[Any]:
        must = f"blocks: arrays, or tuples of {', '.join(self._names)}"
        if not _takes_nothing(self._given):
            must = f"a function without arguments that returns {must}"
            self._args.invalid(self._names[0], must, describe(self._given))
        given = self._given() if callable(self._given) else self._given
        if not isinstance(given, Iterable):
            must = f"a function that returns {must}"
            self._args.invalid(self._names[0], must, describe(given))
        return iter(given)

    def _values(self, block: Any) -> Mapping[str, Any]:
        """Return what a block has for each parameter."""
        return values_of_block(self._args, self._names, block)

    def map(self, function: Callable[[Block], Output]) -> list[Output]:
        """Return what the function makes of each block that has rows."""
        return list(self.each(function))

    def each(self, function: Callable[[Block], Output]) -> Iterator[Output]:
        """Yield what the function makes of each block that has rows."""
        start = 0
        for number, given in enumerate(self._pass()):
            values = self._values(given)
            block = make_block(self._args.caller, number, start, values, self._names[0])
            self._check_parameters(block)
            start += block.n
            if block.n:
                yield function(block)

    def total(
        self,
        function: Callable[[Block], Output],
        add_up: Callable[[Sequence[Output]], Output],
    ) -> list[Output]:
        """Return the sum of these, in a list that is empty if there are no rows.

        Sums of few are added to sums of few, so that few are held at any time.
        """
        levels: list[list[Output]] = []
        for output in self.each(function):
            place = 0
            while True:
                if place == len(levels):
                    levels.append([])
                levels[place].append(output)
                if len(levels[place]) < ADDED_AT_ONCE:
                    break
                output, levels[place] = add_up(levels[place]), []
                place += 1
        left = [one for level in reversed(levels) for one in level]
        return [add_up(left)] if len(left) > 1 else left

    def _pass(self) -> Iterable[Any]:
        if not callable(self._given) and self._is_read:
            refuse_iterator(self._args, self._names[0], self._given)
        self._is_read = True
        blocks = self._blocks() if self._peeked is None else self._peeked
        self._peeked = None
        bar: Iterable[Any] = progress_bar(blocks, shown=self._progress, desc="blocks")
        return bar

    def _check_parameters(self, block: Block) -> None:
        mine, others = (
            [name for name in self._names if values.get(name) is not None]
            for values in (self.first, block.values)
        )
        if mine != others:
            must = f"blocks with {', '.join(mine)} each, as the first is"
            block.args.invalid(self._names[0], must, f"one with {', '.join(others)}")


def values_of_block(
    args: Arguments, names: Sequence[str], block: Any
) -> Mapping[str, Any]:
    """Return what a block has for each parameter: a tuple's, or a mapping's."""
    if isinstance(block, Mapping):
        unknown = [name for name in block if name not in names]
        if unknown or names[0] not in block:
            must = f"blocks with {', '.join(map(repr, names))} at most"
            args.invalid(names[0], must, listed(block))
        return {name: block[name] for name in names if name in block}
    pieces = block if isinstance(block, tuple) else (block,)
    if not 1 <= len(pieces) <= len(names):
        must = f"blocks: arrays, or tuples of {', '.join(names)}"
        args.invalid(names[0], must, f"a tuple of {len(pieces)}")
    return dict(zip(names, pieces, strict=False))


def _takes_nothing(given: Any) -> bool:
    """Say whether it can be called without arguments, if it is to be called."""
    if not callable(given):
        return True
    try:
        inspect.signature(given).bind()
    except TypeError:
        return False
    except ValueError:  # of some functions written in C nothing is known
        pass
    return True


def refuse_iterator(args: Arguments, parameter: str, given: Any) -> None:
    """Raise an error for an iterator where rows are read more than once."""
    must = (
        "a function without arguments that returns the blocks anew, since rows are "
        "read several times"
    )
    hint = "Give the function that makes the generator, and do not call it."
    args.invalid(parameter, must, f"an iterator ({describe(given)})", hint=hint)
