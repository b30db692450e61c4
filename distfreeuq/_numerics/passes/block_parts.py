"""Rows in blocks as the parts of a fit: every total is a pass over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from distfreeuq._numerics.passes.row_parts import Parts, add_up
from distfreeuq._numerics.row_blocks import Block

_T = TypeVar("_T")
_U = TypeVar("_U")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class After(Generic[_T, _U, _V]):
    """One function after another, which other processes can be sent."""

    function: Callable[[_U], _V]
    prepare: Callable[[_T], _U]

    def __call__(self, part: _T) -> _V:
        """Return the function's value at what the other makes of a part."""
        return self.function(self.prepare(part))


class Blocks(Protocol):
    """What this module asks of blocks: `RowBlocks` are such."""

    def map(self, function: Callable[[Block], _U]) -> list[_U]:
        """Return what the function makes of each block, in their order."""

    def total(
        self,
        function: Callable[[Block], _U],
        add_up: Callable[[Sequence[_U]], _U],
    ) -> _U:
        """Return the sum of what the function makes of each block."""


@dataclass(frozen=True, slots=True)
class BlockParts(Parts[_T]):
    """Blocks, and what makes of each the form that functions of a part take.

    Attributes
    ----------
    blocks : Blocks
    prepare : callable
        Is pickled where blocks are in other processes.
    """

    blocks: Blocks
    prepare: Callable[[Block], _T]

    @property
    def are_kept(self) -> bool:
        """Whether parts are the same objects in every pass: they are not."""
        return False

    def total(
        self,
        function: Callable[[_T], _U],
        add_up: Callable[[Sequence[_U]], _U] = add_up,
    ) -> _U:
        """Return the sum over the blocks of a function of each: one pass."""
        return self.blocks.total(After(function, self.prepare), add_up)

    def then(self, prepare: Callable[[_T], _U]) -> BlockParts[_U]:
        """Return the parts in another form, which is made anew in every pass."""
        return BlockParts(self.blocks, After(prepare, self.prepare))

    def by_number(self, function: Callable[[int, _T], _U]) -> dict[int, _U]:
        """Return what a function makes of each block and its number, by number."""
        return dict(self.blocks.map(_Numbered(function, self.prepare)))


@dataclass(frozen=True, slots=True)
class _Numbered(Generic[_T, _U]):
    """Returns a block's number, and what is made of it."""

    function: Callable[[int, Any], _U]
    prepare: Callable[[Block], Any]

    def __call__(self, block: Block) -> tuple[int, _U]:
        number = block.args.block
        return number, self.function(number, self.prepare(block))
