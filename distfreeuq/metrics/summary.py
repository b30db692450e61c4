"""The printed reliability table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, interval, number
from distfreeuq._base.rounding import distinct_numbers

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.metrics.band_results import ReliabilityBand
    from distfreeuq.metrics.results import L2ErrorInterval, ReliabilityTable


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


def summarize_band(band: ReliabilityBand) -> Summary:
    """Return what a band says of calibration, and what it guarantees."""
    frame = band.to_frame()
    shown = frame.iloc[np.unique(np.linspace(0, len(frame) - 1, 10).astype(int))]
    points = np.unique(shown["right"].to_numpy())
    lines = np.column_stack([points, *band.at(points)]).tolist()
    rows = [[number(value) for value in line] for line in lines]
    says = "not refuted"
    if band.refutes_calibration:
        says = f"refuted at level {1.0 - band.level:.6g}"
    facts = [
        ("Rows", str(band.n)),
        ("Blocks", str(band.counts.size)),
        ("Calibration", says),
        ("Level", f"{100 * band.level:g}%"),
    ]
    notes = []
    if band.refutes_order:
        note = "the band is empty somewhere: the frequency falls as confidence grows."
        notes.append(("Note", note))
    return printing.summarize(
        "Band of the calibration curve",
        facts,
        [Table(["confidence", "low", "high"], rows)],
        [*notes, *printing.guarantee_notes(band.guarantee)],
    )


def summarize_interval(found: L2ErrorInterval) -> Summary:
    """Return the interval of the l2 calibration error, and what it guarantees."""
    level = f"{100 * found.level:g}%"
    row = [
        number(found.estimate),
        number(found.debiased),
        interval(found.low, found.high),
    ]
    return printing.summarize(
        "L2 calibration error",
        [("Rows", str(found.n)), ("Bins with rows", str(found.n_bins))],
        [Table(["L2 gap", "debiased", level], [row])],
        printing.guarantee_notes(found.guarantee),
    )
