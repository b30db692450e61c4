"""The page on the papers: everything that it names is there."""

import re
from pathlib import Path

import pytest

import distfreeuq as dfu
from distfreeuq import theorems

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]


def test_every_row_has_an_item_a_place_and_a_verdict():
    assert len(ROWS) > 60
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 3 and all(cells), row
        if cells[1] == "none":  # what is missing has a reason
            assert len(cells[2].split()) > 4, row


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("paper_")])
def test_replications_are_there(name):
    assert (ROOT / "vignettes" / "replication" / f"{name}.py").exists()


def test_theorems_are_there():
    known = theorems.names()
    found = [n for n in NAMES if re.fullmatch(r"[a-z]+(-[a-z]+)+", n)]
    assert len(found) > 5
    assert set(found) <= set(known)


def test_functions_are_there():
    called = [re.match(r"[a-zA-Z_.0-9]+", n) for n in NAMES]
    found = {match.group() for match in called if match}
    # modules, and what a leading dot shows to be a method of a result
    found = {n for n in found if not n.startswith(("paper_", "python", "."))}
    missing = set()
    for name in found:
        value = dfu
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is None:
            missing.add(name)
    # methods and fields of results, arguments, theorems, and experiments of these
    allowed = {"scenario.oracle_sets", "fit.adapt", "fit.effects", "n_changed", "jump"}
    arguments = {n.split("=")[0] for n in NAMES if n.endswith("=")}
    with_dashes = {n.split("-")[0] for n in NAMES if n in theorems.names()}
    assert missing - allowed - arguments - with_dashes <= {"scheme", "bound"}
