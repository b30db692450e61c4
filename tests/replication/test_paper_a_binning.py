"""Podkopaev & Ramdas (2021), figure 2(b), and CIFAR-10 with a made label shift."""

import numpy as np
import pytest
from scipy import stats

from vignettes.replication import paper_a_binning as paper_a


@pytest.fixture(scope="module")
def curves():
    """The curves of the script's own figure."""
    return paper_a.binary_curves()[1]


def test_corrected_curves_are_inside_their_bands(curves):
    for name in ("oracle weights", "BBSE weights"):
        curve = curves[curves["curve"] == name]
        assert curve["inside"].all()
        assert curve["deviation"].max() < 0.03


def test_corrected_curves_are_inside_in_most_repetitions():
    """Bands hold for all bins at once in 90 % of repetitions, judged at 1e-6."""
    n_rep, outside = 12, {"oracle weights": 0, "BBSE weights": 0}
    for seed in range(1, n_rep + 1):
        frame = paper_a.binary_curves(n_test=150_000, seed=seed)[1]
        for name in outside:
            outside[name] += not frame.loc[frame["curve"] == name, "inside"].all()
    for count in outside.values():
        assert stats.binom.sf(count - 1, n_rep, paper_a.ALPHA) > 1e-6


def test_uncorrected_curve_is_outside(curves):
    curve = curves[curves["curve"] == "uncorrected"]
    assert curve["deviation"].max() > 0.25
    assert (~curve["inside"]).sum() >= 5


def test_curves_are_drawn(curves, tmp_path):
    paper_a.draw_curves(curves, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    assert "BBSE weights" in paper_a.curve_table(curves).index


# a handful of target rows equal a calibration row that is an edge
@pytest.mark.filterwarnings("ignore::distfreeuq.RowsOnEdgesWarning")
def test_cifar10(data_folder):
    folder = data_folder("cifar10-densenet40-logits")
    table = paper_a.cifar10_table(folder, n_rep=3)
    assert table.loc["uncalibrated", "ECE"] > 0.05  # published: .0549 without a shift
    for name in ("cells", "predicted and sure"):
        plain, corrected = table.loc[name], table.loc[f"{name}, reweighted"]
        # the correction helps in every class, and even the decisions
        assert corrected["class-wise ECE"] < 0.7 * plain["class-wise ECE"]
        assert corrected["Brier"] < plain["Brier"]
        assert corrected["accuracy"] > plain["accuracy"]
    cells = table.loc["cells, reweighted"]
    assert cells["ECE"] < 0.5 * table.loc["uncalibrated", "ECE"]
    assert cells["class-wise ECE"] < table.loc["temperature", "class-wise ECE"]
    # what bins cost: cells are coarser than the classifier
    assert cells["accuracy"] < table.loc["temperature, reweighted", "accuracy"]


def test_cifar10_bounds(data_folder):
    radii = paper_a.cifar10_radii(data_folder("cifar10-densenet40-logits"))
    assert (radii["source"] < radii["target, known weights"]).all()
    assert (radii["target, known weights"] <= radii["target, BBSE region"]).all()
    assert radii.loc["top-label bins", "source"] < 0.05


def test_price_list():
    """Exact is below Weissman is below the paper; McDiarmid wins for 1000 classes."""
    prices = paper_a.price_list()
    exact = prices[["exact, even", "exact, one class"]].max(axis=1)
    assert (exact <= prices["weissman"]).all()
    assert (prices["weissman"] <= prices["hoeffding (paper)"]).all()
    many = prices["K"] == 1000
    assert (
        prices["mcdiarmid"] < prices["weissman"]
    ).to_numpy().tolist() == many.tolist()
    few = prices[prices["K"] <= 10]
    assert (few["exact, even"] < 0.93 * few["hoeffding (paper)"]).all()
    assert (few["exact, one class"] < 0.66 * few["hoeffding (paper)"]).all()
    for _, group in prices.groupby("K"):
        ratio = group["weissman"].to_numpy()
        np.testing.assert_allclose(ratio[:-1] / ratio[1:], np.sqrt(10))
