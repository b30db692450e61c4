"""Look through the built site: nothing comes from a network, and every link leads on.

Run ``python docs/check_site.py [FOLDER]`` after a build; `make docs` does.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FOLDER = Path(__file__).parent / "_build" / "html"

_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
"""What a browser fetches by itself when it opens a page."""


class Page(HTMLParser):
    """What a page loads, where it links to, and which anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag's addresses and anchors."""
        for name, value in attrs:
            if value is None:
                continue
            if (tag, name) in _LOADED:
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)
            elif name in ("id", "name"):
                self.anchors.add(value)


def is_remote(address: str) -> bool:
    """Say whether an address needs a network."""
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https")


def faults(folder: Path) -> list[str]:
    """Return what is wrong with the site, a line for each."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
    }
    if not pages:
        return [f"no page in {folder}"]
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for address in page.loads:
            if is_remote(address):
                found.append(f"{name} loads {address}")
            elif not _file(path, address).exists():
                found.append(f"{name} loads {address}, which is not there")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme:
                continue
            goal = _file(path, address) if parts.path else path
            if not goal.exists():
                found.append(f"{name} links to {address}, which is not there")
            elif (
                parts.fragment
                and goal in pages
                and unquote(parts.fragment) not in pages[goal].anchors
            ):
                found.append(f"{name} links to {address}, which has no such anchor")
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        for address in re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s;]+)", text):
            if is_remote(address):
                found.append(f"{path.relative_to(folder)} loads {address}")
    return found


def _file(page: Path, address: str) -> Path:
    """Return the file that a page's relative address means."""
    path = unquote(urlsplit(address).path)
    if address.startswith("data:"):
        return page
    return (page.parent / path).resolve()


def main(arguments: list[str]) -> int:
    """Print what is wrong, or that nothing is."""
    folder = Path(arguments[0]) if arguments else FOLDER
    found = faults(folder)
    print("\n".join(found) or f"no broken link, nothing from a network: {folder}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
