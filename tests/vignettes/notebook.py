"""Vignettes as programs: their code cells, run one after the other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[2] / "vignettes"
VIGNETTES = sorted(FOLDER.glob("[0-9]*.md"))

_BLOCK = re.compile(
    r"^```(?P<head>[^\n`]*)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL
)
_OPTION = re.compile(r"\A(?::[\w-]+:[^\n]*\n)+\n*")
_NEEDS = re.compile(r"Not executed here\. Needs ([\w-]+)(?: ([\d.]+))?")


class Block(NamedTuple):
    """A fenced block: what it is, its options, its text and its first line's number."""

    head: str
    options: str
    text: str
    line: int

    @property
    def executed(self) -> bool:
        """Whether building the site runs it."""
        return self.head.startswith("{code-cell}")

    @property
    def needs(self) -> tuple[str, str] | None:
        """The package and version that an unexecuted block names."""
        found = _NEEDS.search(self.options)
        return (found[1], found[2] or "0") if found else None


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a file, in order."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        body = match["body"]
        options = _OPTION.match(body)
        start = options.end() if options else 0
        line = text.count("\n", 0, match.start("body") + start) + 1
        head, shown = match["head"].strip(), options[0] if options else ""
        found.append(Block(head, shown, body[start:], line))
    return found


def run(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    """Run a cell, and show its last expression as a notebook would."""
    tree = ast.parse("\n" * (block.line - 1) + block.text, str(path))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(path), "exec"), namespace)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), str(path), "eval"), namespace)
        for show in ("_repr_html_", "_repr_png_"):
            if hasattr(value, show):
                assert getattr(value, show)()
