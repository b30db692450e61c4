"""Figures of label shift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    NOMINAL,
    mark_size,
    name_rows,
    new_axes,
    row_height,
    set_title,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.label_shift.results import LabelShiftResult


def label_shift_weights(fit: LabelShiftResult, *, ax: Axes | None = None) -> Axes:
    """Draw each class's weight with its 95% interval; no shift is the dashed line at 1.

    Parameters
    ----------
    fit : LabelShiftResult
    ax : matplotlib Axes, optional

    Notes
    -----
    Intervals without an upper end run off the axis; a weight that is infinite or not
    identified has no point.
    """
    figure_arguments.result(
        Arguments("label_shift_weights"), fit, "fit", "LabelShiftResult"
    )
    frame = fit.to_frame()
    y = np.arange(len(frame))
    weight = frame["weight"].to_numpy(dtype=np.float64)
    low, high = (frame[end].to_numpy(dtype=np.float64) for end in ("low", "high"))
    shown = np.concatenate([[1.0], weight, low, high])
    edge = 1.1 * float(shown[np.isfinite(shown)].max())
    ax = new_axes(ax, height=max(2.4, row_height(len(frame))), grid="x")
    ax.axvline(1.0, **NOMINAL)
    if not fit.known:
        ax.hlines(y, low, np.minimum(high, edge), color=BLUE, linewidth=1.5)
    there = np.isfinite(weight)
    ax.plot(weight[there], y[there], "o", color=BLUE, markersize=mark_size(len(frame)))
    name_rows(ax, y, [shown_name(name) for name in fit.classes])
    ax.set_ylim(len(frame) - 0.5, -0.5)
    ax.set_xlim(0.0, edge)
    ax.set_xlabel("weight q / p")
    ax.set_ylabel("class")
    title = "Known class weights (dashed: no shift)"
    if not fit.known:
        rows = f"{fit.n} and {fit.m} rows"
        title = f"Weights by {fit.method} from {rows}, 95% intervals"
    set_title(ax, title)
    return ax
