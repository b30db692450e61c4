"""The printed state of a monitor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Note, Table, class_name, guarantee_notes, number
from distfreeuq.monitoring.streams.class_proportions import proportions

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.monitoring.streams.results import ShiftMonitor

_MOST_CLASSES = 50
"""Beyond so many, intervals of the proportions take too long for a table."""
_LEVEL = 0.95


def summarize_monitor(monitor: ShiftMonitor) -> Summary:
    """Return facts, class proportions where labels are known, and the guarantee."""
    facts = [
        ("Score", monitor.score.describe()),
        ("Rows of the source", str(monitor.n_source)),
        ("False alarms alpha", f"{monitor.alpha:g}"),
        ("Rows watched", str(monitor.n_stream)),
        ("E-value, now", _e_value(monitor.wealth.log_wealth)),
        ("Alarm at an e-value of", f"{1.0 / monitor.alpha:g}"),
        ("P-value, anytime", number(monitor.p_value)),
        ("Alarm", _alarm(monitor)),
    ]
    notes = guarantee_notes(monitor.guarantee)
    if monitor.alarm_at is not None:
        notes.append(
            (
                "Change",
                f"estimated after row {monitor.change_at} of the stream, without a "
                "guarantee.",
            )
        )
    tables, more = _proportions(monitor)
    return printing.summarize("Shift monitor", facts, tables, [*notes, *more])


def _e_value(log_wealth: float) -> str:
    if log_wealth < math.log(1e6):
        return number(math.exp(log_wealth))
    power = log_wealth / math.log(10.0)
    return f"1e{math.floor(power)} or more"


def _alarm(monitor: ShiftMonitor) -> str:
    return "none" if monitor.alarm_at is None else f"at row {monitor.alarm_at}"


def _proportions(monitor: ShiftMonitor) -> tuple[list[Table], list[Note]]:
    few = len(monitor.classes) <= _MOST_CLASSES
    if monitor.confusion is None or not few or not monitor.class_counts.sum():
        return [], []
    source = monitor.confusion.sum(axis=0) / monitor.n_source
    low, high = monitor.confint(1.0 - _LEVEL).T
    estimate = proportions(monitor.confusion, monitor.class_counts)
    rows = [
        (
            class_name(name),
            number(source[k]),
            "none" if estimate is None else number(estimate[k]),
            printing.interval(low[k], high[k]),
        )
        for k, name in enumerate(monitor.classes)
    ]
    headers = ("class", "source", "stream", f"{100 * _LEVEL:g}% sequence")
    which = "rows after the alarm" if monitor.alarm else "all rows of the stream"
    note = (
        f"of {which}, on average; the intervals hold at all times and for all classes "
        f"at once with probability >= {_LEVEL:g} under label shift, whether or not the "
        "proportions drift (theory page, 11.3)."
    )
    notes = [("Proportions", note)]
    if math.isnan(low[0]):
        empty = (
            "no class proportions give these predictions: the rows are no mixture of "
            "the source's classes, and so there is more than label shift."
        )
        notes.append(("Note", empty))
    return [Table(headers, rows)], notes
