"""The printed table of bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, lower, number, upper
from distfreeuq.binning.radii import TRIVIAL_L1, TRIVIAL_PROBABILITY
from distfreeuq.guarantees import at_most

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary

    from distfreeuq.binning.results import BinningResult

# Most classes whose frequencies fit beside each other; otherwise only the most frequent
# class is shown.
_MOST_CLASSES = 4

# Longest text of a cell; what is longer is cut.
_MOST_CELL = 44

_TITLES = {
    "canonical": "Calibration by binning, canonical",
    "classwise": "Calibration by binning, class-wise",
    "top-label": "Calibration by binning, top label",
}


def summarize_binning(fit: BinningResult) -> Summary:
    """Return the table, how the bins were chosen, and what holds in all of them."""
    title = _TITLES[fit.mode] + ("" if fit.shift is None else ", under label shift")
    frame = fit.to_frame()
    notes = printing.guarantee_notes(fit.guarantee)
    notes[1:1] = _notes(fit, n_empty=int((frame["n"] == 0).sum()))
    table = _canonical(fit, frame) if fit.mode == "canonical" else _events(frame)
    return printing.summarise(title, _facts(fit), [table], notes)


def _facts(fit: BinningResult) -> list[tuple[str, str]]:
    facts = [
        ("Bins", f"{fit.n_bins}, {fit.scheme}"),
        ("Bound", fit.bound),
        ("Error rate alpha", f"{fit.alpha:g}"),
        ("Largest radius", at_most(fit.largest_radius)),
        ("Rows counted", str(fit.n - fit.n_boundary)),
        ("Rows that chose the bins", str(fit.n_chose)),
        ("Rows on boundaries", str(fit.n_boundary)),
        ("Classes", str(len(fit.classes))),
    ]
    if fit.mode == "classwise":  # each class has boundaries of its own
        facts[4] = ("Rows", str(fit.n))
        facts[6] = ("On boundaries, all classes", str(fit.n_boundary))
    if fit.shift is not None:
        facts += [
            ("Weights", fit.shift.weights_from),
            ("kappa", number(fit.shift.kappa)),
        ]
    return facts


def _notes(fit: BinningResult, n_empty: int) -> list[tuple[str, str]]:
    notes = []
    trivial = TRIVIAL_L1 if fit.mode == "canonical" else TRIVIAL_PROBABILITY
    largest = fit.largest_radius
    known = fit.shift is None or fit.shift.delta == 0.0
    if largest < trivial and known:
        notes.append(
            (
                "To halve it",
                f"radii shrink as one over the root of the rows: about {4 * fit.n} "
                f"rows in place of {fit.n} halve the largest, {at_most(largest)}.",
            )
        )
    if n_empty:
        notes.append(
            ("Empty", f"bins without rows: {n_empty}, whose radius is the trivial one.")
        )
    if fit.shift is not None and fit.shift.delta > 0.0:
        some = fit.bin_counts > 0
        notes.append(
            (
                "Radius",
                "source estimation up to "
                f"{at_most(float(fit.shift.source_radius[some].max(initial=0.0)))}, "
                "weight estimation up to "
                f"{at_most(float(fit.shift.weight_radius[some].max(initial=0.0)))} "
                f"(region at delta = {fit.shift.delta:g}), added in each bin.",
            )
        )
    return notes


def _canonical(fit: BinningResult, frame: pd.DataFrame) -> Table:
    names = [class_name(name) for name in fit.classes]
    if len(names) == 2:
        headers = [f"P({names[1]})", "low", "high"]
    elif len(names) <= _MOST_CLASSES:
        headers = [f"P({name})" for name in names]
    else:
        headers = ["most frequent"]
    rows = []
    for m, (cell, n) in enumerate(zip(frame["cell"], frame["n"], strict=True)):
        cells = [str(m), _cut(cell), str(n)]
        shares = fit.frequencies[m]
        if len(names) == 2:
            cells += [_share(shares[1]), lower(fit.low[m, 1]), upper(fit.high[m, 1])]
        elif len(names) <= _MOST_CLASSES:
            cells += [_share(share) for share in shares]
        else:
            k = 0 if np.isnan(shares[0]) else int(np.argmax(shares))
            cells.append("-" if np.isnan(shares[0]) else f"{names[k]} {shares[k]:.3f}")
        rows.append([*cells, upper(fit.radius[m])])
    return Table(["bin", "cell", "n", *headers, "radius"], rows)


def _events(frame: pd.DataFrame) -> Table:
    what = "P(class)" if "class" in frame else "P(right)"
    columns = {
        "bin": [str(m) for m in frame["bin"]],
        "cell": [_cut(cell) for cell in frame["cell"]],
        "n": [str(n) for n in frame["n"]],
        what: [_share(share) for share in frame["frequency"]],
        "low": [lower(x) for x in frame["low"]],
        "high": [upper(x) for x in frame["high"]],
        "radius": [upper(x) for x in frame["radius"]],
    }
    if "class" in frame:
        columns = {"class": [class_name(name) for name in frame["class"]], **columns}
    return Table(list(columns), list(zip(*columns.values(), strict=True)))


def _share(frequency: float) -> str:
    return "-" if np.isnan(frequency) else number(frequency)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CELL else text[: _MOST_CELL - 3] + "..."
