"""Warnings that point at the user's own line, and warnings of many fits, told once."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import TypeAlias

Warned: TypeAlias = tuple[type[Warning], str]
"""A warning's category and its text."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn as of the nearest line outside this package.

    However many functions of the package lie between: a procedure that fits another one
    to rows of its own warns of the same line as that other one alone.
    """
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def listed_warnings(caught: Sequence[warnings.WarningMessage]) -> list[Warned]:
    """Return what was caught, in a form that passes between processes."""
    return [(warning.category, str(warning.message)) for warning in caught]


def warn_once(warned: Sequence[Warned], others: str) -> None:
    """Warn once of each category, and say how many `others` warn of the like."""
    for category in dict.fromkeys(category for category, _ in warned):
        texts = [text for own, text in warned if own is category]
        more = f" ({len(texts) - 1} more of {others} warn of the like.)"
        warn_user(texts[0] + (more if len(texts) > 1 else ""), category)
