"""Newton's method on many rows, from a sample's optimum and with its Hessian.

Passes over all rows are what a fit costs. The optimum for a sample of them is a start
from which few gradients are left; the one Hessian of all rows, which standard errors
need, makes the last step, and is the caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.newton import Curvature, minimise_convex

if TYPE_CHECKING:
    from distfreeuq.calibration.data import CalibrationRows

NEAR = 1e-12
"""Squared Newton decrement at which the last Hessian is made: it is then that of the
optimum to six digits, and its step leaves the parameters right to twelve."""
_SAMPLE_PER_PARAMETER = 25
_SAMPLE_RIDGE = 1e-3
_METRIC_RIDGE = 1e-5
_SAMPLE_TOLERANCE = 1e-6


class Problem(Protocol):
    """A convex loss of rows, with a ridge."""

    @property
    def rows(self) -> CalibrationRows:
        """The rows."""

    @property
    def ridge(self) -> float:
        """Their ridge."""

    def on(self, rows: CalibrationRows, ridge: float) -> Problem:
        """Return the same problem for other rows."""

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""

    def curvature(self, theta: FloatArray) -> Curvature:
        """Return the factored Hessian."""

    def rough_curvature(self, theta: FloatArray) -> Curvature:
        """Return the factored Hessian to about six digits."""


def minimise_from_sample(
    problem: Problem, start: FloatArray, price: float
) -> FloatArray:
    """Return the parameters of smallest loss, up to one last Newton step.

    `price` is what a Hessian costs, in gradients.
    """
    metric = None
    stride = problem.rows.n // (_SAMPLE_PER_PARAMETER * start.size)
    if stride >= 3:
        rows, ridge = problem.rows.every(stride), problem.ridge
        # without a ridge, classes that the sample lacks would run off
        sample = problem.on(rows, max(ridge, _SAMPLE_RIDGE))
        start = minimise_convex(
            sample.evaluate,
            sample.rough_curvature,
            start,
            price=price,
            tolerance=_SAMPLE_TOLERANCE,
        )
        sample = problem.on(rows, max(ridge, _METRIC_RIDGE))
        metric = sample.rough_curvature(start)
    return minimise_convex(
        problem.evaluate,
        problem.curvature,
        start,
        metric=metric,
        price=price,
        tolerance=NEAR,
    )
