"""Links between pages lead to files, where they are read and where the site is made."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/api/*.md"),
    *ROOT.glob("docs/decisions/*.md"),
    *ROOT.glob("vignettes/*.md"),
]
MADE_BY_A_BUILD = {"docs/growth", "docs/generated"}


def links(page: Path) -> list[str]:
    """Return the addresses of a page's links and figures, without those in code."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.findall(r"\]\(([^()\s]+)\)", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page):
    for address in links(page):
        parts = urlsplit(address)
        if parts.scheme or not parts.path:
            continue
        goal = (page.parent / parts.path).resolve()
        where = goal.relative_to(ROOT).as_posix()
        if not any(where.startswith(folder) for folder in MADE_BY_A_BUILD):
            assert goal.exists(), address


def test_there_are_links():
    assert sum(len(links(page)) for page in PAGES) > 50
