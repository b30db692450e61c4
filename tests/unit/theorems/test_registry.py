"""Theorems by name: the table of families, and what a name imports."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import distfreeuq as dfu
from distfreeuq import theorems
from distfreeuq.theorems.engine.registry import FAMILIES
from tests.unit.theorems.test_checking import theorem


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_names_every_theorem_of_a_family_in_its_order(family):
    module = import_module(f"distfreeuq.theorems.{family}")
    assert FAMILIES[family] == tuple(one.name for one in module.THEOREMS)
    assert len({one.family for one in module.THEOREMS}) == 1


def test_the_table_names_every_family():
    folder = Path(theorems.__file__).parent
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert packages == {*FAMILIES, "engine", "draws"}


def test_no_name_is_used_twice():
    names = [name for several in FAMILIES.values() for name in several]
    assert len(set(names)) == len(names)
    assert theorems.names() == tuple(names)


def test_a_theorem_imports_its_own_family_only():
    code = (
        "import json, sys\n"
        "from distfreeuq import theorems\n"
        "theorems.names()\n"
        "before = list(sys.modules)\n"
        "theorems.get('aps-uniform')\n"
        "print(json.dumps([before, list(sys.modules)]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    packages = {f"distfreeuq.theorems.{family}" for family in FAMILIES}
    before, after = (packages.intersection(each) for each in json.loads(run.stdout))
    assert before == set()
    assert after == {"distfreeuq.theorems.conformal"}


def test_the_users_own_come_last_and_can_be_forgotten():
    own = theorems.register(theorem(name="own-one"))
    try:
        assert theorems.names()[-1] == "own-one"
        assert theorems.get("own-one") is own
        with pytest.raises(dfu.InputError, match="not yet known"):
            theorems.register(own)
    finally:
        theorems.unregister("own-one")
    with pytest.raises(dfu.InputError, match="Got 'own-one' instead"):
        theorems.get("own-one")


def test_one_that_takes_the_place_of_another_keeps_its_place():
    before, known = theorems.names(), theorems.get("aps-uniform")
    theorems.register(theorem(name="aps-uniform"), replace=True)
    try:
        assert theorems.names() == before
        assert theorems.get("aps-uniform").title == "A coin is fair"
        assert theorems.get("split-coverage").name == "split-coverage"
    finally:
        theorems.register(known, replace=True)
