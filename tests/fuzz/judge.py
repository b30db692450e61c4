"""The judge: a call returns numbers or says which parameter was wrong, and no more.

A verdict is None, or one line that says what the call did and should not have.
"""

import dataclasses
import hashlib
import inspect
import math
import os
import random
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd

import distfreeuq as dfu
from tests.fuzz.documented import (
    UNDEFINED_PROPERTIES,
    WARNINGS,
    may_be_nan,
    may_raise,
    may_refuse,
)

_FORM = re.compile(r"The '([^']+)' parameter of [\w.<>' -]+ must ", re.DOTALL)
_PACKAGE = os.path.dirname(os.path.abspath(dfu.__file__)) + os.sep
# A result is a tree of records: this is far beyond its height.
_DEPTH = 12


class Outcome(NamedTuple):
    """What a call did.

    Attributes
    ----------
    value : object
        What it returned; None if it raised.
    returned : bool
    refused : bool
        Whether it raised an InputError.
    findings : list of (str, str)
        Kind and one line each.
    trace : str
        Of an exception that is a finding.
    """

    value: Any
    returned: bool
    refused: bool
    findings: list[tuple[str, str]]
    trace: str = ""


def judge(
    name: str,
    call: Callable[..., Any],
    positional: list[Any],
    named: dict[str, Any],
    *,
    parameters: Mapping[str, Any],
    any_name: bool = False,
) -> Outcome:
    """Call, and decide.

    Parameters
    ----------
    name : str
        What the findings call it.
    call : callable
    positional, named
        Its arguments.
    parameters : mapping
        Parameters of the function; an InputError must name one of them.
    any_name : bool
        Whether it may name another.
    """
    before = [fingerprint(value) for value in (*positional, *named.values())]
    state = global_state()
    findings: list[tuple[str, str]] = []
    value, returned, refused, trace = None, False, False, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        try:
            value = call(*positional, **named)
            returned = True
            # properties are computed where they are read: here, as part of the call
            places = set(nan_places(value, name))
            unknown = sorted(place for place in places if not may_be_nan(place))
            findings += [("nan", f"{name}: {place}") for place in unknown[:1]]
        except dfu.InputError as error:
            refused = True
            said = str(error)
            match = _FORM.match(said)
            named_one = match is not None and (any_name or match[1] in parameters)
            if not named_one and not may_refuse(name, said):
                findings.append(("parameter not named", f"{name}: {said[:200]}"))
        except Exception as error:
            if may_raise(error):
                return Outcome(None, False, True, findings)
            findings.append(("exception", f"{name}: {_place(error)}"))
            trace = traceback.format_exc()
        if list(warnings.filters) != filters:
            findings.append(("state changed", f"{name}: warning filters"))
    for warning in caught:
        if not issubclass(warning.category, dfu.DistFreeWarning):
            said = str(warning.message)[:100]
            if any(re.match(form, said) for form in WARNINGS):
                continue
            where = f"{_short(warning.filename)}:{warning.lineno}"
            findings.append(
                ("warning", f"{name}: {warning.category.__name__}: {said} at {where}")
            )
    after = [fingerprint(value) for value in (*positional, *named.values())]
    if before != after:
        findings.append(("input changed", name))
    for what, old, new in zip(STATE, state, global_state(), strict=True):
        if old != new:
            findings.append(("state changed", f"{name}: {what}"))
    return Outcome(value, returned, refused, findings, trace)


def _place(error: Exception) -> str:
    """Return the error and the innermost line of the package that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_PACKAGE)]
    frame = ours[-1] if ours else frames[-1]
    text = " ".join(str(error).split())[:120]
    where = f"{_short(frame.filename)}:{frame.lineno}"
    return f"{type(error).__name__}: {text} at {where}"


def _short(filename: str) -> str:
    if filename.startswith(_PACKAGE):
        return filename[len(_PACKAGE) :]
    return "/".join(filename.split("/")[-2:])


# ------------------------------------------------------------------------- what is kept


def fingerprint(value: Any, depth: int = 3) -> Any:
    """Return what must be the same after a call."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return (value.shape, [id(item) for item in value.flat])
        digest = hashlib.blake2b(value.tobytes(), digest_size=8).digest()
        return (value.shape, value.dtype.str, value.strides, value.flags.num, digest)
    if isinstance(value, list | tuple) and depth:
        return [fingerprint(item, depth - 1) for item in value]
    if isinstance(value, dict) and depth:
        return [(key, fingerprint(item, depth - 1)) for key, item in value.items()]
    if isinstance(value, pd.DataFrame | pd.Series):
        columns = list(value.columns) if value.ndim == 2 else None
        return (repr(columns), repr(value.to_numpy().tolist()))
    if isinstance(value, float | int | str | bytes):
        return hash(value)
    if hasattr(value, "requires_grad"):  # a tensor
        return (_numbers_of(value), value.requires_grad, id(value.grad_fn))
    return id(value)


