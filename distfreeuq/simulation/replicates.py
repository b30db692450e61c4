"""One replicate: its own generator, its draw, and the numbers that come out."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Real
from typing import Any, NoReturn, TypeAlias

import numpy as np

from distfreeuq._base.array_types import RandomState
from distfreeuq._base.arrays import describe, is_integer, listed
from distfreeuq._base.random_streams import spawn_key, stream
from distfreeuq.exceptions import InputError
from distfreeuq.scenarios.scenario import Scenario

Procedure: TypeAlias = Callable[..., Mapping[str, Any]]
Draw: TypeAlias = Callable[[np.random.Generator], Any]


def replicate_generator(seed: int, replicate: int) -> np.random.Generator:
    """Return the generator that a replicate runs with, to run it by itself.

    Parameters
    ----------
    seed : int
        The simulation's ``.seed``.
    replicate : int
        Its number.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> from distfreeuq.simulation.replicates import replicate_generator
    >>> result = dfu.simulate(lambda rng: rng.random(), lambda u, rng: {"u": u}, 9)
    >>> u = replicate_generator(result.seed, 7).random()
    >>> bool(u == result.values[7, 0])
    True
    """
    key = (spawn_key("replicate"), replicate)
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))
    )


def seed_of(rng: RandomState) -> int:
    """Return an integer that gives the same simulation again."""
    if rng is None:
        return secrets.randbits(63)
    if is_integer(rng) and rng >= 0:
        return int(rng)
    return int(stream(rng, "replicate", "simulate").integers(2**63))


def run_replicate(
    scenario: Scenario | Draw,
    procedure: Procedure,
    parameters: Mapping[str, Any],
    seed: int,
    replicate: int,
) -> tuple[int, dict[str, float]]:
    """Return the replicate's number and its quantities."""
    generator = replicate_generator(seed, replicate)
    try:
        draw = scenario if isinstance(scenario, Scenario) else scenario(generator)
        found = procedure(draw, generator, **parameters)
    except Exception as error:
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(f"in replicate {replicate} of simulate, seed {seed}")
        raise
    return replicate, quantities_of(found, replicate)


def quantities_of(found: Any, replicate: int) -> dict[str, float]:
    """Return what a procedure returned, as floats by name."""
    if not isinstance(found, Mapping) or not found:
        _invalid("a dict of numbers", f"{describe(found)} in replicate {replicate}")
    numbers: dict[str, float] = {}
    for name, value in found.items():
        if not isinstance(name, str):
            _invalid("a dict whose keys are texts", describe(name))
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if not isinstance(value, Real | np.bool_):
            got = f"{describe(value)} for {name!r} in replicate {replicate}"
            _invalid("a dict of numbers", got)
        numbers[name] = float(value)
    return numbers


def check_same(names: tuple[str, ...], found: Mapping[str, float], row: int) -> None:
    """Raise for a replicate whose quantities are not those of the others."""
    if set(names) != set(found):
        must = f"the same quantities in every replicate, {listed(names)}"
        _invalid(must, f"{listed(tuple(found))} in replicate {row}")


def _invalid(must: str, got: str) -> NoReturn:
    raise InputError(
        "The 'procedure' parameter of simulate must be a callable that returns "
        f"{must}. Got {got} instead."
    )


def name_of(thing: Any) -> str:
    """Return how a file and a summary call a procedure or a scenario."""
    if isinstance(thing, partial):
        given = [text_of(value) for value in thing.args]
        given += [f"{key}={text_of(value)}" for key, value in thing.keywords.items()]
        return f"{name_of(thing.func)}({', '.join(given)})"
    if isinstance(thing, Scenario):
        return repr(thing)
    return str(getattr(thing, "__qualname__", type(thing).__qualname__))


def text_of(value: Any) -> str:
    """Return an object as text that is the same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))
