"""The README's code runs and prints what it says; its links lead somewhere."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import distfreeuq as dfu

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_code_prints_what_is_shown_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    example, *others = blocks("python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, str(README), "exec"), namespace)
    assert printed.getvalue() == blocks("text")[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for code in others:
            exec(compile(code, str(README), "exec"), namespace)
    assert printed.getvalue() == "".join(blocks("text")[1:])
    assert (tmp_path / "coverage.png").read_bytes().startswith(b"\x89PNG")
    table = namespace["table"]
    achieved = dict(zip(table.methods, table.achieved, strict=True))
    assert achieved["uncorrected"].interval[1] < 0.9  # as the figure's text says
    assert achieved["robust"].coverage > 0.9


def test_the_two_commands_come_first():
    commands = blocks("sh")[0].split("\n")
    assert commands[0].startswith("make demo")
    assert commands[1].startswith("make test")


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_somewhere(target):
    assert not target.startswith("http") and (ROOT / target).exists()


@pytest.mark.parametrize("name", re.findall(r"^make (\w+)", blocks("sh")[0], re.M))
def test_commands_are_in_the_makefile(name):
    assert re.search(rf"^{name}:", (ROOT / "Makefile").read_text(), re.M)


def test_functions_in_the_tables_exist():
    offer = TEXT[TEXT.index("## What it offers") : TEXT.index("Scores: APS")]
    for row in offer.splitlines()[4:]:
        cells = row.split("|")
        for name in re.findall(r"`([a-z_]+)`", cells[2] if len(cells) > 2 else ""):
            assert hasattr(dfu, name), name


def test_the_speed_table_has_its_place():
    begin, end = "<!-- speed table: begin -->", "<!-- speed table: end -->"
    assert TEXT.count(begin) == TEXT.count(end) == 1
    assert TEXT.index(begin) < TEXT.index(end)


def test_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {dfu.__version__}\n" in citation
