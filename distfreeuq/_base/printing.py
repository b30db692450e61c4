"""Printed summaries: the only file that knows statsmodels' classes for them."""

from collections.abc import Sequence
from typing import Any

from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

from distfreeuq._base import layout
from distfreeuq._base.arrays import describe
from distfreeuq._base.layout import Note, Page, Table, display_width
from distfreeuq._base.rounding import interval, lower, upper
from distfreeuq.guarantees import Guarantee, NoGuarantee

__all__ = [
    "GuaranteeSummary",
    "Note",
    "Table",
    "class_name",
    "guarantee_notes",
    "interval",
    "lower",
    "number",
    "summarize",
    "upper",
]

# Columns of a class name that is printed: of a longer one its beginning and its end,
# where names of one family ("region: north, store 12") differ.
_MAX_NAME = 28
_ELLIPSIS = "..."


class GuaranteeSummary(Summary):  # type: ignore[misc]
    """A statsmodels Summary that ends with what is guaranteed.

    Long tables are shortened, except in CSV. ``tables`` holds statsmodels' own tables.
    """

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self.tables = [SimpleTable(page.fact_rows(), title=page.title)]
        for table in page.tables:
            rows = layout.shortened(table.rows)
            self.tables.append(SimpleTable(rows, headers=list(table.headers)))

    @property
    def page(self) -> Page:
        """What is shown, before it has a form: for summaries made of others."""
        return self._page

    def as_text(self) -> str:
        """Return plain text without trailing blanks."""
        return layout.as_text(self._page)

    def as_html(self) -> str:
        """Return HTML tables and a definition list."""
        return layout.as_html(self._page)

    def as_latex(self) -> str:
        """Return one tabular per table (package booktabs), then the notes."""
        return layout.as_latex(self._page)

    def as_csv(self) -> str:
        """Return comma-separated values."""
        return layout.as_csv(self._page)


def summarize(
    title: str,
    facts: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    notes: Sequence[Note],
) -> GuaranteeSummary:
    """Return a summary: a title, facts in two columns, tables with rows, and notes."""
    tables = [table for table in tables if table.rows]
    return GuaranteeSummary(Page(title, facts, tables, notes))


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
    """Return a number as the tables print it: fixed digits where they show it."""
    if value != 0 and not 0.5 * 10.0**-digits <= abs(value) < 1e6:
        return f"{value:.{digits}g}" if abs(value) >= 1e6 else f"{value:.1e}"
    return f"{value:.{digits}f}"


def class_name(name: Any) -> str:
    """Return a class name on one line, shortened in the middle if it is very long."""
    try:
        text = " ".join(str(name).split()) or repr(name)
    except Exception:  # of the name's own class, or an integer of too many digits
        text = describe(name)
    if len(text) <= 4 * _MAX_NAME:  # some characters take no column
        whole = _printable(text)
        if display_width(whole) <= _MAX_NAME:
            return whole
    kept = _MAX_NAME - len(_ELLIPSIS)
    first = _fitting(_printable(text[:_MAX_NAME]), kept - kept // 2)
    last = _fitting(_printable(text[-_MAX_NAME:])[::-1], kept // 2)[::-1]
    return first + _ELLIPSIS + last


def _printable(text: str) -> str:
    """Return the text with escapes for what no terminal shows."""
    return "".join(
        symbol if symbol.isprintable() else ascii(symbol)[1:-1] for symbol in text
    )


def _fitting(text: str, width: int) -> str:
    """Return as much of the text's beginning as fits into so many columns."""
    while display_width(text) > width:
        text = text[:-1]
    return text
