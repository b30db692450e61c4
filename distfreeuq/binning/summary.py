"""The printed table of bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.printing import Table, class_name, lower, number, upper
from distfreeuq.binning.radii import extremes
from distfreeuq.bounds import unchecked
from distfreeuq.guarantees import at_most

if TYPE_CHECKING:
    import pandas as pd
    from statsmodels.iolib.summary import Summary

    from distfreeuq.binning.results import BinningResult

# Most classes whose frequencies fit beside each other; otherwise only the most frequent
# class is shown.
_MOST_CLASSES = 4

# A number of rows that would be enough is told up to so many.
_MOST_ROWS = 1e15

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
    return printing.summarize(title, _facts(fit), [table], notes)


def _facts(fit: BinningResult) -> list[tuple[str, str]]:
    counted = ("Rows counted", str(fit.n - fit.n_boundary))
    on_edges = ("Rows on boundaries", _on_edges(fit))
    if fit.mode == "classwise":  # each class has boundaries of its own
        counted = ("Rows", str(fit.n))
        on_edges = ("On boundaries, all classes", _on_edges(fit))
    facts = [
        ("Bins", f"{fit.n_bins}, {fit.scheme}"),
        ("Bound", fit.bound),
        ("Error rate alpha", f"{fit.alpha:g}"),
        ("Largest radius", at_most(fit.largest_radius)),
        counted,
        ("Rows that chose the bins", str(fit.n_chose)),
        on_edges,
        ("Classes", str(len(fit.classes))),
    ]
    if fit.shift is not None:
        facts += [
            ("Weights", fit.shift.weights_from),
            ("kappa", number(fit.shift.kappa)),
        ]
    return facts


def _notes(fit: BinningResult, n_empty: int) -> list[tuple[str, str]]:
    notes = []
    if fit.n_boundary > fit.n_edges:  # several rows share an edge
        notes.append(
            (
                "Edges",
                f"{fit.n_boundary} calibration rows ({_share_on_edges(fit)}) share "
                f"{fit.n_edges} edges, as scores are discrete; nothing is claimed for "
                "new rows exactly on one of these.",
            )
        )
    if extremes(fit.radius, fit.bin_counts, fit.mode).is_vacuous:
        notes.append(("Vacuous", _rows_that_would_do(fit)))
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


def _on_edges(fit: BinningResult) -> str:
    share = f" ({_share_on_edges(fit)})" if fit.n_boundary else ""
    return f"{fit.n_boundary}{share}"


def _share_on_edges(fit: BinningResult) -> str:
    """Return the rows on edges as a share, class-wise of all classes' rows."""
    rows = fit.n * (len(fit.classes) if fit.mode == "classwise" else 1)
    return f"{fit.n_boundary / rows:.1%}"


def _rows_that_would_do(fit: BinningResult) -> str:
    """Say how many rows would bring every bin's radius to half of the trivial one.

    By Weissman's bound, which shrinks as one over the root of the rows, and on a target
    with the smallest and largest weights of their intervals.
    """
    trivial = extremes(fit.radius, fit.bin_counts, fit.mode).trivial
    some = fit.bin_counts > 0
    text = f"no radius is below the trivial {trivial:g}"
    if not some.any() or fit.effective_counts is not None:
        return text + "."
    n_labels = len(fit.classes) if fit.mode == "canonical" else 2
    radius = unchecked.binning_weissman(fit.bin_counts, fit.n_bins, n_labels, fit.alpha)
    mass: FloatArray = np.ones(radius.shape)
    largest = 1.0
    if fit.shift is not None:
        table: Any = fit.counts
        if fit.mode != "canonical" and fit.label_counts is not None:
            table = fit.label_counts
            table = table.sum(axis=1) if fit.mode == "top-label" else table
        low = np.maximum(fit.shift.low, 0.0)
        mass = np.asarray(table @ low / np.maximum(fit.bin_counts, 1))
        largest = float(fit.shift.high.max())
    if not np.isfinite(largest) or (mass[some] <= 0.0).any():
        return (
            text + ", and more rows would not do while a weight may be 0 or infinite."
        )
    # a radius of 2 is trivial, and 1 is half of it
    with np.errstate(over="ignore"):
        times = float((radius[some] * largest / mass[some]).max())
    if times * times * fit.n > _MOST_ROWS:
        return text + ", and no sample that anybody has would do."
    needed = math.ceil(times * times * fit.n)
    digits = 10 ** max(0, len(str(needed)) - 2)
    needed = -(-needed // digits) * digits
    text += (
        f"; at these frequencies about {needed} rows in place of {fit.n} would bring "
        f"every bin's to {trivial / 2:g}"
    )
    if fit.shift is not None and fit.shift.delta > 0.0:
        text += ", apart from what the weights' region adds"
    return text + "."


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
