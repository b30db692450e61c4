"""Printed tables: the only file that knows statsmodels' table classes."""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

from distfreeuq.guarantees import Guarantee, NoGuarantee

WIDTH = 78
_MAX_ROWS = 30
_MAX_NAME = 28
_GAP = 3

Note = tuple[str, str]
"""A heading ("Guarantee") and its text."""


@dataclass(frozen=True, slots=True)
class Table:
    """One block of a summary: headings over columns, the first column left-aligned."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


class GuaranteeSummary(Summary):  # type: ignore[misc]
    """A statsmodels Summary that ends with what is guaranteed."""

    def __init__(self, tables: list[SimpleTable], notes: Sequence[Note]) -> None:
        super().__init__()
        self.tables = tables
        self.notes = list(notes)

    def as_text(self) -> str:
        """Return the tables and the notes as plain text, without trailing blanks."""
        text = super().as_text()
        indent = max(len(heading) for heading, _ in self.notes) + 3
        lines = [line.rstrip() for line in text.splitlines()]
        for heading, body in self.notes:
            lines += textwrap.wrap(
                body,
                width=max(WIDTH, len(lines[1])),
                initial_indent=f"{heading}:".ljust(indent),
                subsequent_indent=" " * indent,
                break_on_hyphens=False,
            )
        return "\n".join(lines)

    def as_html(self) -> str:
        """Return HTML tables and a definition list."""
        items = "".join(
            f"<dt>{html.escape(heading)}</dt><dd>{html.escape(body)}</dd>"
            for heading, body in self.notes
        )
        return f"{super().as_html()}\n<dl>{items}</dl>"

    def as_latex(self) -> str:
        """Return one tabular per table, then the notes."""
        parts = [table.as_latex_tabular() for table in self.tables]
        parts += [
            f"\\noindent\\textbf{{{_latex(heading)}}}: {_latex(body)}\\par"
            for heading, body in self.notes
        ]
        return "\n\n".join(parts)

    def as_csv(self) -> str:
        """Return comma-separated tables and notes."""
        notes = [f'{heading},"{_csv(body)}"' for heading, body in self.notes]
        return "\n".join([super().as_csv(), *notes])


def summarise(
    title: str,
    facts: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    notes: Sequence[Note],
) -> GuaranteeSummary:
    """Lay out a summary: a title, facts in two columns, tables, and the footer's notes."""
    half = (len(facts) + 1) // 2
    left, right = list(facts[:half]), list(facts[half:])
    right += [("", "")] * (half - len(right))
    # the colon belongs to the name; an empty place has none
    cells = [
        [f"{name}:" if name else "", value]
        for pair in zip(left, right, strict=True)
        for name, value in pair
    ]
    fact_rows = [cells[i] + cells[i + 1] for i in range(0, len(cells), 2)]

    blocks = [Table(block.headers, _shorten(block.rows)) for block in tables]
    natural = [_natural_widths([block.headers, *block.rows]) for block in blocks]
    fact_widths = _natural_widths(fact_rows)
    width = max(WIDTH, *(sum(w) + _GAP * (len(w) - 1) for w in [fact_widths, *natural]))

    laid_out = [_simple_table(fact_rows, None, _spread_facts(fact_widths, width), "lrlr")]
    laid_out[0].title = title
    for block, widths in zip(blocks, natural, strict=True):
        aligns = "l" + "r" * (len(widths) - 1)
        laid_out.append(
            _simple_table(block.rows, block.headers, _spread(widths, width), aligns)
        )
    return GuaranteeSummary(laid_out, notes)


def guarantee_notes(guarantee: Guarantee | NoGuarantee) -> list[Note]:
    """Return the footer: the statement, what it needs, and who proved it."""
    if isinstance(guarantee, NoGuarantee):
        return [("Guarantee", f"none: {guarantee.reason}.")]
    statement = guarantee.statement
    if not guarantee.finite_sample:
        statement += " (asymptotic: no claim at this sample size)"
    return [
        ("Guarantee", statement),
        ("Needs", "; ".join(guarantee.assumptions) + "."),
        ("By", guarantee.reference + "."),
    ]


def number(value: float, digits: int = 4) -> str:
    """Return a number as the tables print it: fixed digits, infinities as 'inf'."""
    return f"{value:.{digits}f}" if abs(value) < 1e6 else f"{value:.{digits}g}"


def class_name(name: Any) -> str:
    """Return a class name on one line, cut if it is very long."""
    text = " ".join(str(name).split())
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def _shorten(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Keep the first and last rows of a table too long to read."""
    if len(rows) <= _MAX_ROWS:
        return rows
    head, tail = _MAX_ROWS - 6, 5
    left_out = len(rows) - head - tail
    gap = [f"({left_out} more)", *["..."] * (len(rows[0]) - 1)]
    return [*rows[:head], gap, *rows[-tail:]]


def _natural_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]


def _spread(widths: list[int], total: int) -> list[int]:
    """Widen all columns but the first evenly, until the table fills the width."""
    if len(widths) == 1:
        return [total]
    spare = total - sum(widths) - _GAP * (len(widths) - 1)
    share, rest = divmod(spare, len(widths) - 1)
    return [widths[0]] + [
        width + share + (i < rest) for i, width in enumerate(widths[1:])
    ]


def _spread_facts(widths: list[int], total: int) -> list[int]:
    """Widen the two value columns, so that both halves of the header are equal."""
    spare = total - sum(widths) - _GAP * 3
    left = min(spare, max(0, (total - _GAP) // 2 - _GAP - widths[0] - widths[1]))
    return [widths[0], widths[1] + left, widths[2], widths[3] + spare - left]


def _simple_table(
    rows: Sequence[Sequence[str]],
    headers: Sequence[str] | None,
    widths: list[int],
    aligns: str,
) -> SimpleTable:
    layout = {
        "colsep": " " * _GAP,
        "colwidths": widths,
        "data_aligns": aligns,
        "header_align": "r",
        "row_pre": "",
        "row_post": "",
        "table_dec_above": "=",
        "table_dec_below": "=",
        "header_dec_below": "-",
        "title_align": "c",
    }
    padded = None
    if headers is not None:  # statsmodels aligns all headings alike: pad the first
        padded = [headers[0].ljust(widths[0]), *headers[1:]]
    return SimpleTable(
        rows,
        headers=padded,
        txt_fmt=layout,
        html_fmt={"data_fmts": [lambda cell: f"<td>{html.escape(cell)}</td>"]},
        ltx_fmt={"data_fmts": [_latex], "data_aligns": aligns},
        csv_fmt={"data_fmts": [lambda cell: f'"{_csv(cell)}"']},
    )


def _csv(text: str) -> str:
    return text.replace('"', '""')


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{symbol: "\\" + symbol for symbol in "#$%&_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(symbol, symbol) for symbol in text)
