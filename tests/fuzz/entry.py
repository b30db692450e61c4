"""A row of the table of public functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.kinds import Kind


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    Attributes
    ----------
    share : float
        How often it is called; 1 is usual. Costly ones have less.
    own : mapping
        Kinds of parameters that differ from those of the same name elsewhere.
    call : callable, optional
        What is called in place of the function itself.
    heavy : bool
        Never with hundreds of classes.
    refuses : str, optional
        Why an InputError need not name one of the function's own parameters.
    """

    share: float = 1.0
    own: Mapping[str, Kind] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    heavy: bool = False
    refuses: str | None = None
