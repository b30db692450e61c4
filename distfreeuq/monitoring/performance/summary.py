"""The printed table of performance on the target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Note, Table, class_name, interval, number
from distfreeuq.guarantees import NoGuarantee
from distfreeuq.monitoring.performance.results import PerformanceResult

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "recall": "recall",
    "precision": "precision",
    "confusion": "share",
    "brier": "Brier score",
    "nll": "NLL, clipped",
    "ece": "ECE",
    "coverage": "coverage of the sets",
    "size": "mean size of the sets",
}
"""How tables and figures call the metrics; others by their names."""


def row_title(result: PerformanceResult, i: int) -> str:
    """Return what a row is called."""
    metric = result.metrics[i]
    title = TITLES.get(metric, metric)
    of, said = int(result.row_class[i]), int(result.row_predicted[i])
    if said >= 0:
        names = (class_name(result.classes[k]) for k in (of, said))
        title = " predicted ".join(names)
    elif of >= 0:
        title += f" of {class_name(result.classes[of])}"
    group = int(result.row_group[i])
    if group >= 0:
        title = f"{class_name(result.groups[group])}: {title}"
    return title


def summarize_performance(result: PerformanceResult) -> Summary:
    """Return the table: a line per metric, and a guarantee per kind of interval."""
    notes: list[Note] = [("Note", note) for note in result.notes]
    seen = set()
    for guarantee in result.guarantees:
        key = guarantee.reason if isinstance(guarantee, NoGuarantee) else guarantee
        if key not in seen:
            seen.add(key)
            notes += printing.guarantee_notes(guarantee)
    return printing.summarize(
        "Performance on the target",
        [
            ("Source rows", str(result.n)),
            ("Target rows", str(result.m)),
            ("Classes", str(len(result.classes))),
            ("Shift", result.shift),
        ],
        [_table(result), _prior_table(result)],
        notes,
    )


def _table(result: PerformanceResult) -> Table:
    limit = f"{100 * (1 - result.alpha):g}% asymptotic"
    exact = f"{100 * (1 - result.delta):g}% finite-sample"
    rows = []
    for i in range(len(result.metrics)):
        ends = (result.low[i], result.high[i])
        certified = (result.certified_low[i], result.certified_high[i])
        rows.append(
            [
                row_title(result, i),
                _or_dash(float(result.source[i])),
                _or_dash(float(result.estimates[i])),
                interval(float(ends[0]), float(ends[1])),
                interval(float(certified[0]), float(certified[1])),
            ]
        )
    return Table(["metric", "source", "target", limit, exact], rows)


def _prior_table(result: PerformanceResult) -> Table:
    shares = result.target_prior.tolist()
    rows = [
        [class_name(name), number(share)]
        for name, share in zip(result.classes, shares, strict=True)
        if not math.isnan(share)
    ]
    return Table(["class", "share of the target"], rows)


def _or_dash(value: float) -> str:
    return "-" if math.isnan(value) else number(value)
