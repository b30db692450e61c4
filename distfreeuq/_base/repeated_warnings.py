"""Warnings of many fits of one kind, told once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TypeAlias

Warned: TypeAlias = tuple[type[Warning], str]
"""A warning's category and its text."""


def listed_warnings(caught: Sequence[warnings.WarningMessage]) -> list[Warned]:
    """Return what was caught, in a form that passes between processes."""
    return [(warning.category, str(warning.message)) for warning in caught]


def warn_once(warned: Sequence[Warned], others: str, stacklevel: int) -> None:
    """Warn once of each category, and say how many `others` warn of the like."""
    for category in dict.fromkeys(category for category, _ in warned):
        texts = [text for own, text in warned if own is category]
        more = f" ({len(texts) - 1} more of {others} warn of the like.)"
        message = texts[0] + (more if len(texts) > 1 else "")
        warnings.warn(message, category, stacklevel=stacklevel + 1)


class Retold:
    """A context whose warnings are told at its end, as of the caller of its function.

    For a public function that calls other public ones, whose warnings would otherwise
    point at a line of this package.
    """

    def __init__(self) -> None:
        self._catcher = warnings.catch_warnings(record=True)
        self._caught: list[warnings.WarningMessage] | None = None

    def __enter__(self) -> None:
        """Begin to collect."""
        self._caught = self._catcher.__enter__()
        warnings.simplefilter("always")

    def __exit__(self, *failure: object) -> None:
        """Tell what was collected, in order."""
        self._catcher.__exit__(*failure)  # type: ignore[arg-type]
        for category, text in listed_warnings(self._caught or []):
            warnings.warn(text, category, stacklevel=3)
