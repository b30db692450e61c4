"""Every public name has its place in the reference, and the pages list no other."""

import importlib
import re
from pathlib import Path

import distfreeuq as dfu
from distfreeuq import plots

PAGES = Path(__file__).parents[3] / "docs" / "api"
STYLE = {name for name in plots.__all__ if name.isupper()} | {"new_axes"}
"""Colours and helpers that the figures share."""


def listed() -> list[str]:
    """Return the names under all autosummary directives, as written there."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for table in re.findall(r"\.\. autosummary::\n((?:   .*\n|\n)+)", text):
            rows = [row.strip() for row in table.splitlines()]
            found += [row for row in rows if row and not row.startswith(":")]
    return found


def public() -> set[str]:
    """Return the public names of the package and of its public modules."""
    modules = [name for name in dfu.__all__ if hasattr(getattr(dfu, name), "__path__")]
    modules.append("estimators")  # which `dfu` does not import by itself
    names = set(dfu.__all__) - {*modules, "__version__"}
    for module in modules:
        # what the package itself exports too has one page, there
        there = importlib.import_module(f"distfreeuq.{module}")
        own = set(there.__all__) - set(dfu.__all__)
        names |= {f"{module}.{name}" for name in own}
    return names - {f"plots.{name}" for name in STYLE}


def test_every_public_name_is_in_the_reference():
    assert public() - set(listed()) == set()


def test_the_reference_lists_nothing_else_and_nothing_twice():
    names = listed()
    assert set(names) - public() == set()
    assert len(names) == len(set(names))


def test_every_page_is_in_the_index():
    index = (PAGES.parent / "api.md").read_text(encoding="utf-8")
    for page in PAGES.glob("*.md"):
        assert f"api/{page.stem}\n" in index


def test_the_list_of_names_is_of_names_that_exist_and_says_what_they_are():
    text = (PAGES.parent / "api.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", text, re.M))
    assert len(rows) > 200
    assert set(rows) - public() == set()
    assert all(line for line in rows.values())
