"""A hundred classes, a thousand, and a cell of somebody's grid: names stay readable."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import distfreeuq as dfu
from distfreeuq import plots
from distfreeuq.plots.new_figures import outside_pyplot


def rows(n_classes, seed, n=1500):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += 5.0 + np.log(n_classes) / 3
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    names = np.array([f"name of {k}" for k in range(n_classes)])
    return probs / probs.sum(axis=1, keepdims=True), names[labels], logits, names


def class_weights(k):
    probs, labels, _, names = rows(k, 0)
    return dfu.bbse(probs, labels, rows(k, 1)[0], classes=names).plot


def class_coverage(k):
    probs, labels, _, names = rows(k, 0)
    sets = dfu.split_conformal(probs, labels, classes=names, rng=0).predict(probs)
    achieved = sets.evaluate(labels)
    return lambda **given: achieved.plot(kind="classes", **given)


def class_tally(k):
    probs, labels, _, names = rows(k, 0)
    return dfu.tally(probs, labels, classes=names).plot


def class_parameters(k):
    _, labels, logits, names = rows(k, 0)
    fit = dfu.vector_scaling(logits, labels, ridge=1.0, classes=names)
    return lambda **given: plots.calibration_parameters(fit, **given)


def class_numbers(k):
    rng, names = np.random.default_rng(0), rows(k, 0)[3]
    values = {"one": rng.random(k), "other": rng.random(k)}
    return lambda **given: plots.class_comparison(values, classes=names, **given)


def largest_weights(k):
    runs = np.random.default_rng(0).random((5, k))
    return lambda **given: plots.weights_over_runs(runs, largest=k, **given)


def histograms(k):
    rng = np.random.default_rng(0)
    given = {f"method {i}": rng.random(40) for i in range(k)}
    return lambda **where: plots.coverage_histogram(given, 0.9, **where)


def methods(k):
    probs, labels, _, names = rows(5, 0)
    sets = dfu.split_conformal(probs, labels, classes=names, rng=0).predict(probs)
    given = {f"method {i}": sets.evaluate(labels) for i in range(k)}
    return lambda **where: plots.coverage_by_method(given, **where)


FIGURES = [
    class_weights,
    class_coverage,
    class_tally,
    class_parameters,
    class_numbers,
    largest_weights,
    histograms,
    methods,
]


def boxes_of_names(ax):
    """Return the extents of the names that are drawn, an axis at a time."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    for labels, side in ((ax.get_xticklabels(), "x"), (ax.get_yticklabels(), "y")):
        boxes = [text.get_window_extent(renderer) for text in labels if text.get_text()]
        yield sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in boxes)


def overlapping(ax):
    """Return how many names run into the next."""
    return sum(
        one[1] > other[0] + 0.5
        for boxes in boxes_of_names(ax)
        for one, other in pairwise(boxes)
    )


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_a_hundred_classes_fit_a_screen(draw):
    with outside_pyplot():
        ax = draw(100)()
    assert ax.figure.get_size_inches().max() <= 12.0
    assert overlapping(ax) == 0
    assert max(len(boxes) for boxes in boxes_of_names(ax)) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("draw", [class_tally, class_numbers])
def test_a_thousand_classes_fit_a_screen(draw):
    with outside_pyplot():
        ax = draw(1000)()
    assert ax.figure.get_size_inches().max() <= 12.0
    assert overlapping(ax) == 0


@pytest.mark.slow
@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_names_and_titles_stay_apart_in_a_grid(draw):
    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    grid = figure.subplots(2, 2)
    plot, (left, right) = draw(100), grid[0]
    for ax in (left, right):
        assert plot(ax=ax) is ax
        assert overlapping(ax) == 0
    renderer = FigureCanvasAgg(figure).get_renderer()
    titles = [ax.title.get_window_extent(renderer) for ax in (left, right)]
    assert titles[0].x1 < titles[1].x0
    assert titles[0].x0 >= 0.0 and titles[1].x1 <= figure.bbox.width


def test_axes_may_be_shared():
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    plot = class_coverage(3)
    for ax in axes:
        plot(ax=ax)
    FigureCanvasAgg(figure).draw()
    first = axes[0].get_yticklabels()[0].get_text()
    assert first.startswith("name of 0")


def test_a_legend_names_the_first_and_counts_the_others():
    rng = np.random.default_rng(0)
    confidence = rng.random(400)
    table = dfu.metrics.reliability(confidence, rng.random(400) < confidence)
    with outside_pyplot():
        ax = plots.reliability_curves({f"curve {i}": table for i in range(100)})
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(texts) == 12 and texts[-1].endswith(", and 89 others")
    assert texts[0] == "calibrated" and texts[1].startswith("curve 0")
