"""Figures of assessments and simulations show the numbers they are given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import distfreeuq as dfu
from distfreeuq import metrics, plots, scenarios
from tests.unit.plots.test_figures import draw_on_canvas, untouched_state  # noqa: F401


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.4, 1.0, 500)
    return metrics.reliability(confidence, rng.random(500) < confidence**2, n_bins=10)


def test_reliability_bars_are_the_occupied_bins(table):
    ax = draw_on_canvas(table.plot())
    accuracy = [bar.get_height() for bar in ax.containers[0]]
    gaps = [bar.get_height() for bar in ax.containers[1]]
    used = table.weight > 0
    assert 0 < used.sum() < table.n_bins
    np.testing.assert_allclose(accuracy, table.accuracy[used])
    np.testing.assert_allclose(gaps, table.gap[used])
    assert "500 rows" in ax.get_title() and f"{table.ece:.3f}" in ax.get_title()
    shares = [bar.get_height() for bar in ax.child_axes[0].containers[0]]
    assert sum(shares) == pytest.approx(1.0)


def test_reliability_curve_and_given_axes(table):
    ax = Figure().subplots()
    assert table.plot(ax=ax, kind="curve") is ax
    curve = ax.get_lines()[-1]
    np.testing.assert_allclose(curve.get_ydata(), table.accuracy[table.weight > 0])
    with pytest.raises(dfu.InputError, match="kind"):
        table.plot(kind="pie")


def test_nothing_of_a_reliability_diagram_is_cut(table):
    figure = draw_on_canvas(table.plot()).figure
    box = figure.get_tightbbox().extents
    width, height = figure.get_size_inches()
    assert box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height


def test_comparison_draws_a_marker_per_classifier():
    rng = np.random.default_rng(1)
    p = rng.random(200)
    labels = (rng.random(200) < p).astype(int)
    result = dfu.compare({"a": p, "b": p**2}, labels, n_boot=20, rng=0)
    ax = draw_on_canvas(result.plot())
    j = result.metrics.index("ece")
    marked = [line.get_xdata()[0] for line in ax.get_lines()[1:]]
    np.testing.assert_allclose(marked, result.differences[:, j])
    with pytest.raises(dfu.InputError, match="metric"):
        result.plot(metric="f1")


def test_regions_and_levels():
    toy = scenarios.three_gaussians()
    x, labels = toy.sample(300, "source", rng=0)
    probs = toy.posterior(x)
    fit = dfu.split_conformal(probs, labels, rng=0)
    ax = draw_on_canvas(
        plots.prediction_regions(fit, toy.posterior, x, labels, n_grid=20)
    )
    points = sum(
        len(c.get_offsets()) for c in ax.collections if c.get_label()[0] == "l"
    )
    assert points == 300
    alphas = [0.1, 0.3]
    results = [
        dfu.split_conformal(probs, labels, alpha=a, rng=0)
        .predict(probs)
        .evaluate(labels)
        for a in alphas
    ]
    ax = draw_on_canvas(plots.coverage_against_alpha(alphas, results))
    drawn = ax.get_lines()[0].get_ydata()
    np.testing.assert_allclose(drawn, [result.coverage for result in results])


def test_importance_weights_say_what_they_are_worth():
    ax = draw_on_canvas(plots.importance_weights([1.0, 1.0, 1.0, 3.0]))
    assert "4 rows worth 3 (75%), largest 2.0" in ax.get_title()  # 36 / 12


def test_losses_and_bounds():
    ax = draw_on_canvas(plots.loss_curves({"loss": [3.0, 2.0, 1.5]}))
    assert ax.get_lines()[0].get_ydata().tolist() == [3.0, 2.0, 1.5]
    assert "3 epochs" in ax.get_title()
    errors = np.array([[0.1, 0.2, 0.3], [0.01, 0.02, 0.03]])
    ax = draw_on_canvas(plots.bounds_against_n([10, 100], errors, {"bound": [1, 0.1]}))
    assert ax.get_lines()[0].get_ydata().tolist() == [0.2, 0.02]
