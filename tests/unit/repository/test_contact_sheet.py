"""Every figure of the package: nothing cut, text as text, sizes shown."""

import importlib.util
import io
import re
from pathlib import Path
from unittest import mock

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from distfreeuq import plots
from distfreeuq.plots.new_figures import outside_pyplot

pytestmark = pytest.mark.slow

SHEET = Path(__file__).parents[3] / "docs" / "contact_sheet.py"


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("contact_sheet", SHEET)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with outside_pyplot():
        return {name: draw() for name, draw in module.all_figures().items()}


def test_every_public_figure_is_drawn(figures):
    public = {name for name in plots.__all__ if name.islower()} - {"new_axes"}
    assert {name.partition("-")[0] for name in figures} == public


def test_no_figure_stands_for_another(figures):
    """Each function has words of its own; what follows a hyphen is a variant."""
    words = {}
    for name, ax in figures.items():
        own = title_of(ax), ax.get_xlabel(), ax.get_ylabel()
        words.setdefault(own, set()).add(name.partition("-")[0])
    shared = [sorted(names) for names in words.values() if len(names) > 1]
    # a band is drawn over the diagram that it belongs to
    assert shared == [["reliability_band", "reliability_diagram"]]


def title_of(ax):
    return "".join(ax.get_title(loc) for loc in ("left", "center", "right"))


def test_nothing_is_cut(figures):
    for name, ax in figures.items():
        figure = ax.figure
        FigureCanvasAgg(figure).draw()  # layout happens as a figure is drawn
        left, bottom, right, top = figure.get_tightbbox().extents
        width, height = figure.get_size_inches()
        assert left >= 0 and bottom >= 0, name
        assert right <= width + 0.01 and top <= height + 0.01, name


def drawn_outside(ax):
    """Return the texts that leave the canvas, of those that are really drawn."""
    canvas = FigureCanvasAgg(ax.figure)
    renderer = canvas.get_renderer()
    drawn = []
    draw = Text.draw

    def recording(text, renderer):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        draw(text, renderer)

    with mock.patch.object(Text, "draw", recording):
        ax.figure.draw(renderer)
    assert drawn
    width, height = canvas.get_width_height()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in drawn]
    return [
        text
        for text, box in boxes
        if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


def test_no_text_is_outside_of_the_canvas(figures):
    for name, ax in figures.items():
        assert drawn_outside(ax) == [], name


def test_axes_are_named_and_titles_tell_how_many(figures):
    for name, ax in figures.items():
        assert title_of(ax) and (ax.get_xlabel() or ax.get_ylabel()), name
        words = title_of(ax) + " ".join(t.get_text() for t in ax.get_yticklabels())
        assert re.search(r"\d", words), f"{name} shows no number of rows"


def test_legends_are_not_over_each_other(figures):
    for name, ax in figures.items():
        legend, title = ax.get_legend(), ax.title
        if legend is None:
            continue
        renderer = FigureCanvasAgg(ax.figure).get_renderer()
        box = legend.get_window_extent(renderer)
        assert not box.overlaps(title.get_window_extent(renderer)), name


def test_vector_output_keeps_text_as_text(figures):
    for name, ax in figures.items():
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
            svg = io.StringIO()
            ax.figure.savefig(svg, format="svg")
        images = svg.getvalue().count("<image")
        assert images == (1 if name == "prediction_regions" else 0), name
        first = title_of(ax).split()[0]
        assert f"{first} " in svg.getvalue() or f"{first}<" in svg.getvalue(), name


@pytest.mark.parametrize("name", ["reliability_diagram", "prediction_regions"])
def test_pdf_can_be_written(figures, name):
    pdf = io.BytesIO()
    figures[name].figure.savefig(pdf, format="pdf")
    assert pdf.getvalue().startswith(b"%PDF")
