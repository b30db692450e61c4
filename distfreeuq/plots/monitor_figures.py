"""Figures of streams that are watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import BLUE, GRAY, NOMINAL, RED, legend_above, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.monitoring.risk.results import RiskMonitor
    from distfreeuq.monitoring.streams.results import ShiftMonitor


def monitor_wealth(result: ShiftMonitor, *, ax: Axes | None = None) -> Axes:
    """Draw a monitor's e-value against the rows of the stream, on a log scale.

    Parameters
    ----------
    result : ShiftMonitor
    ax : matplotlib Axes, optional

    Notes
    -----
    The dashed line is 1/alpha: there an e-value is an alarm. The axis shows powers of
    ten, as e-values may exceed what a double holds.
    """
    args = Arguments("monitor_wealth")
    figure_arguments.result(args, result, "result", "ShiftMonitor")
    frame = result.to_frame()
    rows = np.append(0, frame["row"].to_numpy())
    powers = np.append(0.0, frame["log10_e_value"].to_numpy())
    level = -np.log10(result.alpha)
    ax = new_axes(ax)
    ax.plot(rows, powers, color=BLUE, linewidth=1.4, label="e-value")
    ax.axhline(level, label=f"alarm (1/alpha = {1.0 / result.alpha:g})", **NOMINAL)
    if result.alarm_at is not None and result.change_at is not None:
        ax.axvline(result.change_at, color=RED, linestyle=":", label="estimated change")
        ax.plot(result.alarm_at, level, "v", color=RED, label="alarm")
    ax.set_xlim(0.0, max(result.n_stream, 1))
    low, high = float(powers.min()), max(float(powers.max()), level)
    room = 0.06 * (high - low)
    ax.set_ylim(low - room, high + room)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    ax.yaxis.set_major_formatter(lambda power, _: f"$10^{{{power:g}}}$")
    ax.set_xlabel("rows of the stream")
    ax.set_ylabel("evidence of a shift")
    state = "no alarm" if result.alarm_at is None else f"alarm at row {result.alarm_at}"
    legend_above(ax, f"Shift monitor, {result.n_stream} rows: {state}")
    return ax


def running_risk(result: RiskMonitor, *, ax: Axes | None = None) -> Axes:
    """Draw a stream's running risk with its bounds, and the limit that it must keep.

    Parameters
    ----------
    result : RiskMonitor
    ax : matplotlib Axes, optional

    Notes
    -----
    There is an alarm where the lower bound, which holds at all times, first exceeds the
    dashed line.
    """
    args = Arguments("running_risk")
    figure_arguments.result(args, result, "result", "RiskMonitor")
    frame = result.to_frame()
    rows = frame["row"].to_numpy()
    ax = new_axes(ax)
    ax.plot(rows, frame["risk"], color=BLUE, linewidth=1.4, label="running risk")
    ax.fill_between(
        rows, frame["low"], frame["high"], color=BLUE, alpha=0.2, label="its bounds"
    )
    ax.axhline(result.limit, label="limit", **NOMINAL)
    source = f"source ({result.source_risk:.3g})"
    ax.axhline(result.source_risk, color=GRAY, linestyle=":", label=source)
    tops = [result.limit, result.source_risk]
    if rows.size:
        # the first rows say nothing, and would leave no room for the others
        late = frame["row"] >= 0.1 * rows[-1]
        tops += [frame["risk"].max(), frame["high"][late].max()]
    if result.alarm_at is not None:
        ax.plot(result.alarm_at, result.limit, "v", color=RED, label="alarm")
    ax.set_xlim(0.0, max(result.n_labelled, 1))
    ax.set_ylim(0.0, min(1.05 * max(*tops, 1e-3), 1.02))
    ax.set_xlabel("labelled rows")
    ax.set_ylabel("mean loss so far")
    state = "no alarm" if result.alarm_at is None else f"alarm at {result.alarm_at}"
    legend_above(ax, f"Risk of {result.n_labelled} labelled rows: {state}")
    return ax
