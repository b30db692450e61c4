"""What density ratios print, word for word."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu

from .snapshot import assert_matches


def grid(n: int, shift: float) -> pd.DataFrame:
    """Return rows that do not depend on a random number generator."""
    i = np.arange(n)
    age = 40.0 + 12.0 * np.sin(1.7 * i) + 5.0 * np.cos(0.3 * i * i) + shift
    return pd.DataFrame({"age": age, "income": 2.0 + np.cos(2.3 * i), "flag": 1.0})


SOURCE, TARGET = grid(120, 0.0), grid(90, 9.0)


def test_logistic():
    fit = dfu.density_ratio(SOURCE, TARGET, rng=0)
    assert_matches("density_ratio_logistic", str(fit))


def test_neighbours_flattened_and_clipped():
    fit = dfu.density_ratio(
        SOURCE, TARGET, method="knn", n_neighbors=10, flatten=0.5, clip=(0.2, "95%")
    )
    assert_matches("density_ratio_knn", str(fit))


def test_least_squares():
    fit = dfu.density_ratio(
        SOURCE, TARGET, method="ulsif", bandwidth=1.0, ridge=0.1, normalize=False, rng=0
    )
    assert_matches("density_ratio_ulsif", str(fit))


def test_separated_samples():
    with pytest.warns(dfu.SupportWarning):
        fit = dfu.density_ratio(SOURCE, grid(90, 500.0), rng=0)
    assert_matches("density_ratio_separated", str(fit))


def test_conformal_sets_with_estimated_weights():
    ratio = dfu.density_ratio(SOURCE, TARGET, rng=0)
    p1 = 1.0 / (1.0 + np.exp(-(SOURCE["age"] - 40.0) / 8.0))
    labels = (np.arange(120) % 3 > 0).astype(int)
    fit = dfu.covariate_shift_conformal(p1, labels, ratio, score="lac")
    assert_matches("covariate_shift_conformal_estimated", str(fit))


def test_one_line():
    fit = dfu.density_ratio(SOURCE, TARGET, method="knn")
    assert_matches("density_ratio_one_line", repr(fit))
