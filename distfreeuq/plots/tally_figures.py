"""Figures of tallies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    ORANGE,
    legend_above,
    mark_size,
    name_rows,
    new_axes,
    row_height,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.tallies.results import Tally


def tallied_rows(result: Tally, *, ax: Axes | None = None) -> Axes:
    """Draw the rows predicted to be of each class and, with labels, the rows of it.

    Parameters
    ----------
    result : Tally
    ax : matplotlib Axes, optional
    """
    figure_arguments.result(Arguments("tallied_rows"), result, "result", "Tally")
    frame = result.to_frame()
    ax = new_axes(ax, height=max(2.4, row_height(len(frame))), grid="x")
    y = np.arange(len(frame))
    size = mark_size(len(frame))
    for column, marker, color, label in (
        ("n", "D", ORANGE, "rows of the class"),
        ("predicted", "o", BLUE, "rows predicted to be of it"),
    ):
        if column in frame:
            ax.plot(frame[column], y, marker, color=color, markersize=size, label=label)
    name_rows(ax, y, [shown_name(name) for name in result.classes])
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("rows")
    ax.set_ylabel("class")
    legend_above(ax, f"Tally of {result.n} rows")
    return ax
