"""The printed plan of calibration rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, number

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.conformal.planning.results import PlanResult


def summarize_plan(result: PlanResult) -> Summary:
    """Return the rows that are needed, by class, and what they achieve."""
    facts = [
        ("Miscoverage alpha", f"{result.alpha:g}"),
        ("Rows needed, in all", str(result.total)),
        ("Confidence", _or_none(result.confidence)),
        ("Tolerance", _or_none(result.tolerance)),
    ]
    tables = []
    if result.by_class:
        facts.append(("Classes", str(len(result.classes))))
        rows = [
            [class_name(name), number(share), str(needed), f"{expected:.1f}"]
            for name, share, needed, expected in result.to_frame().itertuples(
                index=False
            )
        ]
        headers = ["class", "proportion", "rows needed", "rows expected"]
        tables.append(Table(headers, rows))
    notes = printing.guarantee_notes(result.guarantee)
    return printing.summarize("Calibration rows needed", facts, tables, notes)


def _or_none(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
