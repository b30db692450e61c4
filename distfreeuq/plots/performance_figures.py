"""Figures of performance on the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    ORANGE,
    SKY,
    legend_above,
    mark_size,
    name_rows,
    new_axes,
    row_height,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.monitoring.performance.results import PerformanceResult


def performance_intervals(result: PerformanceResult, *, ax: Axes | None = None) -> Axes:
    """Draw each estimate with its intervals, the source's value beside it.

    Parameters
    ----------
    result : PerformanceResult
    ax : matplotlib Axes, optional

    Notes
    -----
    Thick lines are asymptotic intervals, thin ones finite-sample intervals.
    """
    figure_arguments.result(
        Arguments("performance_intervals"), result, "result", "PerformanceResult"
    )
    from distfreeuq.monitoring.performance.summary import row_title

    count = len(result.metrics)
    y = np.arange(count)
    ax = new_axes(ax, height=max(2.8, row_height(count, around=1.5)), grid="x")
    ax.hlines(
        y,
        result.certified_low,
        result.certified_high,
        color=SKY,
        linewidth=1.2,
        label=f"{100 * (1 - result.delta):g}% finite-sample",
    )
    ax.hlines(
        y,
        result.low,
        result.high,
        color=BLUE,
        linewidth=0.5 * mark_size(count),
        label=f"{100 * (1 - result.alpha):g}% asymptotic",
    )
    size = mark_size(count)
    of_target, of_source = "target, estimated", "source"
    ax.plot(result.estimates, y, "o", color=BLUE, markersize=size, label=of_target)
    small = 0.7 * size
    ax.plot(result.source, y, "D", color=ORANGE, markersize=small, label=of_source)
    titles = [row_title(result, i).replace("$", r"\$") for i in range(count)]
    name_rows(ax, y, titles)
    ax.set_ylim(count - 0.5, -0.5)
    ax.set_xlabel("value")
    legend_above(ax, "Performance on the target")
    return ax
