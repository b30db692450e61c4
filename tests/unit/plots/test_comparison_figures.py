"""Several methods in one figure, and weights over runs, show the numbers given."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics, plots
from tests.unit.plots.test_figures import draw_on_canvas, untouched_state  # noqa: F401
from tests.unit.repository.test_contact_sheet import drawn_outside


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 1.0, 400)
    return {
        name: metrics.reliability(p, rng.random(400) < p**power, n_bins=10)
        for name, power in (("one", 1.0), ("two $", 2.0))
    }


def test_each_table_is_a_curve_with_its_error(tables):
    ax = draw_on_canvas(plots.reliability_curves(tables))
    for line, (name, table) in zip(ax.get_lines()[1:], tables.items(), strict=True):
        used = table.weight > 0
        np.testing.assert_allclose(line.get_xdata(), table.mean_confidence[used])
        np.testing.assert_allclose(line.get_ydata(), table.accuracy[used])
        assert line.get_label().startswith(name.replace("$", "\\$"))
        assert f"{table.ece:.3f}" in line.get_label()
    assert "400 rows" in ax.get_title() and not ax.collections
    ax = draw_on_canvas(plots.reliability_curves(tables, intervals=True))
    drawn = ax.collections[0].get_segments()
    first = tables["one"]
    ends = np.column_stack([first.low, first.high])[first.weight > 0]
    np.testing.assert_allclose([part[:, 1] for part in drawn], ends)
    assert "95%" in ax.get_title()


def test_bars_by_class_are_means_over_runs():
    runs = np.array([[0.1, np.nan, 0.2], [0.3, np.nan, 0.2]])
    ax = draw_on_canvas(plots.class_comparison({"a": runs, "b": [0.1, 0.2, 0.3]}))
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, [0.2, np.nan, 0.2, 0.1, 0.2, 0.3])
    assert "sd of 2 runs" in ax.get_title()
    many = plots.class_comparison({"a": np.ones((2, 40))}, what="accuracy")
    assert not many.patches and draw_on_canvas(many).get_ylabel() == "accuracy"
    names = [f"a class with a long name {k}" for k in range(6)]
    assert drawn_outside(plots.class_comparison({"a": [1] * 6}, classes=names)) == []


def test_the_largest_weights_are_in_the_order_of_their_means():
    runs = [[1.0, 5.0, 0.5, 2.0], [3.0, 1.0, 0.5, 2.0], [2.0, 3.0, 0.5, 2.0]]
    ax = draw_on_canvas(plots.weights_over_runs(runs, largest=3))
    medians = ax.get_lines()[-1].get_ydata()
    assert medians.tolist() == [3.0, 2.0, 2.0]  # rows 1, 0 and 3
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "0", "3"]
    ends = [part[:, 1].tolist() for part in ax.collections[0].get_segments()]
    assert ends == [[1.0, 5.0], [1.0, 3.0], [2.0, 2.0]]
    assert "3 largest of 4 weights over 3 runs" in ax.get_title()
    named = plots.weights_over_runs(runs, names=["w", "x", "y", "z"])
    assert named.get_xticklabels()[0].get_text() == "x"


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: plots.reliability_curves({}), "tables"),
        (lambda: plots.reliability_curves({"a": 3}), "tables"),
        (lambda: plots.class_comparison({}), "values"),
        (lambda: plots.class_comparison({"a": [1.0], "b": [1.0, 2.0]}), "values"),
        (lambda: plots.class_comparison({"a": [[[1.0]]]}), "values"),
        (lambda: plots.class_comparison({"a": [1.0]}, classes=["x", "y"]), "classes"),
        (lambda: plots.weights_over_runs([1.0, 2.0]), "weights"),
        (lambda: plots.weights_over_runs([[1.0, -2.0]]), "weights"),
        (lambda: plots.weights_over_runs([[1.0]], names=["x", "y"]), "names"),
        (lambda: plots.weights_over_runs([[1.0]], names="x"), "names"),
        (lambda: plots.weights_over_runs([[1.0]], largest=0), "largest"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, parameter):
    with pytest.raises(dfu.InputError, match=f"^The '{parameter}' parameter of "):
        call()
