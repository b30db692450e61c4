"""Figures of scaling: parameters, curves, and reliability before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    LINES,
    NOMINAL,
    ORANGE,
    log_scale,
    mark_size,
    name_columns,
    new_axes,
    set_title,
    shown_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distfreeuq.calibration.isotonic import IsotonicResult
    from distfreeuq.calibration.results import CalibrationResult
    from distfreeuq.covariate_shift.decisions.results import DecisionCalibrationResult

_NEUTRAL = {"temperature": 1.0, "scale": 1.0, "bias": 0.0, "intercept": 0.0}


def calibration_parameters(fit: CalibrationResult, *, ax: Axes | None = None) -> Axes:
    """Draw fitted parameters with 95% intervals, by class where there is one each.

    Parameters
    ----------
    fit : CalibrationResult
    ax : matplotlib Axes, optional

    Notes
    -----
    The dashed line is the value that leaves the logits as they are. Hollow markers have
    no standard error: they stand at a bound, or share another's parameter.
    """
    figure_arguments.result(
        Arguments("calibration_parameters"), fit, "fit", "CalibrationResult"
    )
    frame = fit.to_frame()
    if "parameter" not in frame:
        must = "of a map with parameters; isotonic curves have a figure of their own"
        Arguments("calibration_parameters").invalid("fit", must, repr(fit))
    names = list(dict.fromkeys(frame["parameter"]))
    ax = new_axes(ax)
    for i, name in enumerate(names):
        part = frame[frame["parameter"] == name]
        center = part["estimate"].to_numpy()
        x = np.arange(len(part)) + 0.2 * (i - 0.5 * (len(names) - 1))
        spread = np.vstack([center - part["low"], part["high"] - center])
        known = np.isfinite(spread).all(axis=0)
        color, size = CYCLE[i % len(CYCLE)], mark_size(len(part))
        ax.errorbar(
            x[known],
            center[known],
            yerr=spread[:, known],
            fmt="os^D"[i % 4],
            color=color,
            markersize=0.7 * size,
            capsize=0.35 * size,
            elinewidth=0.2 * size,
            label=name,
        )
        ax.plot(
            x[~known],
            center[~known],
            "o",
            color=color,
            fillstyle="none",
            markersize=size,
        )
        ax.axhline(_NEUTRAL.get(name, 1.0), **NOMINAL)
    first = frame[frame["parameter"] == names[0]]
    by = next((column for column in ("class", "group") if column in frame), "")
    ticks = first[by] if by else first["parameter"]
    name_columns(ax, np.arange(len(first)), [shown_name(tick) for tick in ticks])
    if names == ["temperature"]:
        log_scale(ax, "y")
    ax.set_xlabel(by)
    ax.set_ylabel(names[0] if len(names) == 1 else "estimate")
    title = f"Fitted parameters with 95% intervals (n = {fit.n})"
    set_title(ax, title)
    if len(names) > 1:
        ax.legend(frameon=False, fontsize="small")
    return ax


def reliability_change(
    fit: CalibrationResult | DecisionCalibrationResult, *, ax: Axes | None = None
) -> Axes:
    """Draw accuracy against confidence of the fitted rows, before and after.

    Parameters
    ----------
    fit : CalibrationResult or DecisionCalibrationResult
    ax : matplotlib Axes, optional

    Notes
    -----
    A marker per occupied bin; its area is the share of rows in the bin.
    """
    figure_arguments.result(
        Arguments("reliability_change"),
        fit,
        "fit",
        "CalibrationResult",
        "DecisionCalibrationResult",
    )
    frame = fit.reliability()
    ax = new_axes(ax, width=4.6, height=4.4, grid="both")
    ax.plot([0, 1], [0, 1], label="calibrated", **NOMINAL)
    for stage, color, marker in (("before", ORANGE, "s"), ("after", BLUE, "o")):
        part = frame[frame["stage"] == stage]
        ax.plot(part["confidence"], part["accuracy"], color=color, linewidth=1)
        ax.scatter(
            part["confidence"],
            part["accuracy"],
            s=20 + 300 * part["share"],
            color=color,
            marker=marker,
            alpha=0.8,
            label=stage,
        )
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("confidence")
    ax.set_ylabel("accuracy")
    set_title(ax, f"Reliability of the {fit.n} fitted rows")
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def isotonic_curves(fit: IsotonicResult, *, ax: Axes | None = None) -> Axes:
    """Draw the calibrated against the original probability, a curve per class.

    Parameters
    ----------
    fit : IsotonicResult
    ax : matplotlib Axes, optional
    """
    figure_arguments.result(Arguments("isotonic_curves"), fit, "fit", "IsotonicResult")
    frame = fit.to_frame()
    names = list(dict.fromkeys(frame["class"]))
    ax = new_axes(ax, width=4.6, height=4.4, grid="both")
    ax.plot([0, 1], [0, 1], **NOMINAL)
    # not by ==, which finds no class called None
    numbers = frame["class"].map({name: i for i, name in enumerate(names)}.get)
    for i, name in enumerate(names):
        curve = frame[numbers == i]
        x = [0.0, *curve["knot"], 1.0]
        y = [curve["value"].iloc[0], *curve["value"], curve["value"].iloc[-1]]
        few = len(names) <= len(CYCLE)
        ax.plot(
            x,
            y,
            color=CYCLE[i] if few else BLUE,
            linestyle=LINES[i] if few else "-",
            alpha=1.0 if few else 0.3,
            label=f"class {shown_name(name)}" if few else None,
        )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("probability")
    ax.set_ylabel("calibrated probability")
    set_title(ax, f"Isotonic calibration (n = {fit.n})")
    if len(names) <= len(CYCLE):
        ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax
