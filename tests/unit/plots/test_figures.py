"""Figures show what the results hold, and change nobody's matplotlib state."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import distfreeuq as dfu
from distfreeuq import plots
from distfreeuq.plots.new_figures import outside_pyplot


@pytest.fixture(scope="module")
def fit_and_sets():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2, 1, 1, 0.5], size=800)
    labels = np.array([rng.choice(4, p=row) for row in probs])
    fit = dfu.split_conformal(probs[:400], labels[:400], rng=1)
    sets = fit.predict(probs[400:])
    return fit, sets, sets.evaluate(labels[400:])


@pytest.fixture(autouse=True)
def untouched_state():
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before


def draw_on_canvas(ax):
    FigureCanvasAgg(ax.figure).draw()
    return ax


def test_calibration_scores_show_threshold_and_level(fit_and_sets):
    fit, _, _ = fit_and_sets
    ax = draw_on_canvas(fit.plot())
    step, level, threshold = ax.get_lines()
    np.testing.assert_array_equal(step.get_xdata(), fit.scores)
    assert level.get_ydata()[0] == 0.9
    assert threshold.get_xdata()[0] == fit.thresholds[0]
    assert "n = 400" in ax.get_title()


def test_infinite_threshold_is_not_drawn():
    with pytest.warns(dfu.SmallCalibrationWarning):
        fit = dfu.split_conformal([[0.7, 0.3]] * 5, [0] * 5, rng=0)
    assert len(draw_on_canvas(fit.plot()).get_lines()) == 2


def test_class_thresholds_are_shown_as_a_band(fit_and_sets):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2, 1, 1], size=300)
    labels = [rng.choice(3, p=row) for row in probs]
    fit = dfu.label_conditional_conformal(probs, labels, alpha=[0.1, 0.2, 0.3], rng=1)
    ax = draw_on_canvas(fit.plot())
    assert any("thresholds" in text.get_text() for text in ax.get_legend().get_texts())


def test_set_sizes_are_shares_of_all_rows(fit_and_sets):
    _, sets, coverage = fit_and_sets
    for drawn in (sets.plot(), coverage.plot(kind="sizes")):
        ax = draw_on_canvas(drawn)
        heights = [bar.get_height() for bar in ax.patches]
        assert sum(heights) == pytest.approx(1.0)
        counts = np.bincount(sets.sizes)
        np.testing.assert_allclose(heights, counts / counts.sum())


def test_the_legend_of_set_sizes_stands_beside_the_bars():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2, 2], size=300)
    labels = rng.integers(0, 2, size=300)  # nothing to tell: most sets hold both
    sets = dfu.split_conformal(probs, labels, score="lac").predict(probs)
    ax = draw_on_canvas(sets.plot())
    renderer = ax.figure.canvas.get_renderer()
    legend = ax.get_legend().get_window_extent(renderer)
    assert max(bar.get_height() for bar in ax.patches) > 0.6
    for bar in ax.patches:
        assert not legend.overlaps(bar.get_window_extent(renderer))


def test_class_coverage_has_a_row_per_class_seen(fit_and_sets):
    _, _, coverage = fit_and_sets
    ax = draw_on_canvas(coverage.plot())
    assert len(ax.get_yticklabels()) == 4
    with pytest.raises(dfu.InputError, match="'kind' parameter"):
        coverage.plot(kind="shoe size")


def test_coverage_histogram_counts_every_repetition():
    rng = np.random.default_rng(0)
    values = {
        "plain": rng.normal(0.85, 0.01, 500),
        "weighted": rng.normal(0.9, 0.01, 500),
    }
    ax = draw_on_canvas(plots.coverage_histogram(values, 0.9))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["plain", "weighted"]
    medians = [text.get_text() for text in ax.texts]
    assert medians == [f"median {np.median(v):.3f}" for v in values.values()]
    assert "500 repetitions" in ax.get_title()


def test_given_axes_are_used(fit_and_sets):
    fit, sets, coverage = fit_and_sets
    for result in (fit, sets, coverage):
        ax = Figure().subplots()
        assert result.plot(ax=ax) is ax


def test_empty_sets_can_be_drawn(fit_and_sets):
    fit, _, _ = fit_and_sets
    draw_on_canvas(fit.predict(np.empty((0, 4))).plot())


def test_notebooks_show_the_figure_without_pyplot(fit_and_sets):
    with outside_pyplot():
        ax = fit_and_sets[0].plot()
    image, size = ax._repr_png_()
    assert image.startswith(b"\x89PNG") and image == ax.figure._repr_png_()[0]
    pixels = int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")
    assert pixels == (2 * size["width"], 2 * size["height"])
