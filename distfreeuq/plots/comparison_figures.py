"""Figures of several methods side by side: reliability curves, numbers by class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatMatrix
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    CYCLE,
    GREEN,
    LINES,
    MARKERS,
    MAX_TICKS,
    NOMINAL,
    legend_above,
    name_columns,
    new_axes,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.metrics.band_results import ReliabilityBand
    from distfreeuq.metrics.results import ReliabilityTable

# Bars of a class stand together on this share of its place.
_WIDTH = 0.8


def reliability_curves(
    tables: Mapping[str, ReliabilityTable],
    *,
    intervals: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw several reliability tables as curves in one figure, with the ECE of each.

    Parameters
    ----------
    tables : mapping of str to ReliabilityTable
        As `metrics.reliability` returns them, or ``assess(...).reliability``.
    intervals : bool
        Whether every bin has its interval, as a vertical line; they hold for all bins
        of a table at once, not for all tables.
    ax : matplotlib Axes, optional

    Notes
    -----
    Empty bins are not drawn: lines join the bins on either side.
    """
    args = Arguments("reliability_curves")
    given = figure_arguments.mapping(args, tables, "tables", "ReliabilityTable")
    figure_arguments.results(args, list(given.values()), "tables", "ReliabilityTable")
    intervals = args.flag(intervals, "intervals")
    ax = new_axes(ax, width=5.0, height=4.8, grid="both")
    ax.plot([0, 1], [0, 1], label="calibrated", **NOMINAL)
    for i, (name, table) in enumerate(given.items()):
        frame = table.to_frame()
        used = frame[frame["weight"] > 0.0]
        color = CYCLE[i % len(CYCLE)]
        ax.plot(
            used["confidence"],
            used["accuracy"],
            color=color,
            linestyle=LINES[i % len(LINES)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=4,
            label=f"{shown_name(name)} (ECE {table.ece:.3f})",
        )
        if intervals:
            ax.vlines(
                used["confidence"],
                used["low"],
                used["high"],
                color=color,
                linewidth=1,
                alpha=0.6,
            )
    titles = [table.column_titles for table in given.values()]
    x, y = titles[0] if len(set(titles)) == 1 else ("probability", "frequency")
    ax.set_xlim(0, 1.01)
    ax.set_ylim(0, 1.01)
    ax.set_xlabel(f"mean {x} of a bin")
    ax.set_ylabel(f"{y} in the bin")
    rows = sorted({table.n for table in given.values()})
    many = f"{rows[0]}" if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"
    levels = {f"{100 * table.level:g}%" for table in given.values()}
    how = ""
    if intervals and len(levels) == 1:
        how = f", lines: {levels.pop()} for all bins of a curve"
    legend_above(ax, f"Reliability in {many} rows{how}")
    return ax


def reliability_band(band: ReliabilityBand, *, ax: Axes | None = None) -> Axes:
    """Draw the band of a calibration curve, over a reliability diagram if given one.

    Parameters
    ----------
    band : ReliabilityBand
    ax : matplotlib Axes, optional

    Notes
    -----
    The curve is inside everywhere at once, if it does not fall. Where the diagonal is
    outside, calibration is refuted.
    """
    args = Arguments("reliability_band")
    figure_arguments.result(args, band, "band", "ReliabilityBand")
    own = ax is None
    ax = new_axes(ax, width=5.0, height=4.8, grid="both")
    edges = np.unique(np.concatenate([[0.0, 1.0], band.starts, band.ends]))
    # the ends jump at confidences: both sides of each are drawn
    x = np.repeat(edges, 2)
    x[::2] = np.nextafter(x[::2], 0.0)
    x = np.clip(np.append(x, np.nextafter(edges, 1.0)), 0.0, 1.0)
    x.sort()
    low, high = band.at(x)
    name = f"{100 * band.level:g}% band of a curve that does not fall"
    ax.fill_between(x, low, high, color=GREEN, alpha=0.2, linewidth=0, label=name)
    for end in (low, high):
        ax.plot(x, end, color=GREEN, linewidth=1)
    if not own:
        ax.legend(*ax.get_legend_handles_labels(), fontsize="small", loc="upper left")
        return ax
    ax.plot([0, 1], [0, 1], label="calibrated", **NOMINAL)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.01)
    ax.set_xlabel("confidence")
    ax.set_ylabel("frequency of the event")
    says = "refuted" if band.refutes_calibration else "not refuted"
    legend_above(ax, f"Calibration is {says} by {band.n} rows")
    return ax


