"""Figures of theorem checks: estimates and intervals against what is claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq.plots import figure_arguments
from distfreeuq.plots.style import (
    BLUE,
    GRAY,
    ORANGE,
    RED,
    name_rows,
    new_axes,
    set_title,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from distfreeuq.theorems.engine.results import TheoremResult
    from distfreeuq.theorems.engine.search_results import SearchResult

_VERDICTS = {"holds": BLUE, "violated": RED, "undecided": ORANGE}
# Height of a row in inches.
_ROW = 0.24
# Columns of the legend.
_COLUMNS = 3
# Tolerances from the claim at which the axis of many theorems ends.
_FARTHEST = 10.0


def theorem_checks(result: TheoremResult, *, ax: Axes | None = None) -> Axes:
    """Draw estimates and intervals against the claims, controls in grey.

    Parameters
    ----------
    result : TheoremResult
    ax : matplotlib Axes, optional

    Notes
    -----
    For one theorem a row per claim, on the scale of probabilities. For several a row
    per experiment, that of its claim nearest to violation, as the distance from the
    claim in tolerances: to the left of 0 is violated.
    """
    figure_arguments.result(
        Arguments("theorem_checks"), result, "result", "TheoremResult"
    )
    frame = result.to_frame()
    if len(result.theorems) == 1:
        return _one_theorem(result, frame, ax)
    return _many_theorems(frame, ax)


def search_designs(result: SearchResult, *, ax: Axes | None = None) -> Axes:
    """Draw how far the worst designs of a search are from violating the claim.

    Parameters
    ----------
    result : SearchResult
    ax : matplotlib Axes, optional

    Notes
    -----
    A row per design, the distance of its probability from what is claimed: to the left
    of 0 is violated. Dots are exact; lines are intervals from fresh draws.
    """
    figure_arguments.result(
        Arguments("search_designs"), result, "result", "SearchResult"
    )
    frame = result.to_frame()
    ax = new_axes(ax, width=7.0, height=1.3 + _ROW * len(frame), grid="x")
    side = np.where(frame["sense"] == "<=", -1.0, 1.0)
    rows = np.arange(len(frame))
    for violated, color in ((False, BLUE), (True, RED)):
        some = (frame["violated"] == violated).to_numpy()
        if some.any():
            at, low, high = (
                (side * (frame[name] - frame["bound"]))[some]
                for name in ("estimate", "low", "high")
            )
            ax.hlines(rows[some], low, high, color=color, linewidth=2.0)
            label = "violated" if violated else "not violated"
            ax.plot(at, rows[some], "o", color=color, markersize=5, label=label)
    ax.axvline(0.0, color="black", linewidth=1.2, label="claimed")
    names = [f"design {number}" for number in frame["number"]]
    name_rows(ax, rows, names, fontsize="small")
    ax.set_ylim(len(frame) - 0.4, -0.6)
    ax.set_xlabel("probability, distance from the claim (left: violated)")
    _legend(ax, f"{result.theorem.name}: worst of {result.n_designs} designs")
    return ax


def _one_theorem(result: TheoremResult, frame: pd.DataFrame, ax: Axes | None) -> Axes:
    ax = new_axes(ax, width=8.5, height=1.3 + _ROW * len(frame), grid="x")
    rows = np.arange(len(frame))
    _intervals(ax, frame, rows, frame["estimate"], frame["low"], frame["high"])
    markers = {">=": (9, "right of"), "<=": (8, "left of"), "=": ("|", "at")}
    for sense, (marker, side) in markers.items():
        some = (frame["sense"] == sense).to_numpy()
        if some.any():
            size = 12 if sense == "=" else 6
            label = f"claimed: {side} this"
            ax.plot(
                frame["bound"][some],
                rows[some],
                linestyle="none",
                marker=marker,
                markersize=size,
                color="black",
                zorder=2.1,
                label=label,
            )
    names = frame["experiment"].where(~frame.duplicated(["control", "experiment"]), "")
    _rows(ax, frame, names.tolist())
    ax.set_xlabel("probability of the event")
    one = result.theorems[0]
    _legend(ax, f"{one.title}: {result.verdicts[one.name]}")
    return ax


def _many_theorems(frame: pd.DataFrame, ax: Axes | None) -> Axes:
    frame = frame.copy()
    # towards the claim's safe side is positive; an equality has none, and is measured
    # from its nearer end
    side = np.where(frame["sense"] == "<=", -1.0, 1.0)
    for name in ("estimate", "low", "high"):
        frame[f"{name}_at"] = side * (frame[name] - frame["bound"]) / frame["tolerance"]
    ends = np.sort(frame[["low_at", "high_at"]].to_numpy(), axis=1)
    equal = (frame["sense"] == "=").to_numpy()
    frame["worst"] = np.where(equal, -np.abs(frame["estimate_at"]), ends[:, 0])
    key = ["theorem", "control", "experiment"]
    frame = frame.loc[frame.groupby(key, sort=False)["worst"].idxmin()]
    ax = new_axes(ax, width=9.5, height=1.5 + _ROW * len(frame), grid="x")
    clip = frame[["estimate_at", "low_at", "high_at"]].clip(-_FARTHEST, _FARTHEST)
    rows = np.arange(len(frame))
    _intervals(ax, frame, rows, clip["estimate_at"], clip["low_at"], clip["high_at"])
    ax.axvline(0.0, color="black", linewidth=1.2, label="claimed")
    names = [
        f"{row.theorem}: {row.experiment}" for row in frame.itertuples(index=False)
    ]
    _rows(ax, frame, names)
    ax.set_xlim(-1.05 * _FARTHEST, 1.05 * _FARTHEST)
    ax.set_xlabel(
        f"distance from the claim, in tolerances, up to {_FARTHEST:g} (left: violated)"
    )
    _legend(ax, "Theorems checked by simulation")
    return ax


def _intervals(
    ax: Axes, frame: pd.DataFrame, rows: Any, estimate: Any, low: Any, high: Any
) -> None:
    """Draw dots with lines, filled where a theorem must hold and open for controls."""
    control = frame["control"].to_numpy(dtype=bool)
    for verdict, color in _VERDICTS.items():
        for is_control in (False, True):
            some = (frame["verdict"] == verdict).to_numpy() & (control == is_control)
            if not some.any():
                continue
            shade = GRAY if is_control and verdict == "violated" else color
            face = "white" if is_control else shade
            label = f"control, {verdict}" if is_control else verdict
            ax.hlines(rows[some], low[some], high[some], color=shade, linewidth=2.0)
            ax.plot(
                estimate[some],
                rows[some],
                "o",
                color=shade,
                markerfacecolor=face,
                markersize=5,
                zorder=2.2,
                label=label,
            )


def _rows(ax: Axes, frame: pd.DataFrame, names: list[str]) -> None:
    """Name the rows, first on top, with a rule above the controls of each theorem."""
    name_rows(ax, np.arange(len(frame)), names, fontsize="small")
    ax.set_ylim(len(frame) - 0.4, -0.6)
    before: tuple[Any, Any] | None = None
    for i, row in enumerate(frame.itertuples(index=False)):
        here = row.theorem, row.control
        if before is not None and here != before:
            style = "-" if row.theorem != before[0] else ":"
            ax.axhline(i - 0.5, color="0.6", linewidth=0.8, linestyle=style)
        before = here


def _legend(ax: Axes, title: str) -> None:
    handles, _ = ax.get_legend_handles_labels()
    rows = -(-len(handles) // _COLUMNS)
    set_title(ax, title, loc="left", pad=8 + 14 * rows)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=_COLUMNS,
        frameon=False,
        fontsize="small",
        handletextpad=0.3,
        columnspacing=1.0,
    )
