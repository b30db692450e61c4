"""Everything public is in the tables: what is new must be added to them."""

import inspect
import re
from types import ModuleType
from typing import Any

import pytest

import distfreeuq as dfu
from distfreeuq.density_ratios.logistic_discriminator import LinearDiscriminator
from distfreeuq.monitoring.risk.waiting_rows import WaitingRows
from distfreeuq.results import Result
from tests.fuzz import methods
from tests.fuzz.documented import NAN_BY_DESIGN
from tests.fuzz.table import FUNCTIONS, NOT_CALLED, kind_of
from tests.fuzz.table_combined import COMBINED

MODULES = [name for name in dfu.__all__ if isinstance(getattr(dfu, name), ModuleType)]


def public_things() -> dict[str, Any]:
    """Return everything that can be called, by its name as in the table."""
    found = {name: getattr(dfu, name) for name in dfu.__all__}
    for module in MODULES:
        inside = found.pop(module)
        found |= {f"{module}.{name}": getattr(inside, name) for name in inside.__all__}
    return {name: thing for name, thing in found.items() if callable(thing)}


def is_made_by_functions(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Result | BaseException)


def test_every_public_function_is_called():
    missing = [
        name
        for name, thing in public_things().items()
        if not is_made_by_functions(thing)
        and name not in FUNCTIONS
        and name not in NOT_CALLED
    ]
    assert missing == []


def test_the_tables_name_nothing_that_does_not_exist():
    assert {*FUNCTIONS, *NOT_CALLED} - {*COMBINED} <= set(public_things())
    assert not set(FUNCTIONS) & set(NOT_CALLED)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_function_has_a_kind(name):
    function = COMBINED[name].call if name in COMBINED else public_things()[name]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert callable(kind_of(name, parameter.name))


def classes_with_methods() -> list[type]:
    things = dict.fromkeys(public_things().values())
    classes = [thing for thing in things if isinstance(thing, type)]
    return [cls for cls in classes if not issubclass(cls, BaseException)]


@pytest.mark.parametrize("cls", classes_with_methods(), ids=lambda cls: cls.__name__)
def test_every_public_method_is_called_and_its_parameters_have_kinds(cls):
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_") or not inspect.isfunction(member):
            continue
        assert (name in methods.METHODS) != (name in methods.NOT_CALLED), name
        if name in methods.NOT_CALLED:
            continue
        for parameter in inspect.signature(member).parameters:
            if parameter != "self":
                assert callable(methods.kind_of_method(cls, name, parameter))


def test_documented_nan_are_fields_or_methods_that_exist():
    classes = {cls.__name__: cls for cls in classes_with_methods()}
    parts = (LinearDiscriminator, WaitingRows)
    classes |= {part.__name__: part for part in parts}
    members = {f"{name}.{field}" for name, cls in classes.items() for field in dir(cls)}
    members |= set(FUNCTIONS)  # what a function returns
    for place in NAN_BY_DESIGN:
        method = re.sub(r"\\\[.*", "", place).removesuffix("(")
        pattern = re.compile(method)
        assert any(pattern.fullmatch(member) for member in members), place
