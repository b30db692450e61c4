"""Axes to draw on, and drawing: what fails in a figure fails when it is drawn."""

import sys
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
    """Return the Axes after their figure was drawn; pyplot, if in use, lets it go."""
    FigureCanvasAgg(axes.figure).draw()
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(axes.figure)
    return axes
