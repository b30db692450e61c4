"""Options of one procedure that another one takes and passes on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any


def complete_options(
    function: Callable[..., Any], given: Mapping[str, Any], *, without: tuple[str, ...]
) -> dict[str, Any]:
    """Return all options of a public function: those given, else its own defaults.

    `without` are parameters that the caller does not leave to the user. A name that is
    no option is the TypeError that a call of the function would raise.
    """
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in without
    ]
    for name in given.keys() - {parameter.name for parameter in parameters}:
        raise TypeError(
            f"{function.__name__}() got an unexpected keyword argument {name!r}"
        )
    return {
        parameter.name: given.get(parameter.name, parameter.default)
        for parameter in parameters
    }
