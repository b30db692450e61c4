"""The printed state of a risk monitor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Note, Table, guarantee_notes, number
from distfreeuq.monitoring.risk.losses import loss_name

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.monitoring.risk.results import RiskMonitor


def summarize_risk(monitor: RiskMonitor) -> Summary:
    """Return facts, both risks with their bounds, and the guarantee."""
    alarm = (
        "none" if monitor.alarm_at is None else f"at labelled row {monitor.alarm_at}"
    )
    facts = [
        ("Loss", loss_name(monitor.loss)),
        ("Rows of the stream", str(monitor.n_rows)),
        ("Rows of the source", str(monitor.n_source)),
        ("Counted", str(monitor.n_labelled)),
        ("False alarms alpha", f"{monitor.alpha:g}"),
        ("Waiting", str(len(monitor.waiting.ids))),
        ("Limit of the risk", number(monitor.limit)),
        ("Alarm", alarm),
    ]
    level = 100.0 * (1.0 - 0.5 * monitor.alpha)
    stream_level = (
        level if monitor.given_limit is None else 100.0 * (1.0 - monitor.alpha)
    )
    rows = [
        (
            "source",
            str(monitor.n_source),
            number(monitor.source_risk),
            f"at most {number(monitor.source_high)}",
            f"{level:g}%",
        ),
        (
            "stream",
            str(monitor.n_labelled),
            "none" if math.isnan(monitor.risk) else number(monitor.risk),
            f"at least {number(monitor.risk_low)}",
            f"{stream_level:g}%, always",
        ),
    ]
    table = Table(("risk", "rows", "mean loss", "bound", "level"), rows)
    notes = [*guarantee_notes(monitor.guarantee), *_waiting(monitor)]
    return printing.summarize("Risk monitor", facts, [table], notes)


def _waiting(monitor: RiskMonitor) -> list[Note]:
    notes: list[Note] = []
    if monitor.limit >= 1.0:
        text = "the limit is 1, which no risk exceeds: there will never be an alarm."
        notes.append(("Note", text))
    behind = len(monitor.waiting.ids) - monitor.waiting.unlabelled().size
    if behind:
        oldest = monitor.waiting.ids[0]
        text = (
            f"{behind} labels have come and wait for that of an earlier row, the first "
            f"of which is {oldest!r}: give it, or drop() what will never have one."
        )
        notes.append(("Waiting", text))
    if monitor.n_dropped:
        notes.append(("Dropped", f"{monitor.n_dropped} rows."))
    return notes
