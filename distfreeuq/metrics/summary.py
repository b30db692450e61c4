"""The printed reliability table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, interval, number
from distfreeuq._base.rounding import distinct_numbers

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.metrics.results import ReliabilityTable


def summarize_reliability(table: ReliabilityTable) -> Summary:
    """Return the bins that are not empty, and what their intervals guarantee."""
    level = f"{100 * table.level:g}%"
    frame = table.to_frame()
    filled = frame[frame["weight"] > 0.0].drop(columns="weight").to_numpy()
    values = np.unique(frame[["left", "right"]].to_numpy()).tolist()
    edge = dict(zip(values, distinct_numbers(values), strict=True))
    rows = [
        [
            f"{edge[left]} to {edge[right]}",
            *(number(value) for value in values),
            interval(low, high),
        ]
        for left, right, *values, low, high in filled.tolist()
    ]
    return printing.summarize(
        "Reliability",
        [
            ("Rows", str(table.n)),
            ("ECE", number(table.ece)),
            ("Bins", f"{table.n_bins}, {int((table.weight == 0.0).sum())} empty"),
            ("Over-confident ECE", number(table.overconfident_ece)),
            ("Event", table.event),
            ("Largest gap", number(table.max_gap)),
        ],
        [Table(["bin", "share", *table.column_titles, "gap", level], rows)],
        printing.guarantee_notes(table.guarantee),
    )
