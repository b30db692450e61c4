"""One case: a seed, a function, its arguments, and methods of what it returns."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz import fitted
from tests.fuzz.judge import Outcome, difference, judge
from tests.fuzz.kinds import Argument, Kind, draw
from tests.fuzz.methods import (
    PROTOCOL,
    bound_method,
    has_methods,
    kind_of_method,
    methods_of,
    protocol_of,
)
from tests.fuzz.samples import HOSTILE, VALID, Sample
from tests.fuzz.table import FUNCTIONS, function_of, kind_of
from tests.fuzz.table_combined import COMBINED

# Whose defaults are labels of another form, much work, or numbers that differ.
_ALWAYS = ("classes", "rng", "n_sim", "n_boot", "n_epochs", "n_rep", "n_designs")


class Call(NamedTuple):
    """One judged call of a case."""

    name: str
    arguments: dict[str, Any]
    outcome: Outcome


@cache
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(one for one in parameters if one.name not in ("self", "options"))


def calls_of(name: str, seed: int) -> Iterator[Call]:
    """Make the calls of one seed, each judged."""
    entry = FUNCTIONS[name]
    fitted.empty_folder()
    s = Sample(Random(f"{name} {seed}"), heavy=entry.heavy)
    signature, arguments = _arguments_of(name, s)
    outcome = _outcome_of(name, signature, arguments)
    yield Call(name, _values(arguments), outcome)
    if s.spirit == VALID and entry.call is None and s.r.random() < 0.3:
        yield from _in_plain_form(name, signature, arguments, outcome)
    yield from _methods(s, outcome.value, depth=2)


def judged_call(name: str, r: Random) -> Call:
    """Make one call of a function, all of whose choices are `r`'s."""
    fitted.empty_folder()
    signature, arguments = _arguments_of(name, Sample(r, heavy=True))
    return Call(name, _values(arguments), _outcome_of(name, signature, arguments))


def _arguments_of(
    name: str, s: Sample
) -> tuple[tuple[inspect.Parameter, ...], dict[str, Argument]]:
    signature = _parameters(_unwrapped(name))
    return signature, _drawn(s, signature, lambda parameter: kind_of(name, parameter))


def _outcome_of(
    name: str,
    signature: tuple[inspect.Parameter, ...],
    arguments: dict[str, Argument],
    *,
    plain: bool = False,
) -> Outcome:
    entry = FUNCTIONS[name]
    call = entry.call or function_of(name)
    any_name = entry.refuses is not None
    return _judged(name, call, signature, arguments, plain=plain, any_name=any_name)


def _unwrapped(name: str) -> Callable[..., Any]:
    import distfreeuq as dfu

    own = COMBINED[name].call if name in COMBINED else None
    if own is not None:
        return own
    found: Any = dfu
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _values(arguments: dict[str, Argument]) -> dict[str, Any]:
    return {name: argument.value for name, argument in arguments.items()}


def _drawn(
    s: Sample,
    signature: tuple[inspect.Parameter, ...],
    kind_of_parameter: Callable[[str], Kind],
) -> dict[str, Argument]:
    """Return the arguments that are given; in a hostile case one or two are hostile."""
    given = []
    share = s.r.choice((0.0, 0.2, 0.2, 0.5))
    for parameter in signature:
        needed = parameter.default is inspect.Parameter.empty
        if needed or parameter.name in _ALWAYS or s.r.random() < share:
            given.append(parameter.name)
    bad: set[str] = set()
    if s.spirit == HOSTILE and given:
        bad = {s.r.choice(given) for _ in range(s.r.choice((1, 1, 2)))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are arguments here
        return {
            name: draw(kind_of_parameter(name), s, hostile=name in bad)
            for name in given
        }


def _judged(
    name: str,
    call: Callable[..., Any],
    signature: tuple[inspect.Parameter, ...],
    arguments: dict[str, Argument],
    *,
    plain: bool = False,
    any_name: bool = False,
) -> Outcome:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in signature:
        if parameter.name not in arguments:
            continue
        argument = arguments[parameter.name]
        value = argument.plain if plain else argument.value
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += [value, value]
        else:
            named[parameter.name] = value
    names = {parameter.name: parameter for parameter in signature}
    return judge(name, call, positional, named, parameters=names, any_name=any_name)


def _draws(value: Any) -> bool:
    """Say whether a second call with the same object gives other numbers."""
    return isinstance(value, np.random.Generator)


def _in_plain_form(
    name: str,
    signature: tuple[inspect.Parameter, ...],
    arguments: dict[str, Argument],
    outcome: Outcome,
) -> Iterator[Call]:
    """Call again with plain arrays: the answer must be the same."""
    if name == "in_kind":  # its answer is of the kind of its arguments
        return
    if any(_draws(argument.value) for argument in arguments.values()):
        return
    if all(argument.value is argument.plain for argument in arguments.values()):
        return
    again = _outcome_of(name, signature, arguments, plain=True)
    if again.returned != outcome.returned:
        where = "returned" if again.returned else "refused"
        again.findings.append(("other answer", f"{name}: plain arrays are {where}"))
    elif again.returned:
        place = difference(outcome.value, again.value)
        if place is not None:
            again.findings.append(("other answer", f"{name}: {place}"))
    yield Call(name, {key: one.plain for key, one in arguments.items()}, again)


def _methods(s: Sample, value: Any, depth: int) -> Iterator[Call]:
    """Call a few methods of a result, and of what these return."""
    if depth == 0 or not has_methods(value):
        return
    cls = type(value)
    shares = {**methods_of(cls), **protocol_of(value)}
    for _ in range(s.r.choice((0, 1, 1, 2, 3))):
        method = s.r.choices(list(shares), list(shares.values()))[0]
        title = f"{cls.__name__}.{method}"
        if method in PROTOCOL:
            function, _, again = PROTOCOL[method]
            outcome = judge(title, function, [value], {}, parameters={})
            if again and outcome.returned:
                place = difference(value, outcome.value)
                if place is not None:
                    outcome.findings.append(("other answer", f"{title}: {place}"))
            yield Call(title, {}, outcome)
            continue
        signature = _parameters(inspect.getattr_static(cls, method))
        arguments = _drawn(
            s, signature, lambda name, method=method: kind_of_method(cls, method, name)
        )
        call = bound_method(value, method)
        outcome = _judged(title, call, signature, arguments)
        yield Call(title, _values(arguments), outcome)
        yield from _methods(s, outcome.value, depth - 1)
