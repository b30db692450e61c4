"""Scenarios are made of arrays of the user's own, which are checked."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import scenarios

HALF = [0.5, 0.5]
MEANS = [[0.0, 0.0], [1.0, 1.0]]
UNIT = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("GaussianLabelShift", (5, MEANS, UNIT, HALF, HALF), "description"),
        ("GaussianLabelShift", ("a", MEANS[:1], UNIT, HALF, HALF), "means"),
        ("GaussianLabelShift", ("a", [[1e60]] * 2, [[1.0]], HALF, HALF), "means"),
        ("GaussianLabelShift", ("a", MEANS, [[1.0]], HALF, HALF), "covariance"),
        ("GaussianLabelShift", ("a", MEANS, MEANS, HALF, HALF), "covariance"),
        ("GaussianLabelShift", ("a", MEANS, [[0.0] * 2] * 2, HALF, HALF), "covariance"),
        ("GaussianLabelShift", ("a", MEANS, UNIT, [0.5, 0.6], HALF), "source_prior"),
        ("GaussianLabelShift", ("a", MEANS, UNIT, HALF, [1.0]), "target_prior"),
        ("GaussianLabelShift", ("a", MEANS, UNIT, HALF, None), "target_prior"),
        ("AtomicLabelShift", ("a", MEANS, [0.5, 1.0], HALF, HALF), "at_zero"),
        ("AtomicLabelShift", ("a", MEANS, [0.5], HALF, HALF), "at_zero"),
        ("GaussianCovariateShift", ("a", UNIT, [[1.0]], 1, 0), "target_covariance"),
        ("GaussianCovariateShift", ("a", 1.0, UNIT, 1, 0), "source_covariance"),
        ("GaussianCovariateShift", ("a", UNIT, UNIT, "1", 0), "slope"),
        ("GaussianCovariateShift", ("a", UNIT, UNIT, 1, np.nan), "intercept"),
        ("FiniteScenario", ("a", np.empty((0, 1)), [[1.0]], [[1.0]]), "points"),
        ("FiniteScenario", (None, [[0.0]], [HALF], [HALF]), "description"),
    ],
)
def test_what_no_scenario_is_made_of(name, arguments, parameter):
    with pytest.raises(dfu.InputError, match=f"^The '{parameter}' parameter of {name}"):
        getattr(scenarios, name)(*arguments)


def test_scenarios_keep_read_only_arrays_of_their_own():
    means = np.array(MEANS)
    toy = scenarios.GaussianLabelShift("own", means, UNIT, pd.Series(HALF), tuple(HALF))
    means[:] = 7.0
    np.testing.assert_array_equal(toy.means, MEANS)
    assert not toy.means.flags.writeable and toy.source_prior.dtype == np.float64


def test_rows_far_from_all_data_are_refused_by_name():
    toy = scenarios.three_gaussians()
    for call in (toy.posterior, toy.density_ratio, toy.bayes_rule):
        with pytest.raises(dfu.InputError, match=r"^The 'x' parameter of .* 1e\+50"):
            call([[1e200, 0.0]])


def test_domains_are_checked_wherever_they_are_given():
    for call in (
        scenarios.ties_everywhere().joint,
        scenarios.covariance_shift_gaussians().covariance,
    ):
        with pytest.raises(dfu.InputError, match="'domain'"):
            call("elsewhere")


def test_atoms_of_one_class_only():
    """By hand: at zero only class 0 has an atom, and the target lacks that class."""
    toy = scenarios.AtomicLabelShift("one atom", MEANS, [0.5, 0.0], HALF, [0.0, 1.0])
    at_zero = [[0.0, 0.0]]
    np.testing.assert_array_equal(toy.posterior(at_zero), [[1.0, 0.0]])
    np.testing.assert_array_equal(toy.posterior(at_zero, "target"), [[0.0, 1.0]])
    np.testing.assert_array_equal(toy.density_ratio(at_zero), [0.0])
    plain = scenarios.AtomicLabelShift("none", MEANS, [0.0, 0.0], HALF, HALF)
    e = np.exp(-1.0)  # exp(-|mean|^2 / 2)
    np.testing.assert_allclose(
        plain.posterior(at_zero), [[1 / (1 + e), e / (1 + e)]], rtol=1e-15
    )
