"""What the parameters of bounds may be, and the one entrance that checks them.

A bound is a formula that trusts its arguments. `checked` puts a reader before each of
its parameters; the table of which reader goes with which parameter is the package's
`__init__`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from distfreeuq._base.arguments import LARGEST, SMALLEST, Arguments
from distfreeuq._base.arrays import describe, place, shape_of
from distfreeuq.bounds.target_error_bounds import CovariateShiftTerms

P = ParamSpec("P")
R = TypeVar("R")

BELOW_ONE = float(np.nextafter(1.0, 0.0))
# How far probabilities may sum from one, and numbers computed by the user may stray
# over a limit that they reach.
TOLERANCE = 1e-9


class Reader(Protocol):
    """Reads the argument of one parameter: what a formula can trust, or an error."""

    def __call__(self, args: Arguments, value: Any, name: str) -> Any:
        """Return the argument, checked."""
        ...


class Condition(NamedTuple):
    """What must hold between parameters.

    Attributes
    ----------
    parameter : str
        The one that an error names.
    must : str
    holds : callable
        From all arguments by name to True, False or an array of them.
    """

    parameter: str
    must: str
    holds: Callable[[Mapping[str, Any]], Any]


# ------------------------------------------------------------------- the readers


@dataclass(frozen=True)
class Count:
    """An integer."""

    low: int
    high: int = 2**31 - 1

    def __call__(self, args: Arguments, value: Any, name: str) -> int:
        """Return it as a Python int."""
        return args.count(value, name, low=self.low, high=self.high)


@dataclass(frozen=True)
class Number:
    """A real number from `low` to `high`, described by `must`."""

    must: str
    low: float
    high: float = LARGEST

    def __call__(self, args: Arguments, value: Any, name: str) -> float:
        """Return it as a Python float."""
        return args.number(value, name, self.must, low=self.low, high=self.high)


@dataclass(frozen=True)
class Numbers:
    """One real number, or an array of them that goes element by element with others."""

    must: str
    low: float = 0.0
    high: float = LARGEST
    whole: bool = False
    allow_nan: bool = False

    def __call__(self, args: Arguments, value: Any, name: str) -> Any:
        """Return them as float64."""
        numbers = args.elements(
            value,
            name,
            self.must,
            low=self.low,
            high=self.high,
            allow_nan=self.allow_nan,
        )
        if self.whole:
            _require(args, name, self.must, numbers, numbers == np.floor(numbers))
        return numbers


@dataclass(frozen=True)
class Vector:
    """A vector of at least `least` numbers from `low` to `high`; or rows of them."""

    must: str
    low: float = 0.0
    high: float = LARGEST
    least: int = 1
    rows: bool = False
    whole: bool = False
    law: bool = False
    some_positive: bool = False

    def __call__(self, args: Arguments, value: Any, name: str) -> Any:
        """Return it as float64; whole numbers as int64."""
        numbers = args.elements(value, name, self.must, low=self.low, high=self.high)
        right = numbers.ndim >= 1 if self.rows else numbers.ndim == 1
        if not right or numbers.shape[-1] < self.least:
            args.invalid(name, self.must, shape_of(numbers))
        if self.whole:
            _require(args, name, self.must, numbers, numbers == np.floor(numbers))
            return numbers.astype(np.int64)
        if self.some_positive and not (numbers > 0.0).any():
            args.invalid(name, self.must, "all zero")
        if self.law and abs(numbers.sum() - 1.0) > TOLERANCE:
            args.invalid(name, "of sum one", f"a sum of {numbers.sum():.8g}")
        return numbers


@dataclass(frozen=True)
class Pair:
    """Two arguments in one, such as the ends of an interval."""

    must: str
    part: Reader
    increasing: bool = False

    def __call__(self, args: Arguments, value: Any, name: str) -> tuple[Any, Any]:
        """Return them as a tuple, each checked."""
        try:
            first, second = value
        except (TypeError, ValueError):
            first = second = None
        if first is None or isinstance(value, str | bytes | set | dict):
            args.invalid(name, self.must, describe(value))
        pair = self.part(args, first, name), self.part(args, second, name)
        if self.increasing and not pair[0] <= pair[1]:
            args.invalid(name, self.must, describe(value))
        return pair


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    options: Sequence[str]

    def __call__(self, args: Arguments, value: Any, name: str) -> str:
        """Return it."""
        return args.choice(value, name, self.options)


def read_terms(args: Arguments, value: Any, name: str) -> CovariateShiftTerms:
    """Return the terms of `covariate_shift_terms`, each of them a number."""
    must = "CovariateShiftTerms of non-negative finite numbers"
    if not isinstance(value, CovariateShiftTerms):
        args.invalid(name, must, describe(value))
    return CovariateShiftTerms(
        *(args.number(term, name, must, low=0.0, high=LARGEST) for term in value)
    )


PROBABILITY = Number("a number in (0, 1)", SMALLEST, BELOW_ONE)
POSITIVE = Number("a positive finite number", SMALLEST)
NON_NEGATIVE = Number("a non-negative finite number", 0.0)


# ------------------------------------------------------------------ the entrance


def checked(
    formula: Callable[P, R], *conditions: Condition, **readers: Reader
) -> Callable[P, R]:
    """Return the formula with its arguments read and checked first.

    Parameters
    ----------
    formula : callable
    *conditions : Condition
        Checked in this order, after all parameters have been read.
    **readers : Reader
        One for each of the formula's parameters, by name.
    """
    signature = inspect.signature(formula)
    if set(readers) != set(signature.parameters):
        raise TypeError(f"{formula.__name__} needs one reader for each parameter")
    args = Arguments(formula.__name__)
    elementwise = [name for name, reader in readers.items() if _is_elementwise(reader)]

    @wraps(formula)
    def entrance(*given: P.args, **named: P.kwargs) -> R:
        call = signature.bind(*given, **named)
        call.apply_defaults()
        read = call.arguments
        for name, reader in readers.items():
            read[name] = reader(args, read[name], name)
        _require_common_shape(args, {name: read[name] for name in elementwise})
        for parameter, must, holds in conditions:
            _require(args, parameter, must, read[parameter], holds(read))
        return formula(*call.args, **call.kwargs)

    # so that it is found where users find it, by pickle as by Sphinx
    entrance.__module__ = __package__
    return entrance


def _is_elementwise(reader: Reader) -> bool:
    part = reader.part if isinstance(reader, Pair) else reader
    return isinstance(part, Numbers)


def _require_common_shape(args: Arguments, elements: Mapping[str, Any]) -> None:
    """Refuse arrays that do not go with one another element by element."""
    shape: tuple[int, ...] = ()
    for name, given in elements.items():
        for numbers in given if isinstance(given, tuple) else (given,):
            try:
                shape = np.broadcast_shapes(shape, numbers.shape)
            except ValueError:
                must = f"one number, or as many as go with shape {shape}"
                args.invalid(name, must, shape_of(numbers))


def _require(
    args: Arguments, parameter: str, must: str, value: Any, holds: Any
) -> None:
    """Refuse the first value for which something does not hold."""
    right = np.asarray(holds)
    if right.all():
        return
    if right.ndim == 0:
        args.invalid(parameter, must, describe(value))
    first = np.unravel_index(int(np.argmin(right)), right.shape)
    got = float(np.broadcast_to(value, right.shape)[first])
    args.invalid(parameter, must, f"{got:g}{place(tuple(map(int, first)))}")
