"""What stands for rows: a tally, of which every reader asks for its own part.

A fit reads rows, and all that it needs of them adds up over rows: scores by class,
counts of predictions, sums by bin. Each family of procedures has a class of such parts,
and its reader asks for one here before it reads an array. That is the whole of the
entrance; what comes after does not know where its numbers came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import Classes
from distfreeuq._base.arrays import describe


class TallyPart(ABC):
    """What one family of procedures needs of rows; frozen, and adds exactly."""

    __slots__ = ()

    contents: ClassVar[str]
    """What the part holds, in an error of a procedure that found none."""
    how_made: ClassVar[str]
    """What to tell `tally`, so that there is one."""

    @abstractmethod
    def unlike(self, other: Any) -> tuple[str, str] | None:
        """Return how this part and one of the same class differ, if they do not add."""

    @classmethod
    @abstractmethod
    def total(cls, parts: Sequence[Any]) -> Any:
        """Return the part of all rows of these parts, which are alike."""


_Part = TypeVar("_Part", bound=TallyPart)


class Tallied(ABC):
    """Rows that are not here: their parts, by class."""

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> tuple[TallyPart, ...]:
        """All parts, at most one of each class."""

    classes: Classes
    """Class names by column."""


def find_part(
    args: Arguments,
    given: Any,
    kind: type[_Part],
    *,
    parameter: str = "probs",
    **of_rows: Any,
) -> tuple[_Part, Classes] | None:
    """Return a tally's part of this class and its classes; None if these are rows.

    Parameters
    ----------
    args : Arguments
        Words the errors.
    given : Any
        What the user gave for `parameter`: a tally, or anything else.
    kind : type
        The class of the part.
    of_rows
        Arguments that say something of each row, by name: None with a tally.
    """
    if not isinstance(given, Tallied):
        return None
    for name, value in of_rows.items():
        if value is not None:
            must = f"None where {parameter!r} is a Tally, whose rows are not here"
            args.invalid(name, must, describe(value))
    for part in given.parts:
        if isinstance(part, kind):
            return part, given.classes
    must = f"rows, or a Tally with {kind.contents}, made {kind.how_made}"
    args.invalid(parameter, must, repr(given))
