"""What all tests share: golden cases, real data, and hypothesis settings."""

import json
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("explore", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that asks for a data set, directly or through a fixture."""
    for item in items:
        if "data_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test marked ``golden("conformal", "conformal_pvalue")`` every `case`."""
    marker = metafunc.definition.get_closest_marker("golden")
    if marker is None:
        return
    file, function = marker.args
    cases = [case for case in read_golden(file) if case["function"] == function]
    if not cases:
        raise pytest.UsageError(f"{file}.json has no case of {function!r}")
    metafunc.parametrize("case", cases, ids=[case["id"] for case in cases])


def read_golden(file: str) -> list[dict[str, Any]]:
    """Return the cases of tests/golden/`file`.json, numbers written as text decoded."""
    cases: list[dict[str, Any]] = json.loads(
        (TESTS / "golden" / f"{file}.json").read_text(encoding="utf-8")
    )["cases"]
    for case in cases:
        for part in ("inputs", "expected"):
            case[part] = _decoded(case[part])
    return cases


def _decoded(value: Any) -> Any:
    """Turn "inf", "1e-300" and "1/3" into numbers; leave other text as it is."""
    if isinstance(value, dict):
        return {key: _decoded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_decoded(entry) for entry in value]
    if isinstance(value, str):
        for number in (float, Fraction):
            try:
                return float(number(value))
            except ValueError:
                continue
    return value


@pytest.fixture(autouse=True)
def no_figures_left():
    """Let pyplot forget its figures, if some test before has imported it."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def golden():
    """Return a reader: ``golden("bounds", "pac-rank")`` is that one case."""

    def read(file: str, case_id: str) -> dict[str, Any]:
        return next(case for case in read_golden(file) if case["id"] == case_id)

    return read


@pytest.fixture(scope="session")
def data_folder():
    """Return a finder: ``data_folder("adult")`` is that data set's folder.

    Real data is not part of the project. It is looked for where DISTFREEUQ_DATA points,
    then in ../shared/data; a test that needs what is not there is skipped.
    """
    given = os.environ.get("DISTFREEUQ_DATA")
    root = Path(given) if given else TESTS.parent.parent / "shared" / "data"

    def find(name: str) -> Path:
        folder = root / name
        if not folder.is_dir():
            where = (
                "DISTFREEUQ_DATA" if given else "../shared/data (no DISTFREEUQ_DATA)"
            )
            pytest.skip(f"data set {name!r} is not in {where}")
        return folder

    return find
