"""Podkopaev & Ramdas (2021): sizes of label-conditional and of oracle-weight sets."""

import numpy as np
import pandas as pd
import pytest

from distfreeuq import scenarios
from vignettes.replication import paper_a_sizes as sizes


def means(scenario, n, n_rep):
    records = [r for seed in range(n_rep) for r in sizes.one_draw(scenario, n, seed)]
    return pd.DataFrame(records), pd.DataFrame(records).groupby("method").mean(
        numeric_only=True
    )


def test_label_conditional_sets_hold_in_every_class_and_cost_little():
    frame, mean = means(scenarios.three_gaussians(), 1000, 40)
    table = sizes.size_table(frame.assign(x=1))
    assert float(table["worst class: per class"].iloc[0]) > 0.88
    assert float(table["worst class: weights"].iloc[0]) < 0.83
    assert mean.loc["label-conditional", "coverage"] == pytest.approx(0.9, abs=0.012)
    ratio = mean.loc["label-conditional", "size"] / mean.loc["oracle weights", "size"]
    assert 0.95 < ratio < 1.01


def test_few_rows_and_many_classes_cost_much():
    _, few = means(scenarios.three_gaussians(), 50, 20)
    assert (
        few.loc["label-conditional", "size"] > 1.1 * few.loc["oracle weights", "size"]
    )
    _, many = means(sizes.on_a_circle(100), 1000, 2)
    assert many.loc["label-conditional", "size"] > 10.0
    assert many.loc["oracle weights", "size"] < 2.5


def test_circles_keep_neighbours_apart():
    for n_classes in (2, 7):
        scenario = sizes.on_a_circle(n_classes)
        gap = np.linalg.norm(scenario.means[0] - scenario.means[1])
        assert gap == pytest.approx(4.0)
        assert scenario.label_weight[-1] == pytest.approx(3 * scenario.label_weight[0])
