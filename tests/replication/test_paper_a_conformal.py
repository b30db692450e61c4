"""Podkopaev & Ramdas (2021), figure 1(c) and 1(d), with fewer repetitions."""

import numpy as np
import pytest

from vignettes.replication import paper_a_conformal as paper_a


def mean_and_error(frame, method, column="coverage"):
    values = frame.loc[frame["method"] == method, column]
    return values.mean(), values.std() / np.sqrt(len(values))


@pytest.fixture(scope="module")
def toy():
    return paper_a.compare(paper_a.toy_draws(200), 200, progress=False)


def test_uncorrected_sets_fall_short_on_the_toy(toy):
    mean, error = mean_and_error(toy, "uncorrected")
    assert 0.83 < mean < 0.86  # .845 at n = 100 by an independent simulation
    assert mean < 0.9 - 10 * error


@pytest.mark.parametrize("method", ["oracle weights", "BBSE weights"])
def test_weighted_sets_reach_the_level_on_the_toy(toy, method):
    mean, error = mean_and_error(toy, method)
    assert 0.9 - 5 * error < mean < 0.905 + 5 * error


def test_label_conditional_sets_reach_it_in_every_class(toy):
    for k in range(3):
        mean, error = mean_and_error(toy, "label-conditional", f"class {k}")
        assert 0.9 - 5 * error < mean < 0.91 + 5 * error
        weighted, error = mean_and_error(toy, "oracle weights", f"class {k}")
        assert abs(weighted - 0.9) > 5 * error  # on average over classes only


@pytest.mark.slow
def test_wines(data_folder):
    draws = paper_a.wine_draws(data_folder("wine-quality-white"), 20)
    wine = paper_a.compare(draws, 20, progress=False)
    uncorrected, error = mean_and_error(wine, "uncorrected")
    assert uncorrected < 0.9 - 2 * error
    for method in ("oracle weights", "BBSE weights", "label-conditional"):
        mean, error = mean_and_error(wine, method)
        assert abs(mean - 0.9) < 5 * error
    assert "median" in paper_a.table(wine).columns
