"""The style of all figures: colours, lines, and a new Axes.

Colours are Okabe and Ito's, which colour-blind readers tell apart; lines and markers
also differ in form, for print in grey.
"""

from __future__ import annotations

import io
import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.arrays import describe
from distfreeuq._base.printing import class_name

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GRAY = "#CC79A7", "#56B4E9", "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
MARKERS = "os^Dv*"

NOMINAL: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}
MAX_TICKS = 24

# Pixels that a broken title leaves free.
_MARGIN = 8.0

# A side of 65,536 pixels is more than matplotlib draws.
_LARGEST_SIDE = 500.0

MOST_BARS = 10_000
"""Bins of a histogram, beyond which no screen shows them."""


class ShownFigure(Figure):
    """A figure that notebooks show though pyplot does not know it.

    Titles that are wider than the figure are broken into lines as it is drawn: before,
    nobody knows how much room the names at the axes take.
    """

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure, its titles on as many lines as they need."""
        layout = self.get_layout_engine()
        if layout is not None:
            layout.execute(self)
        for ax in self.axes:
            texts = [text for text in ax.get_children() if isinstance(text, Text)]
            for title in texts:
                if title not in ax.texts:
                    break_lines(title, self.bbox.width, renderer)
        super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=2 * self.dpi)  # for dense screens
        width, height = self.get_size_inches() * self.dpi
        return image.getvalue(), {"width": round(width), "height": round(height)}


class ShownAxes(Axes):
    """Axes that notebooks show as their figure, so that ``fit.plot()`` is enough."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        figure = self.get_figure()
        assert isinstance(figure, ShownFigure)
        return figure._repr_png_()


def new_axes(
    ax: Axes | None, *, width: float = 6.0, height: float = 3.8, grid: str = "y"
) -> Axes:
    """Return the Axes to draw on, in the house style.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        None: those of a new figure.
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
        figure = ShownFigure(figsize=(width, height), dpi=120, layout="constrained")
        ax = figure.add_subplot(axes_class=ShownAxes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    ax.tick_params(length=3)
    return ax


def shown_name(name: Any) -> str:
    """Return a name as figures show it: on one line, its dollars no mathematics."""
    return class_name(name).replace("$", r"\$")


def break_lines(text: Text, width: float, renderer: RendererBase) -> None:
    """Break a text at spaces, so that no line leaves a canvas of this many pixels."""
    box = text.get_window_extent(renderer)
    if not text.get_text() or (box.x0 >= 0.0 and box.x1 <= width):
        return
    anchor = text.get_transform().transform(text.get_position())[0]
    sides = {"left": width - anchor, "right": anchor}
    both = 2.0 * min(sides.values())
    room = sides.get(text.get_horizontalalignment(), both)
    lines: list[str] = []
    for word in text.get_text().split():
        longer = f"{lines[-1]} {word}" if lines else word
        text.set_text(longer)
        if lines and text.get_window_extent(renderer).width <= room - _MARGIN:
            lines[-1] = longer
        else:
            lines.append(word)
    text.set_text("\n".join(lines))


def log_scale(ax: Axes, which: str) -> None:
    """Make the x or y axis logarithmic, with plain numbers at its ticks.

    Matplotlib's own labels of minor ticks, 2 x 10^-1, overlap on a short axis.
    """
    getattr(ax, f"set_{which}scale")("log")
    axis = getattr(ax, f"{which}axis")
    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low)
    each = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if decades < 1.0 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=each if decades < 2.5 else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def legend_above(ax: Axes, title: str) -> None:
    """Put title and legend above the Axes, where no data can be."""
    handles, _ = ax.get_legend_handles_labels()
    rows = (len(handles) + 1) // 2
    ax.set_title(title, fontsize="medium", pad=8 + 14 * rows)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=2,
        frameon=False,
        fontsize="small",
    )
