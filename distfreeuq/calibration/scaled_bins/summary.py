"""The printed table of scaling-binning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, lower, number, upper
from distfreeuq.calibration.scaled_bins.guarantees import cost_of_bins
from distfreeuq.calibration.scaled_bins.output_bounds import extremes_of, outputs_of
from distfreeuq.calibration.summary import describe_map
from distfreeuq.guarantees import at_most

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.calibration.scaled_bins.results import ScalingBinningResult

_MOST_CELL = 44
_MODES = {
    "canonical": "probability of class 1",
    "classwise": "class-wise",
    "top-label": "top label",
}


def summarize_scaling_binning(fit: ScalingBinningResult) -> Summary:
    """Return the parts of the rows, the bins, and what holds in all of them."""
    binning = fit.binning
    bins = outputs_of(binning)
    facts = [
        ("Scaling map", f"{fit.calibrator}: {describe_map(fit.scaling)}"),
        ("Rows that fit the map", str(fit.n_scaling)),
        ("Rows that chose the bins", str(binning.n_chose)),
        ("Rows that give outputs", str(binning.n - binning.n_boundary)),
        ("Bins", f"{binning.n_bins}, {_MODES[binning.mode]}"),
        ("Error rate alpha", f"{fit.alpha:g}"),
        ("Largest radius", at_most(extremes_of(bins, fit.radius).largest)),
        ("Classes", str(len(fit.classes))),
    ]
    frame = fit.to_frame()
    event = "P(right)" if binning.mode == "top-label" else "P(class)"
    columns = {
        "bin": [str(m) for m in frame["bin"]],
        "cell": [_cut(cell) for cell in frame["cell"]],
        "n": [str(n) for n in bins.n],
        "output": [_share(share) for share in bins.output],
        event: [_share(share) for share in bins.frequency],
        "low": [lower(x) for x in bins.low],
        "high": [upper(x) for x in bins.high],
        "radius": [upper(x) for x in fit.radius],
    }
    if "class" in frame:
        columns = {"class": [class_name(name) for name in frame["class"]], **columns}
    notes = printing.guarantee_notes(fit.guarantee)
    if np.isfinite(fit.cost) and fit.guarantee:
        notes.insert(1, ("Cost of bins", cost_of_bins(fit.cost, fit.alpha)))
    n_empty = int((bins.n == 0).sum())
    if n_empty:
        note = f"bins without rows: {n_empty}, whose radius is the trivial one."
        notes.insert(1, ("Empty", note))
    table = Table(list(columns), list(zip(*columns.values(), strict=True)))
    return printing.summarize("Scaling-binning", facts, [table], notes)


def _share(value: float) -> str:
    return "-" if np.isnan(value) else number(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CELL else text[: _MOST_CELL - 3] + "..."