def class_comparison(
    values: Mapping[str, ArrayLike],
    *,
    classes: Any = None,
    what: str = "ECE",
    ax: Axes | None = None,
) -> Axes:
    """Draw a number of every class, by several methods: errors, accuracies, sizes.

    Parameters
    ----------
    values : mapping of str to array_like (K,) or (R, K)
        Each method's numbers by class, such as ``class_frame()["ece"]`` of `assess`,
        or those of R runs, which are shown as mean and standard deviation.
    classes : sequence, optional
        The K names; without it the classes are numbered.
    what : str
        What the numbers are, for the label.
    ax : matplotlib Axes, optional

    Notes
    -----
    A class without a number (NaN: it is never predicted) has no bar; of several runs
    those that have one count. Many classes are points in place of bars.
    """
    args = Arguments("class_comparison")
    given = figure_arguments.mapping(args, values, "values", "numbers by class")
    what = figure_arguments.words(args, what, "what")
    methods = {name: _runs(args, numbers) for name, numbers in given.items()}
    sizes = {runs.shape[1] for runs in methods.values()}
    if len(sizes) != 1:
        must = "one or more methods, all with as many classes"
        args.invalid("values", must, f"{sorted(sizes)} classes" if sizes else "none")
    n_classes = sizes.pop()
    names = args.classes(classes, None, n_classes)
    places = np.arange(n_classes)
    ax = new_axes(ax, width=min(12.0, max(6.0, 0.45 * n_classes)))
    step = _WIDTH / len(methods)
    for i, (name, runs) in enumerate(methods.items()):
        mean, sd = _mean_and_sd(runs)
        x = places + step * (i - 0.5 * (len(methods) - 1))
        color = CYCLE[i % len(CYCLE)]
        spread = sd if (sd > 0.0).any() else None
        label = shown_name(name)
        if n_classes <= MAX_TICKS:
            bars = {"ecolor": "black", "elinewidth": 0.8}
            ax.bar(
                x, mean, 0.95 * step, yerr=spread, color=color, label=label,
                error_kw=bars,
            )  # fmt: skip
        else:
            marker = MARKERS[i % len(MARKERS)]
            ax.errorbar(
                x, mean, yerr=spread, fmt=marker, color=color, label=label,
                markersize=3.5, elinewidth=0.8,
            )  # fmt: skip
    name_columns(ax, places, [shown_name(name) for name in names])
    ax.set_xlim(-0.6, n_classes - 0.4)
    if all(np.nanmin(runs, initial=0.0) >= 0.0 for runs in methods.values()):
        ax.set_ylim(bottom=0.0)
    ax.set_xlabel("class")
    ax.set_ylabel(what)
    n_runs = max(runs.shape[0] for runs in methods.values())
    title = f"{what[:1].upper()}{what[1:]} by class"
    if n_runs > 1:
        title += f", mean and sd of {n_runs} runs"
    legend_above(ax, title)
    return ax


def _runs(args: Arguments, value: ArrayLike) -> FloatMatrix:
    """Return numbers of runs by class, shape (R, K), NaN where there is none."""
    array = args.array(value, "values", "numbers")
    if array.ndim not in (1, 2) or 0 in array.shape:
        must = "numbers by class, shape (K,) or (R, K)"
        args.invalid("values", must, f"shape {array.shape}")
    flat = figure_arguments.curve(args, array.ravel(), "values", infinite=True)
    return flat.reshape(-1, array.shape[-1])


def _mean_and_sd(runs: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Return each class's mean over the runs that have it, and their sd, 0 of one."""
    known = np.isfinite(runs)
    count = known.sum(axis=0)
    filled = np.where(known, runs, 0.0)
    mean = np.where(count > 0, filled.sum(axis=0) / np.maximum(count, 1), np.nan)
    square = (np.where(known, runs - mean, 0.0) ** 2).sum(axis=0)
    return mean, np.sqrt(square / np.maximum(count - 1, 1))
