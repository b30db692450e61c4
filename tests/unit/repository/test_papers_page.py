"""The page on the papers: everything that it names is there."""

import inspect
import re
from pathlib import Path

import pytest

import distfreeuq as dfu
from distfreeuq import scenarios, theorems

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


def found_in_package(name):
    """Return what a dotted name stands for, or None."""
    value = dfu
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


METHODS = {
    "scenario": type(scenarios.three_gaussians()),
    "fit.adapt": dfu.LabelShiftResult,
    "fit.effects": dfu.DensityRatioResult,
    ".under_label_shift": dfu.BinningResult,
    ".discriminator": dfu.FeatureMapResult,
    "n_changed": dfu.ClasswiseTemperatureResult,
}
"""Whose method or field it is, by how the page writes it."""


def test_functions_are_there():
    called = [re.match(r"[a-zA-Z_.0-9]+", n) for n in NAMES]
    found = {match.group() for match in called if match}
    found = {n for n in found if not n.startswith(("paper_", "python"))}
    of_results = {n for n in found if n in METHODS or n.startswith("scenario.")}
    for name in of_results:
        owner = METHODS.get(name) or METHODS[name.split(".")[0]]
        assert hasattr(owner, name.split(".")[-1]), name
    missing = {n for n in found - of_results if found_in_package(n) is None}
    # arguments, theorems, and experiments of these
    arguments = {n.split("=")[0] for n in NAMES if n.endswith("=")}
    with_dashes = {n.split("-")[0] for n in NAMES if n in theorems.names()}
    others = {"jump", "source", "target", "bound"}
    assert missing - arguments - with_dashes <= others


CALLS = [n for n in NAMES if re.fullmatch(r"[a-z_.A-Z]+\(.*=.*\)", n)]


@pytest.mark.parametrize("call", CALLS)
def test_arguments_are_there(call):
    name, _, inside = call.partition("(")
    value = found_in_package(name) or getattr(METHODS.get(name), name.strip("."))
    takes = inspect.signature(value).parameters
    named = re.findall(r"(\w+)=", inside)
    assert named and set(named) <= set(takes)
