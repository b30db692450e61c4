"""Figures of theorem checks show every claim, or every experiment."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from distfreeuq import theorems
from tests.unit.theorems.test_checking import biased, theorem


@pytest.fixture(scope="module")
def one():
    return theorems.verify(theorem())


@pytest.fixture(scope="module")
def several():
    return theorems.verify([theorem(), theorem(name="false-one", draw=biased)])


def legend(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}


def test_one_theorem_has_a_row_per_claim(one):
    ax = one.plot()
    ax.figure.canvas.draw()
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["coin", "bent coin"]
    assert legend(ax) == {"holds", "control, violated", "claimed: at this"}
    dots = np.sort(np.concatenate([line.get_xdata() for line in ax.get_lines()[:2]]))
    np.testing.assert_allclose(dots, np.sort(one.to_frame()["estimate"]))
    assert "A coin is fair: holds" in ax.get_title("left")


def test_several_theorems_have_a_row_per_experiment(several):
    ax = several.plot()
    ax.figure.canvas.draw()
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [
        "fair-coin: coin",
        "fair-coin: bent coin",
        "false-one: coin",
        "false-one: bent coin",
    ]
    assert {"holds", "violated", "control, violated"} <= legend(ax)


def test_given_axes_are_used(one):
    ax = Figure().subplots()
    assert one.plot(ax=ax) is ax
