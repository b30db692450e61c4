"""Axes to draw on, and drawing: what fails in a figure fails when it is drawn."""

from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.fuzz.kinds import Argument, same
from tests.fuzz.samples import Sample


def ax(s: Sample) -> Argument:
    if s.r.random() < 0.7:
        return same(None)
    return same(Figure().add_subplot())


def drawn(axes: Any) -> Any:
    """Return the Axes after their figure was drawn."""
    FigureCanvasAgg(axes.figure).draw()
    return axes
