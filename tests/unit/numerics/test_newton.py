"""Newton's method where a loss has no minimum, or where the Hessian is expensive."""

import numpy as np
import pytest

from distfreeuq._numerics.newton import FactoredHessian, minimize_convex

NONE = np.zeros((1, 0))


class Counted:
    """A loss of one parameter that counts its Hessians."""

    def __init__(self, loss, slope, bend):
        self.loss, self.slope, self.bend = loss, slope, bend
        self.hessians = 0

    def evaluate(self, x):
        return float(self.loss(x[0])), np.array([self.slope(x[0])])

    def curvature(self, x):
        self.hessians += 1
        return FactoredHessian(np.array([[self.bend(x[0])]]), NONE)


def test_a_quadratic_needs_one_hessian():
    problem = Counted(lambda x: (x - 3) ** 2, lambda x: 2 * (x - 3), lambda x: 2.0)
    found = minimize_convex(problem.evaluate, problem.curvature, np.zeros(1))
    assert found[0] == pytest.approx(3.0, abs=1e-15)
    assert problem.hessians == 1


def test_a_variance_that_rounding_has_made_negative_is_unknown():
    """The meat is no sum of squares, as one of large numbers may be after rounding."""
    curvature = FactoredHessian(np.eye(2), np.zeros((2, 0)))
    found = curvature.sandwich(np.diag([-1e-30, 4.0]))
    np.testing.assert_array_equal(found, [np.nan, 4.0])


def test_a_loss_without_a_minimum_ends_where_rounding_does():
    """log(1 + exp(-x)) written such that it is rounded at 1e-16."""
    problem = Counted(
        lambda x: np.log(1.0 + np.exp(-x)),
        lambda x: -1.0 / (1.0 + np.exp(x)),
        lambda x: np.exp(-x) / (1.0 + np.exp(-x)) ** 2,
    )
    found = minimize_convex(problem.evaluate, problem.curvature, np.zeros(1))
    assert np.isfinite(found[0])
    assert found[0] > 30.0
    assert problem.hessians < 80


def test_a_rough_metric_is_kept_while_hessians_cost_more_than_steps():
    def quartic(price):
        problem = Counted(
            lambda x: x**2 + 0.1 * x**4,
            lambda x: 2 * x + 0.4 * x**3,
            lambda x: 2 + 1.2 * x**2,
        )
        rough = FactoredHessian(np.array([[2.2]]), NONE)
        start = np.array([0.5])
        found = minimize_convex(
            problem.evaluate, problem.curvature, start, metric=rough, price=price
        )
        assert found[0] == pytest.approx(0.0, abs=1e-9)
        return problem.hessians

    assert quartic(price=100.0) == 0
    assert quartic(price=0.1) > 0
