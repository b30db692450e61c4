"""Figures of an assessment: the reliability diagram, and metrics side by side."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from distfreeuq._base.arguments import Arguments
from distfreeuq.metrics.titles import TITLES
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.new_figures import axes_of_none
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    MARKERS,
    NOMINAL,
    RED,
    lay_out,
    legend_above,
    name_rows,
    new_axes,
    row_height,
    set_title,
    shown_name,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from distfreeuq.assessment.calibration_results import (
        CalibrationComparisonResult,
    )
    from distfreeuq.assessment.results import ComparisonResult
    from distfreeuq.metrics.results import ReliabilityTable


def reliability_diagram(
    table: ReliabilityTable, *, kind: str = "bars", ax: Axes | None = None
) -> Axes:
    """Draw accuracy against confidence with simultaneous bands, rows counted below.

    Parameters
    ----------
    table : ReliabilityTable
    kind : {"bars", "curve"}
        Bars with the gap to the mean confidence shaded, or points joined by a line with
        a band.
    ax : matplotlib Axes, optional

    Notes
    -----
    Empty bins are not drawn. The histogram below shows the share of the rows' weight,
    and where mean confidence and accuracy of all rows stand.
    """
    figure_arguments.result(
        Arguments("reliability_diagram"), table, "table", "ReliabilityTable"
    )
    kind = Arguments("reliability_diagram").choice(kind, "kind", ["bars", "curve"])
    frame = table.to_frame()
    used = frame[frame["weight"] > 0.0]
    if ax is None:  # room for the histogram, which no layout engine makes by itself
        ax = axes_of_none(4.8, 5.6, (0.14, 0.315, 0.82, 0.555))
    ax = new_axes(ax, grid="both")
    ax.plot([0, 1], [0, 1], label="calibrated", zorder=3, **NOMINAL)
    draw = _bars if kind == "bars" else _curve
    what = table.column_titles
    draw(used, ax, what, f"{100 * table.level:g}% for all bins at once")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel(what[1])
    ax.tick_params(labelbottom=False)
    title = f"Reliability: ECE {table.ece:.3f} in {table.n} rows, {table.n_bins} bins"
    legend_above(ax, title)
    _shares(used, what, table.event, ax)
    lay_out(ax)
    return ax


def _bars(used: pd.DataFrame, ax: Axes, what: tuple[str, str], level: str) -> None:
    width = used["right"] - used["left"]
    middle = 0.5 * (used["left"] + used["right"])
    accuracy, confidence = used["accuracy"], used["confidence"]
    ax.bar(middle, accuracy, width, color=BLUE, edgecolor="white", label=what[1])
    ax.bar(
        middle,
        confidence - accuracy,
        width,
        bottom=accuracy,
        facecolor=(*(int(RED[i : i + 2], 16) / 255 for i in (1, 3, 5)), 0.25),
        edgecolor=RED,
        hatch="////",
        linewidth=0.8,
        label=f"gap to the mean {what[0]}",
    )
    spread = np.vstack([accuracy - used["low"], used["high"] - accuracy])
    ax.errorbar(
        middle,
        accuracy,
        yerr=np.maximum(spread, 0.0),
        fmt="none",
        ecolor="black",
        elinewidth=1,
        capsize=2,
        label=level,
        zorder=4,
    )


def _curve(used: pd.DataFrame, ax: Axes, what: tuple[str, str], level: str) -> None:
    x = used["confidence"]
    ax.fill_between(x, used["low"], used["high"], color=BLUE, alpha=0.2, linewidth=0)
    ax.fill_between([], [], [], color=BLUE, alpha=0.2, linewidth=0, label=level)
    ax.plot(x, used["accuracy"], "o-", color=BLUE, markersize=4, label=what[1])


def _shares(used: pd.DataFrame, what: tuple[str, str], event: str, ax: Axes) -> None:
    """Draw the histogram below, as a child of the Axes it belongs to."""
    below = ax.inset_axes((0.0, -0.34, 1.0, 0.28), sharex=ax)
    new_axes(below)
    below.bar(
        used["left"],
        used["share"],
        used["right"] - used["left"],
        align="edge",
        color="0.75",
        edgecolor="white",
    )
    for column, line, name in (
        ("confidence", "-", f"mean {what[0]}"),
        ("accuracy", ":", what[1]),
    ):
        mean = float((used["share"] * used[column]).sum())
        color = RED if column == "confidence" else BLUE
        below.axvline(mean, color=color, linestyle=line, linewidth=2, label=name)
    below.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
    below.tick_params(labelbottom=True)
    below.set_xlabel(
        f"confidence that the {event}"
        if "right" in event
        else f"probability of {event}"
    )
    below.set_ylabel("rows")
    below.legend(loc="upper left", frameon=False, fontsize="small")


def metric_comparison(
    result: ComparisonResult, metric: str = "ece", *, ax: Axes | None = None
) -> Axes:
    """Draw one metric's differences to the first classifier, with their intervals.

    Parameters
    ----------
    result : ComparisonResult
    metric : str
    ax : matplotlib Axes, optional

    Notes
    -----
    Each row names the metric itself. Without a bootstrap there are no intervals.
    """
    args = Arguments("metric_comparison")
    figure_arguments.result(args, result, "result", "ComparisonResult")
    metric = args.choice(metric, "metric", result.metrics)
    j = result.metrics.index(metric)
    y = np.arange(len(result.names))
    ax = new_axes(ax, height=row_height(len(y), each=0.4, around=1.4), grid="x")
    ax.axvline(0.0, **NOMINAL)
    for c in y:
        difference = float(result.differences[c, j])
        low, high = float(result.low[c, j]), float(result.high[c, j])
        color = CYCLE[c % len(CYCLE)]
        if np.isfinite(low) and c > 0:
            ax.hlines(c, low, high, color=color, linewidth=1.5)
        ax.plot(difference, c, MARKERS[c % len(MARKERS)], color=color)
    names = [
        f"{shown_name(name)} ({value:.4f})"
        for name, value in zip(result.names, result.estimates[:, j], strict=True)
    ]
    ax.xaxis.set_major_locator(MaxNLocator(5))
    name_rows(ax, y, names)
    ax.set_ylim(len(y) - 0.5, -0.5)
    what = TITLES[metric]
    ax.set_xlabel(f"{what} less that of {shown_name(result.names[0])}")
    how = ""
    if result.n_boot:
        how = f", {100 * result.level:g}% paired intervals"
    what = what[0].upper() + what[1:]
    set_title(ax, f"{what} on {result.n} rows{how}")
    return ax


def calibration_comparison(
    result: CalibrationComparisonResult,
    metric: str = "ece",
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw one metric of every calibration: a dot, and its sd over repetitions.

    Parameters
    ----------
    result : CalibrationComparisonResult
    metric : str
    ax : matplotlib Axes, optional
    """
    args = Arguments("calibration_comparison")
    figure_arguments.result(args, result, "result", "CalibrationComparisonResult")
    metric = args.choice(metric, "metric", result.metrics)
    j = result.metrics.index(metric)
    mean, sd = result.mean[:, j], np.nan_to_num(result.sd[:, j])
    methods = list(dict.fromkeys(result.methods))
    # a gap before every calibrator
    starts = np.array([0, *(a != b for a, b in pairwise(result.calibrators))])
    y = np.arange(len(mean)) + 0.6 * np.cumsum(starts)
    ax = new_axes(ax, height=row_height(int(y[-1]) + 1, each=0.3, around=1.3), grid="x")
    ax.axvline(float(mean[0]), **NOMINAL)
    for position, value, spread, method in zip(
        y, mean, sd, result.methods, strict=True
    ):
        if not np.isfinite(value):  # an infinite likelihood
            continue
        place = methods.index(method)
        color = "black" if place == 0 else CYCLE[(place - 1) % len(CYCLE)]
        ax.hlines(position, value - spread, value + spread, color=color, linewidth=1.5)
        ax.plot(value, position, MARKERS[place % len(MARKERS)], color=color)
    beside = [f"{value:.3f}" if np.isfinite(value) else "" for value in mean]
    name_rows(ax, y, [shown_name(name) for name in result.line_names()], beside)
    ax.set_ylim(float(y[-1]) + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    what = TITLES[metric]
    ax.set_xlabel(f"{what} on the target (dashed: uncalibrated)")
    times = f"{result.n_rep} random splits" if result.n_rep > 1 else "one random split"
    set_title(ax, f"{what[0].upper() + what[1:]}, mean and sd of {times}")
    return ax
