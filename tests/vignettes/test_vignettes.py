"""Every code block of every vignette runs, and none is left out unawares."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from threadpoolctl import threadpool_limits

from tests.vignettes.notebook import VIGNETTES, Block, blocks, run

LANGUAGES = {"r", "sh", "text"}
"""What may be shown without being run at all."""


@pytest.fixture(autouse=True)
def quiet_figures():
    """Draw without a screen, keep one thread to each of pytest's processes."""
    before = dict.__getitem__(mpl.rcParams, "backend")  # asking chooses one
    mpl.use("Agg")
    with threadpool_limits(1):
        yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
    if isinstance(before, str):
        mpl.use(before)


def installed(needs: tuple[str, str]) -> bool:
    """Say whether a package is there, in the version or a newer one."""
    name, version = needs
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False

    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)]

    return numbers(found) >= numbers(version)


def python_blocks(path: Path) -> list[Block]:
    return [
        block
        for block in blocks(path)
        if block.executed or block.head in ("python", "{code-block} python")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", VIGNETTES, ids=lambda path: path.stem)
def test_every_cell_runs(path):
    namespace: dict[str, object] = {"__name__": "__vignette__"}
    for block in python_blocks(path):
        compile(block.text, f"{path.name}:{block.line}", "exec")
        if block.executed or (block.needs and installed(block.needs)):
            run(block, path, namespace)


@pytest.mark.parametrize("path", VIGNETTES, ids=lambda path: path.stem)
def test_code_that_is_not_executed_says_so(path):
    for block in blocks(path):
        language = block.head.removeprefix("{code-block}").strip()
        if "python" in language and not block.executed:
            assert block.needs, f"{path.name}:{block.line} is neither run nor explained"
        elif not block.executed and not block.head.startswith("{"):
            assert language in LANGUAGES, f"{path.name}:{block.line}: {block.head!r}"


@pytest.mark.parametrize("path", VIGNETTES, ids=lambda path: path.stem)
def test_every_vignette_ends_with_what_is_guaranteed(path):
    headings = re.findall(r"^## (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[-1] == "What is guaranteed, and what is not"


def test_no_output_is_committed():
    for path in VIGNETTES:
        heads = {block.head for block in blocks(path)}
        assert not any(head.startswith("{code-output") for head in heads)


def test_blocks_know_where_they_are(tmp_path):
    path = tmp_path / "00-example.md"
    path.write_text("# A\n\n```{code-cell} ipython3\n:tags: [a]\n\nx = 1\n1 / 0\n```\n")
    (block,) = blocks(path)
    assert (block.text, block.line) == ("x = 1\n1 / 0\n", 6)
    with pytest.raises(ZeroDivisionError) as caught:
        run(block, path, {})
    assert caught.traceback[-1].lineno == 6  # counted from 0: the file's seventh line
