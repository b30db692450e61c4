"""Write the list of every public name with its one line into docs/api.md.

``python docs/reference_list.py`` after a function was added; a test compares the two.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import distfreeuq as dfu
import distfreeuq.estimators

DOCS = Path(__file__).parent
BEGIN, END = "<!-- list: begin -->", "<!-- list: end -->"


def names_on(page: Path) -> list[str]:
    """Return the names under a page's autosummary directives."""
    text = page.read_text(encoding="utf-8")
    tables = re.findall(r"\.\. autosummary::\n((?:   .*\n|\n)+)", text)
    rows = [row.strip() for table in tables for row in table.splitlines()]
    return [row for row in rows if row and not row.startswith(":")]


def one_line(name: str) -> str:
    """Return the first sentence of an object's docstring."""
    found: Any = dfu
    for part in name.split("."):
        found = getattr(found, part)
    text = inspect.getdoc(found) or ""
    line = " ".join(text.split("\n\n")[0].split())
    return re.sub(r"(`+).*?\1|<", _outside_code, line.replace("|", "\\|"))


def _outside_code(found: re.Match[str]) -> str:
    return "&lt;" if found[0] == "<" else found[0]


def pages() -> list[Path]:
    """Return the pages of the reference, in the order of its table of contents."""
    stems = re.findall(
        r"^api/([\w-]+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.M
    )
    return [DOCS / "api" / f"{stem}.md" for stem in stems]


def listing() -> str:
    """Return a table for each page."""
    parts = []
    for page in pages():
        title = page.read_text(encoding="utf-8").lstrip("# ").split("\n")[0]
        rows = [f"| `{name}` | {one_line(name)} |" for name in names_on(page)]
        head = [f"## [{title}](api/{page.name})", "", "| | |", "|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts)


def written(text: str) -> str:
    """Return the page with the list of today."""
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{listing()}\n\n{END}{after}"


if __name__ == "__main__":
    page = DOCS / "api.md"
    page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