def _numbers_of(tensor: Any) -> Any:
    try:
        return hash(tensor.detach().double().numpy().tobytes())
    except Exception:  # it has no numbers, or odd ones
        return repr(tensor)


STATE = (
    "numpy.errstate",
    "numpy.random",
    "random",
    "environment",
    "working directory",
    "rcParams",
    "threads",
    "pyplot",
)


def global_state() -> tuple[Any, ...]:
    """Return what a library must leave as it is."""
    legacy = np.random.mtrand._rand._bit_generator.state  # of np.random.seed
    return (
        np.geterr(),
        (legacy["state"]["pos"], hash(legacy["state"]["key"].tobytes())),
        hash(random.getstate()),
        dict(os.environ._data),  # as bytes: nothing is decoded
        os.getcwd(),
        _settings(),
        dfu.get_num_threads(),
        "matplotlib.pyplot" in sys.modules,
    )


def _settings() -> dict[str, Any]:
    return dict(dict.items(mpl.rcParams))  # past its own, which warns of old names


# ------------------------------------------------------------------------------ numbers


def nan_places(value: Any, path: str = "", depth: int = _DEPTH) -> Iterator[str]:
    """Return where a value holds NaN: field by field, column by column."""
    if depth == 0 or value is None or isinstance(value, str | bytes | bool | int):
        return
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            yield path
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "fc" and np.isnan(value).any():
            yield path
    elif isinstance(value, pd.DataFrame):
        for k, column in enumerate(value.columns):
            if value.dtypes.iloc[k].kind in "fc" and value.iloc[:, k].isna().any():
                yield f"{path}[{column}]"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        for field in dataclasses.fields(value):
            yield from nan_places(
                getattr(value, field.name), f"{name}.{field.name}", depth - 1
            )
        for prop in _properties(type(value)):
            try:
                found = getattr(value, prop)
            except (AttributeError, dfu.InputError):
                if f"{name}.{prop}" not in UNDEFINED_PROPERTIES:
                    raise
                continue
            yield from nan_places(found, f"{name}.{prop}", depth - 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from nan_places(item, f"{path}[{key}]", depth - 1)
    elif isinstance(value, tuple | list):
        names = getattr(value, "_fields", None)
        for i, item in enumerate(value):
            own = f"{type(value).__name__}.{names[i]}" if names else path
            yield from nan_places(item, own, depth - 1)


_PROPERTIES: dict[type, tuple[str, ...]] = {}


def _properties(cls: type) -> tuple[str, ...]:
    if cls not in _PROPERTIES:
        _PROPERTIES[cls] = tuple(
            name
            for name in dir(cls)
            if not name.startswith("_")
            and isinstance(inspect.getattr_static(cls, name), property)
        )
    return _PROPERTIES[cls]


def difference(one: Any, other: Any, path: str = "", depth: int = _DEPTH) -> str | None:
    """Return where two values differ, or None; NaN equals NaN."""
    if depth == 0 or one is other:
        return None
    if isinstance(one, pd.Index | range) and isinstance(other, range):
        return None  # names of rows, which a frame gives its own
    if type(one) is not type(other):
        return f"{path}: {type(one).__name__} and {type(other).__name__}"
    if isinstance(one, np.ndarray):
        kinds = (array.dtype.newbyteorder("=") for array in (one, other))
        if one.shape != other.shape or len(set(kinds)) > 1:
            return f"{path}: {one.dtype} {one.shape}, {other.dtype} {other.shape}"
        equal_nan = one.dtype.kind in "fc"
        return None if np.array_equal(one, other, equal_nan=equal_nan) else path
    if isinstance(one, float):
        return None if one == other or (one != one and other != other) else path
    if isinstance(one, pd.DataFrame):
        return None if one.equals(other) else path
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            name = f"{type(one).__name__}.{field.name}"
            pair = getattr(one, field.name), getattr(other, field.name)
            found = difference(*pair, name, depth - 1)
            if found is not None:
                return found
        return None
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return f"{path}: of other length"
        for a, b in zip(one, other, strict=True):
            found = difference(a, b, path, depth - 1)
            if found is not None:
                return found
        return None
    if isinstance(one, str | int | bytes | range):
        return None if one == other else path
    return None
