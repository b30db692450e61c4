"""A page of tables and notes as text, HTML, LaTeX or CSV.

A page has a title, facts in two columns, tables, and notes under them. statsmodels' own
renderers do not escape HTML, break a LaTeX table in two below its header, and count
characters where a terminal counts columns.
"""

import csv
import html
import io
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 78
_MAX_ROWS = 30
_GAP = 3
_MOST_SPREAD = 8
"""Blanks that a column may be widened by: further apart, rows are hard to follow."""

Rows = Sequence[Sequence[str]]
Note = tuple[str, str]
"""A heading ("Guarantee") and its text."""


@dataclass(frozen=True, slots=True)
class Table:
    """One block of a page: headings over columns, the first column left-aligned."""

    headers: Sequence[str]
    rows: Rows


@dataclass(frozen=True, slots=True)
class Page:
    """What a summary shows, before it has a form."""

    title: str
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    notes: Sequence[Note]

    def fact_rows(self) -> Rows:
        """Return the facts in rows of two, their names with a colon."""
        half = (len(self.facts) + 1) // 2
        cells = [[f"{name}:", value] for name, value in self.facts]
        cells += [["", ""]] * (2 * half - len(cells))
        return [cells[i] + cells[half + i] for i in range(half)]


def as_text(page: Page) -> str:
    """Return plain text, every rule as wide as the widest table, no trailing blanks."""
    facts = page.fact_rows()
    blocks = [[table.headers, *shortened(table.rows)] for table in page.tables]
    natural = [_column_widths(rows) for rows in blocks]
    fact_widths = _column_widths(facts)
    total = max([WIDTH, *map(_total, [fact_widths, *natural])])

    double, single = "=" * total, "-" * total
    lines = [_pad(page.title, total, "c")]
    if facts:
        lines.append(double)
        lines += _text_rows(facts, _spread_facts(fact_widths, total), "lrlr")
    for rows, widths in zip(blocks, natural, strict=True):
        aligns = "l" + "r" * (len(widths) - 1)
        header, *body = _text_rows(rows, _spread(widths, total), aligns)
        lines += [double, header, single, *body]
    lines.append(double)
    indent = max((len(heading) for heading, _ in page.notes), default=0) + 3
    for heading, body_text in page.notes:
        lines += textwrap.wrap(
            body_text,
            width=total,
            initial_indent=f"{heading}:".ljust(indent),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
    return "\n".join(line.rstrip() for line in lines)


def as_html(page: Page) -> str:
    """Return HTML tables and a definition list."""
    parts = [
        '<table class="simpletable">',
        f"<caption>{html.escape(page.title)}</caption>",
        *(_html_row(row, "td", "lrlr") for row in page.fact_rows()),
        "</table>",
    ]
    for table in page.tables:
        aligns = "l" + "r" * (len(table.headers) - 1)
        parts += ['<table class="simpletable">', _html_row(table.headers, "th", aligns)]
        parts += [_html_row(row, "td", aligns) for row in shortened(table.rows)]
        parts.append("</table>")
    parts.append("<dl>")
    for heading, body in page.notes:
        parts.append(f"<dt>{html.escape(heading)}</dt><dd>{html.escape(body)}</dd>")
    parts.append("</dl>")
    return "\n".join(parts)


def as_latex(page: Page) -> str:
    """Return one tabular for the facts and each table (booktabs), then the notes."""
    parts = [rf"\begin{{center}}\textbf{{{_latex(page.title)}}}\end{{center}}"]
    parts.append(_tabular(None, page.fact_rows(), "lrlr"))
    for table in page.tables:
        aligns = "l" + "r" * (len(table.headers) - 1)
        parts.append(_tabular(table.headers, shortened(table.rows), aligns))
    for heading, body in page.notes:
        parts.append(rf"\noindent\textbf{{{_latex(heading)}}}: {_latex(body)}\par")
    return "\n\n".join(parts)


def as_csv(page: Page) -> str:
    """Return the title, the facts, every row of every table, and the notes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([page.title])
    writer.writerows(page.facts)
    for table in page.tables:
        writer.writerows([[], table.headers, *table.rows])
    writer.writerows([[], *page.notes])
    return out.getvalue()


def shortened(rows: Rows) -> Rows:
    """Keep the first and last rows of a table too long to read."""
    if len(rows) <= _MAX_ROWS:
        return rows
    head, tail = _MAX_ROWS - 6, 5
    left_out = len(rows) - head - tail
    gap = [f"({left_out} more)", *["..."] * (len(rows[0]) - 1)]
    return [*rows[:head], gap, *rows[-tail:]]


def display_width(text: str) -> int:
    """Return the columns that a terminal gives the text: two for a wide character."""
    return sum(
        0
        if unicodedata.category(symbol) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(symbol) in "WF"
        else 1
        for symbol in text
    )


# ---------------------------------------------------------------------- plain text


def _pad(text: str, width: int, align: str) -> str:
    spare = width - display_width(text)
    left = {"l": 0, "r": spare, "c": spare // 2}[align]
    return " " * left + text + " " * (spare - left)


def _text_rows(rows: Rows, widths: list[int], aligns: str) -> list[str]:
    gap = " " * _GAP
    return [gap.join(map(_pad, row, widths, aligns)) for row in rows]


def _column_widths(rows: Rows) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*rows, strict=True)]


def _total(widths: list[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _spread(widths: list[int], total: int) -> list[int]:
    """Widen all columns but the first evenly, to fill the page or until wide enough."""
    if len(widths) == 1:
        return widths
    share, rest = divmod(total - _total(widths), len(widths) - 1)
    if share >= _MOST_SPREAD:
        share, rest = _MOST_SPREAD, 0
    wider = [width + share + (i < rest) for i, width in enumerate(widths[1:])]
    return [widths[0], *wider]


def _spread_facts(widths: list[int], total: int) -> list[int]:
    """Widen the two value columns, so that both halves of the header are equal."""
    spare = total - _total(widths)
    left = min(spare, max(0, (total - _GAP) // 2 - _GAP - widths[0] - widths[1]))
    return [widths[0], widths[1] + left, widths[2], widths[3] + spare - left]


# ------------------------------------------------------------------ HTML and LaTeX


def _html_row(row: Iterable[str], tag: str, aligns: str) -> str:
    sides = {"l": "left", "r": "right"}
    cells = (
        f'<{tag} style="text-align: {sides[align]}">{html.escape(cell)}</{tag}>'
        for cell, align in zip(row, aligns, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _tabular(headers: Sequence[str] | None, rows: Rows, aligns: str) -> str:
    lines = [r"\begin{center}", rf"\begin{{tabular}}{{{aligns}}}", r"\toprule"]
    if headers is not None:
        lines += [_latex_row(headers), r"\midrule"]
    lines += map(_latex_row, rows)
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{center}"]
    return "\n".join(lines)


def _latex_row(row: Sequence[str]) -> str:
    # in braces, or a first cell that begins with [ or * is read as an option of \\
    first = f"{{{_latex(row[0])}}}"
    return " & ".join([first, *map(_latex, row[1:])]) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{symbol: "\\" + symbol for symbol in "#$%&_{}"},
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(symbol, symbol) for symbol in text)
