"""Newton's method on many rows, from a sample's optimum and with its Hessian.

Passes over all rows are what a fit costs. The optimum for a sample of them is a start
from which few gradients are left; the one Hessian of all rows, which standard errors
need, makes the last step, and is the caller's.
"""

from __future__ import annotations

from typing import Any, Protocol

from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.newton import FactoredHessian, minimize_convex

# Squared Newton decrement at which the last Hessian is made: it is then that of the
# optimum to six digits, and its step leaves the parameters right to twelve.
NEAR = 1e-12
# Size of the sample, and squared decrement at which its fit ends.
_SAMPLE_PER_PARAMETER = 25
_SAMPLE_TOLERANCE = 1e-6
# Least ridges of the sample's fit, and of its Hessian at the start of the other.
_SAMPLE_RIDGE = 1e-3
_METRIC_RIDGE = 1e-5


class Rows(Protocol):
    """Rows that a sample can be taken from."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def total_weight(self) -> float:
        """Sum of their weights."""

    def every(self, stride: int) -> Any:
        """Return every stride-th row."""


class Problem(Protocol):
    """A convex loss of rows, with a ridge."""

    @property
    def rows(self) -> Rows:
        """The rows."""

    @property
    def ridge(self) -> float:
        """Their ridge."""

    def on(self, rows: Any, ridge: float) -> Problem:
        """Return the same problem for other rows."""

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""

    def curvature(self, theta: FloatArray) -> FactoredHessian:
        """Return the factored Hessian."""

    def rough_curvature(self, theta: FloatArray) -> FactoredHessian:
        """Return the factored Hessian to about six digits."""


def minimize_from_sample(
    problem: Problem, start: FloatArray, price: float
) -> FloatArray:
    """Return the parameters of smallest loss, up to one last Newton step.

    `price` is what a Hessian costs, in gradients.
    """
    metric = None
    stride = problem.rows.n // (_SAMPLE_PER_PARAMETER * start.size)
    rows = problem.rows.every(stride) if stride >= 3 else None
    if rows is not None and rows.total_weight > 0.0:  # it may lack all that weigh
        ridge = problem.ridge
        # without a ridge, parameters of classes that the sample lacks would diverge
        sample = problem.on(rows, max(ridge, _SAMPLE_RIDGE))
        start = minimize_convex(
            sample.evaluate,
            sample.rough_curvature,
            start,
            price=price,
            tolerance=_SAMPLE_TOLERANCE,
        )
        sample = problem.on(rows, max(ridge, _METRIC_RIDGE))
        metric = sample.rough_curvature(start)
    return minimize_convex(
        problem.evaluate,
        problem.curvature,
        start,
        metric=metric,
        price=price,
        tolerance=NEAR,
    )
