"""Figures of tallies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import BLUE, ORANGE, new_axes, shown_name

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
    ax = new_axes(ax, height=max(2.4, 1.2 + 0.28 * len(frame)), grid="x")
    y = np.arange(len(frame))
    if "n" in frame:
        ax.plot(frame["n"], y, "D", color=ORANGE, label="rows of the class")
    ax.plot(frame["predicted"], y, "o", color=BLUE, label="rows predicted to be of it")
    ax.set_yticks(y, [shown_name(name) for name in result.classes])
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("rows")
    ax.set_ylabel("class")
    ax.set_title(f"Tally of {result.n} rows", fontsize="medium")
    ax.legend()
    return ax
