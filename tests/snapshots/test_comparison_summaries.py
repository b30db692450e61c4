"""What comparisons of calibrations print, word for word."""

import numpy as np
import pytest

import distfreeuq as dfu

from .snapshot import assert_matches


def rows(n, share):
    """Return log-odds and labels that do not depend on a random number generator."""
    i = np.arange(n)
    labels = (i % 10 < share).astype(int)
    noise = ((7 * i + i * i // 3) % 23) / 3.0 - 3.5
    return np.where(labels == 1, 0.8, -2.0) + noise, labels


SOURCE, TARGET = rows(200, 2), rows(150, 6)
WEIGHT = np.array([0.4 / 0.8, 0.6 / 0.2])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (
            "comparison_of_calibrations",
            {"label_weight": WEIGHT, "calibrators": ["temperature", "platt"]},
        ),
        (
            "comparison_of_weights",
            {
                "sample_weight": {
                    "known": WEIGHT[SOURCE[1]],
                    "flattened": WEIGHT[SOURCE[1]] ** 0.5,
                }
            },
        ),
    ],
)
def test_comparisons(name, arguments):
    result = dfu.compare_calibrations(*SOURCE, *TARGET, n_rep=5, rng=0, **arguments)
    assert_matches(name, str(result))


def test_comparison_without_target_labels():
    result = dfu.compare_calibrations(*SOURCE, label_weight=WEIGHT, n_rep=1, rng=0)
    assert_matches("comparison_without_target_labels", f"{result!r}\n{result}")
