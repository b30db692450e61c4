"""Rows in one part or in several: what a fit asks of them in a pass.

A fit needs sums over rows at parameters that it chooses: a loss, its gradient, counts.
It asks its rows for the total of a function of a part. In memory there is one part, and
the total is the function's value there; rows in blocks answer with a pass over the
blocks. So both have the same fit, and nothing else differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_U = TypeVar("_U")


def add_up(totals: Sequence[Any]) -> Any:
    """Return the sum of totals: of numbers and arrays, or of tuples of them."""
    first = totals[0]
    if isinstance(first, tuple):
        entries = [add_up(entry) for entry in zip(*totals, strict=True)]
        return type(first)(*entries) if hasattr(first, "_fields") else tuple(entries)
    if first is None:
        return None
    return sum(totals[1:], start=first)


class Parts(ABC, Generic[_T]):
    """Parts of some rows, each in a form that functions of a part take."""

    __slots__ = ()

    @property
    @abstractmethod
    def are_kept(self) -> bool:
        """Whether parts are the same objects in every pass."""

    @abstractmethod
    def total(
        self,
        function: Callable[[_T], _U],
        add_up: Callable[[Sequence[_U]], _U] = add_up,
    ) -> _U:
        """Return the sum over the parts of a function of each: one pass.

        `add_up` may get sums of some, with others, and need not be called for one.
        """

    @abstractmethod
    def then(self, prepare: Callable[[_T], _U]) -> Parts[_U]:
        """Return the parts in another form, which is made anew in every pass.

        In memory it is made once.
        """


@dataclass(frozen=True, slots=True)
class OnePart(Parts[_T]):
    """Rows in memory."""

    part: _T

    @property
    def are_kept(self) -> bool:
        """Whether parts are the same objects in every pass: they are."""
        return True

    def total(
        self,
        function: Callable[[_T], _U],
        add_up: Callable[[Sequence[_U]], _U] = add_up,
    ) -> _U:
        """Return the function's value."""
        return function(self.part)

    def then(self, prepare: Callable[[_T], _U]) -> OnePart[_U]:
        """Return the rows in another form."""
        return OnePart(prepare(self.part))
