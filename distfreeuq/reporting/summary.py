"""The page: sections as one HTML file that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from distfreeuq._base import layout
from distfreeuq._base.layout import Page, Table
from distfreeuq._version import __version__
from distfreeuq.reporting.page_style import STYLE
from distfreeuq.reporting.results import Section

# Nothing is loaded from elsewhere and no script is run, whatever the texts hold.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def as_html(title: str, sections: Sequence[Section]) -> str:
    """Return the page."""
    links = (
        f'<li><a href="#{part.name}">{html.escape(part.title)}</a></li>'
        for part in sections
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="distfreeuq {__version__}">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{html.escape(title)}</h1>",
            f"<nav><ul>{''.join(links)}</ul></nav></header>",
            "<main>",
            *map(_section, sections),
            "</main>",
            f"<footer>Made by distfreeuq {__version__}.</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(part: Section) -> str:
    several = len(part.pages) > 1
    inside = [_page(page, several) for page in part.pages]
    if part.figure:
        caption = html.escape(part.caption)
        told = f"<figcaption>{caption}</figcaption>" if caption else ""
        label = html.escape(part.caption or part.title, quote=True)
        figure = f'<div role="img" aria-label="{label}">{part.figure}</div>'
        inside.append(f"<figure>{figure}{told}</figure>")
    elif part.caption:
        inside.append(f'<p class="aside">{html.escape(part.caption)}</p>')
    if part.code:
        inside.append(f'<pre tabindex="0">{html.escape(part.code)}</pre>')
    body = "\n".join(inside)
    heading = f"<h2>{html.escape(part.title)}</h2>"
    return f'<section id="{part.name}">\n{heading}\n{body}\n</section>'


def _page(page: Page, titled: bool) -> str:
    """Return facts, tables and notes."""
    parts = [f"<h3>{html.escape(page.title)}</h3>"] if titled else []
    if page.facts:
        parts.append(_pairs(page.facts, "facts"))
    parts += map(_table, page.tables)
    if page.notes:
        parts.append(_pairs(page.notes, "notes"))
    return "\n".join(parts)


def _pairs(pairs: Iterable[tuple[str, str]], kind: str) -> str:
    items = (
        f'<div class="{_kind(name, text)}"><dt>{html.escape(name)}</dt>'
        f"<dd>{html.escape(text)}</dd></div>"
        for name, text in pairs
    )
    return f'<dl class="{kind}">{"".join(items)}</dl>'


def _kind(name: str, text: str) -> str:
    """Return the style of a note: warnings and guarantees are seen first."""
    if text.startswith("none"):
        return "plain"
    return {"Warning": "warning", "Guarantee": "guarantee"}.get(name, "plain")


def _table(table: Table) -> str:
    rows = layout.shortened(table.rows)
    heads = "".join(
        f'<th scope="col">{html.escape(cell)}</th>' for cell in table.headers
    )
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    text = (
        f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    if len(rows) < len(table.rows):
        shown = len(rows) - 1
        text += (
            f'<p class="aside">{shown} of {len(table.rows)} rows are shown; the JSON '
            "output has them all.</p>"
        )
    return text
