"""The style of all figures: colours, lines, and a new Axes.

Colours are Okabe and Ito's, which colour-blind readers tell apart; lines and markers
also differ in form, for print in grey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.ticker import LogLocator, NullFormatter

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._base.arrays import describe
from distfreeuq._base.printing import class_name
from distfreeuq.plots.new_figures import TitledFigure, axes_of_none, break_lines

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GRAY = "#CC79A7", "#56B4E9", "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
MARKERS = "os^Dv*"

NOMINAL: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}
MAX_TICKS = 24

_POWERS_OF_TEN = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)

# Rows of a legend, and inches of a figure: more are not read.
_MOST_ROWS = 6
_TALLEST = 9.0

# What titles leave on either side of Axes with neighbours, as a share of these.
_KEPT_FREE = 0.05

# What they leave where names at Axes may move these in the figure, as a share of it.
_MAY_MOVE = 0.07

# A side of 65,536 pixels is more than matplotlib draws.
_LARGEST_SIDE = 500.0

MOST_BARS = 10_000
"""Bins of a histogram, beyond which no screen shows them."""


def new_axes(
    ax: Axes | None, *, width: float = 6.0, height: float = 3.8, grid: str = "y"
) -> Axes:
    """Return the Axes to draw on, in the house style.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        None: those of a new figure, which is pyplot's if pyplot is in use; or pyplot's
        current Axes, if nothing is drawn on them yet.
    width, height : float
        Of a new figure, in inches.
    grid : {"x", "y", "both"}
        Lines across which axis.
    """
    args = Arguments("new_axes")
    if ax is not None and not isinstance(ax, Axes):
        args.invalid("ax", "a matplotlib Axes, or None", describe(ax))
    grid = args.choice(grid, "grid", ["x", "y", "both"])
    must = f"inches, from 1 to {_LARGEST_SIDE:g}"
    width = args.number(width, "width", must, low=1.0, high=_LARGEST_SIDE)
    height = args.number(height, "height", must, low=1.0)
    height = min(height, _LARGEST_SIDE)  # of figures with a row per class
    if ax is None:
        ax = axes_of_none(width, height)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    ax.tick_params(length=3)
    return ax


def shown_name(name: Any) -> str:
    """Return a name as figures show it: on one line, its dollars no mathematics."""
    return class_name(name).replace("$", r"\$")


def log_scale(ax: Axes, which: str) -> None:
    """Make the x or y axis logarithmic, with plain numbers at its ticks.

    Matplotlib's own labels of minor ticks, 2 x 10^-1, overlap on a short axis. Where
    nothing positive is drawn the axis stays as it is.
    """
    if not math.isfinite(getattr(ax.dataLim, f"minpos{which}")):
        return
    getattr(ax, f"set_{which}scale")("log")
    axis = getattr(ax, f"{which}axis")
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    each = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if decades < 1.0 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=each if decades < 2.5 else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def set_title(ax: Axes, title: str, **options: Any) -> None:
    """Give the Axes a title that stays above them.

    Figures of ours break it into lines when they are drawn, at their own edges. Axes in
    somebody's grid have neighbours: there it is broken now, at the cell's width.
    """
    text = ax.set_title(title, **{"fontsize": "medium", **options})
    if not isinstance(_root(ax), TitledFigure):
        left, right = _cell(ax)
        alone = _stands_alone(ax)
        kept = _MAY_MOVE * (right - left) if alone else 0.0
        break_lines(text, left + kept, right - kept)
        # where long names at the axes leave it less, it is broken again when drawn; not
        # above a legend, which a title of more lines may leave no room in any layout
        text.set_wrap(alone and "pad" not in options)


def legend_above(ax: Axes, title: str) -> None:
    """Put title and legend above the Axes, where no data can be.

    The legend has two columns where there is room, and six rows at most.
    """
    handles, labels = ax.get_legend_handles_labels()
    columns = 2
    shown = _place_above(ax, handles, labels, columns)
    if shown.get_window_extent().x1 > _cell(ax)[1]:
        columns = 1
        shown = _place_above(ax, handles, labels, columns)
    rows = -(-len(shown.get_texts()) // columns)
    set_title(ax, title, pad=8 + 14 * rows)


def lay_out(ax: Axes) -> None:
    """Lay the figure out once before it is drawn, if it has a layout.

    Axes that hang below others shrink with them. Layouts come near the right sizes by
    every pass, and the one before drawing alone would leave labels cut.
    """
    figure = _root(ax)
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)


def _place_above(
    ax: Axes, handles: Sequence[Any], labels: Sequence[str], columns: int
) -> Legend:
    most = _MOST_ROWS * columns
    if len(labels) > most:
        last = f"{labels[most - 1]}, and {len(labels) - most} others"
        handles, labels = handles[:most], [*labels[: most - 1], last]
    return ax.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=columns,
        frameon=False,
        fontsize="small",
    )


def name_rows(
    ax: Axes,
    places: FloatArray | IntArray,
    names: Sequence[str],
    notes: Sequence[str] = (),
    **options: Any,
) -> None:
    """Name rows at the y axis: all, or as many as have room, at even distances.

    Rows whose names are left out keep their marks; the others tell where they are. The
    same rows have their `notes`, if there are any, on the other side.
    """
    each = _every(len(names), _inches(ax)[1], 1.2 * _tick_size(ax.yaxis))
    ax.set_yticks(places[::each], list(names[::each]), **options)
    for place, note in zip(places[::each], notes[::each], strict=False):
        ax.annotate(
            note,
            (1.0, float(place)),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize="small",
            va="center",
        )


def name_columns(ax: Axes, places: FloatArray | IntArray, names: Sequence[str]) -> None:
    """Name columns at the x axis in the same way, upright where they are long."""
    width, size = _inches(ax)[0], _tick_size(ax.xaxis)
    # a letter is about 0.6 times as wide as its font is high
    longest = 0.6 * size * (2 + max((len(name) for name in names), default=0))
    upright = _every(len(names), width, longest) > 1 and longest > 4.0 * size
    each = _every(len(names), width, 1.2 * size if upright else longest)
    rotation = 90.0 if upright else 0.0
    ax.set_xticks(places[::each], list(names[::each]), rotation=rotation)


def row_height(n_rows: int, *, each: float = 0.28, around: float = 1.2) -> float:
    """Return the height in inches of a new figure with this many rows."""
    return min(around + each * n_rows, _TALLEST)


def mark_size(n_marks: int) -> float:
    """Return the size of marks, in points, of which this many stand side by side."""
    return 6.0 if n_marks <= MAX_TICKS else 4.0 if n_marks <= 120 else 2.0


def _every(count: int, inches: float, points: float) -> int:
    """Return 1, 2, 5, 10, ...: every how manieth of these names has room."""
    room = max(2.0, 72.0 * inches / points)
    steps = (a * factor for factor in _POWERS_OF_TEN for a in (1, 2, 5))
    return next(step for step in steps if count / step <= room)


def _tick_size(axis: Axis) -> float:
    """Return the size of an axis's names, in points."""
    return float(axis.get_major_ticks(1)[0].label1.get_fontsize())


def _inches(ax: Axes) -> FloatArray:
    """Return width and height of the Axes, as they are before any layout."""
    size: FloatArray = np.array(ax.get_window_extent().size) / _root(ax).dpi
    return size


def _cell(ax: Axes) -> tuple[float, float]:
    """Return from where to where the Axes' title and legend may reach, in pixels.

    That is the whole of a figure with nothing beside them; among others a little less
    than the Axes, since names at them will take room before the figure is drawn.
    """
    if _stands_alone(ax):
        return 0.0, float(_root(ax).bbox.width)
    box = ax.get_window_extent()
    kept = _KEPT_FREE * float(box.width)
    return float(box.x0) + kept, float(box.x1) - kept


def _stands_alone(ax: Axes) -> bool:
    """Say whether the Axes have nothing beside them."""
    spec = ax.get_subplotspec()
    alone = spec is not None and spec.get_gridspec().ncols == 1
    return alone and ax.figure is _root(ax)


def _root(ax: Axes) -> Figure:
    figure: Any = ax.figure
    while isinstance(figure, SubFigure):
        figure = figure.figure
    assert isinstance(figure, Figure)
    return figure
