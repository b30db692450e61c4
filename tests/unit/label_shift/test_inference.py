"""Intervals, regions and tests of estimated weights."""

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.anderson_rubin import (
    AndersonRubin,
    anderson_rubin_intervals,
)
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.label_shift.inference.resampled_weights import percentile_intervals
from distfreeuq.label_shift.inference.shift_test import compare_means


@pytest.mark.slow
def test_resamples_do_not_depend_on_the_number_of_processes(data):
    fit = dfu.mlls(*data)
    one = fit.confint(0.1, "bootstrap", n_boot=8, rng=3)
    two = fit.confint(0.1, "bootstrap", n_boot=8, rng=3, n_jobs=2)
    np.testing.assert_array_equal(one, two)
    other = fit.confint(0.1, "bootstrap", n_boot=8, rng=4)
    assert (one != other).any()


def test_unsolvable_resamples_widen_the_interval():
    replicates = np.vstack([np.full((19, 2), 1.0), np.full((1, 2), np.nan)])
    np.testing.assert_array_equal(
        percentile_intervals(replicates, 0.05), [[0.0, np.inf]] * 2
    )
    np.testing.assert_array_equal(
        percentile_intervals(replicates[:-1], 0.05), [[1.0, 1.0]] * 2
    )


def test_methods_that_an_estimator_lacks_are_refused(data):
    with pytest.raises(dfu.InputError, match="MLLS"):
        dfu.mlls(*data).confint(0.1, "finite-sample")
    for fit in (dfu.mlls(*data), dfu.bbse(*data, soft=True)):
        with pytest.raises(dfu.InputError, match="soft"):
            fit.confint(0.1, "anderson-rubin")
    with pytest.raises(dfu.InputError, match="method"):
        dfu.bbse(*data).confint(0.1, "wald")
    with pytest.raises(dfu.InputError, match="alpha"):
        dfu.bbse(*data).confint(1.5)
    with pytest.raises(dfu.InputError, match="delta"):
        dfu.bbse(*data).region(0.0)


@pytest.mark.parametrize(
    ("joint", "target"),
    [([[80, 20], [25, 75]], [30, 70]), ([[60, 45], [45, 50]], [52, 48])],
    ids=["good", "weak"],
)
def test_anderson_rubin_intervals_are_the_region_projected(joint, target):
    confusion = Confusion(np.array(joint), np.array(target), 200, 100, False)
    test, limit = AndersonRubin(confusion), special.chdtri(2, 0.1)
    grid = np.linspace(0.0, 4.0, 161)
    inside = np.array(
        [[test.statistic(np.array([a, b])) <= limit for b in grid] for a in grid]
    )
    first, second = grid[inside.any(axis=1)], grid[inside.any(axis=0)]
    want = [[first.min(), first.max()], [second.min(), second.max()]]
    got = anderson_rubin_intervals(confusion, 0.1)
    np.testing.assert_allclose(got, want, atol=0.025)
    # the wider for what is on the grid
    assert (got[:, 0] <= np.array(want)[:, 0] + 1e-6).all()
    assert (got[:, 1] >= np.array(want)[:, 1] - 1e-6).all()


def test_an_empty_anderson_rubin_region_is_told():
    # the source's predictions hardly depend on the class, the target's are one-sided
    joint = np.array([[500, 500], [500, 510]])
    confusion = Confusion(joint, np.array([1000, 10]), 2010, 1010, False)
    with pytest.warns(dfu.DistFreeWarning, match="label shift is contradicted"):
        ends = anderson_rubin_intervals(confusion, 0.05)
    np.testing.assert_array_equal(ends[:, 0], ends[:, 1])
    assert exact_region(confusion, 0.05).is_empty


def test_regions_say_what_kind_they_are(data):
    hard, soft = dfu.bbse(*data).region(0.1), dfu.bbse(*data, soft=True).region(0.1)
    likelihood = dfu.mlls(*data).region(0.1)
    assert isinstance(hard, dfu.Polytope)
    assert isinstance(soft, dfu.Box)
    assert isinstance(likelihood, dfu.Box)
    assert (hard.finite_sample, soft.finite_sample, likelihood.finite_sample) == (
        True,
        True,
        False,
    )
    assert hard.contains(dfu.bbse(*data).raw)


def test_equal_samples_show_no_shift(data):
    probs, labels, _ = data
    for fit in (
        dfu.bbse(probs, labels, probs),
        dfu.bbse(probs, labels, probs, soft=True),
    ):
        assert fit.test().statistic == pytest.approx(0.0, abs=1e-9)
        assert fit.test().p_value == pytest.approx(1.0)
        np.testing.assert_allclose(fit.label_weight, 1.0, rtol=1e-9)


def test_the_mean_test_is_the_squared_t_statistic_for_two_classes():
    a, b = np.array([0.2, 0.4, 0.9, 0.5]), np.array([0.7, 0.8, 0.6])
    both = [np.column_stack([x, 1 - x]) for x in (a, b)]
    test = compare_means(*map(RowsInMemory.of, both))
    pooled = np.concatenate([a, b]).var()
    want = (a.mean() - b.mean()) ** 2 / (pooled * (1 / 4 + 1 / 3))
    assert test.statistic == pytest.approx(want)
    assert test.df == 1
