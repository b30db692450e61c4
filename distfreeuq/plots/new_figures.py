"""New figures: pyplot's where pyplot is in use, otherwise figures of our own.

Whoever has imported pyplot expects ``plt.savefig`` and ``plt.show`` to know what was
drawn last. Nobody else wants pyplot: it chooses a backend, and keeps every figure until
it is closed. So it is never imported here, and asked only where it is there already.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.text import Text

# Pixels that a broken title leaves free.
_MARGIN = 8.0

_of_our_own: ContextVar[bool] = ContextVar("_of_our_own", default=False)


class TitledFigure(Figure):
    """A figure whose titles are broken into lines where they would leave it.

    They are broken as the figure is drawn: before, nobody knows how much room the names
    at the axes take.
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
                    break_lines(title, 0.0, self.bbox.width, renderer)
        super().draw(renderer)


class ShownFigure(TitledFigure):
    """A figure that notebooks show though pyplot does not know it."""

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


def axes_of_none(
    width: float,
    height: float,
    place: tuple[float, float, float, float] | None = None,
) -> Axes:
    """Return the Axes to draw on where none were given.

    Parameters
    ----------
    width, height : float
        Of a new figure, in inches.
    place : (left, bottom, width, height), optional
        Of the Axes in a new figure, as shares of it; by default what a layout engine
        gives them.
    """
    pyplot = _pyplot()
    size: dict[str, Any] = {"figsize": (width, height), "dpi": 120}
    shown: dict[str, Any] = {}
    if place is None:
        size["layout"] = "constrained"
    if pyplot is None:
        figure: Figure = ShownFigure(**size)
        shown["axes_class"] = ShownAxes
    else:
        waiting = _empty_axes(pyplot)
        if waiting is not None:
            return waiting
        # notebooks show pyplot's figures by themselves: a second image is not wanted
        figure = pyplot.figure(FigureClass=TitledFigure, **size)
    ax: Axes
    if place is None:
        ax = figure.add_subplot(**shown)
    else:
        ax = figure.add_axes(place, **shown)
    return ax


@contextmanager
def outside_pyplot() -> Iterator[None]:
    """Draw on figures of our own, whether pyplot is in use or not."""
    token = _of_our_own.set(True)
    try:
        yield
    finally:
        _of_our_own.reset(token)


def _pyplot() -> Any:
    """Return pyplot if somebody has imported it; it is for the main thread alone."""
    if _of_our_own.get() or threading.current_thread() is not threading.main_thread():
        return None
    pyplot = sys.modules.get("matplotlib.pyplot")
    # in the middle of its own import it cannot make figures yet
    return pyplot if hasattr(pyplot, "figure") else None


def _empty_axes(pyplot: Any) -> Axes | None:
    """Return pyplot's current Axes, made if need be, if nothing is drawn there."""
    if not pyplot.get_fignums():
        return None
    figure: Figure = pyplot.gcf()
    if not figure.axes:
        return figure.add_subplot() if _is_blank(figure) else None
    ax = figure.gca()
    plain = ax.name == "rectilinear" and ax.axison
    return ax if plain and not ax.has_data() else None


def _is_blank(figure: Figure) -> bool:
    """Whether a figure without Axes has nothing else either."""
    return not (figure.texts or figure.images or figure.lines or figure.subfigs)


def break_lines(
    text: Text, left: float, right: float, renderer: RendererBase | None = None
) -> None:
    """Break a text at spaces, so that no line goes beyond these pixels."""
    box = text.get_window_extent(renderer)
    if not text.get_text() or (box.x0 >= left and box.x1 <= right):
        return
    anchor = text.get_transform().transform(text.get_position())[0]
    sides = {"left": right - anchor, "right": anchor - left}
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
