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
