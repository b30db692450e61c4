"""Figures as SVG that stands inside a page, in the page's own colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours of matplotlib that follow the page: ink, and lines across the Axes.
_INK, _GRID = "#000000", "#e6e6e6"


def inline_svg(draw: Callable[[], Axes], name: str) -> str:
    """Return the figure as an <svg> element without links to elsewhere.

    Parameters
    ----------
    draw : callable
        Returns Axes with a figure of their own.
    name : str
        What its ids begin with: two figures of one page share none.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from distfreeuq.plots.new_figures import outside_pyplot

    out = io.StringIO()
    style: Any = {"svg.fonttype": "path", "svg.hashsalt": name, "text.usetex": False}
    with rc_context(style), outside_pyplot():
        figure = draw().get_figure()
        assert isinstance(figure, Figure)
        figure.savefig(out, format="svg", transparent=True, metadata=_NOTHING)
    return _inline(out.getvalue(), name)


_NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def _inline(text: str, name: str) -> str:
    """Return what a page needs of an SVG file: no prolog, no names of XML."""
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text, count=2)
    text = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?)\sheight="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'xlink:href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = text.replace(_INK, "currentColor").replace(_GRID, "var(--grid)")
    # what has no colour of its own is black otherwise
    return text.replace("<svg", '<svg fill="currentColor"', 1)
