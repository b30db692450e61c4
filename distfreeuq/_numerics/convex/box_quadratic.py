"""Convex quadratic functions over a box with a bounded sum: projected gradients.

Minimises b'Kb / 2 - k'b over 0 <= b <= upper and low <= sum b <= high by Nesterov's
accelerated gradient, begun again whenever it turns uphill (O'Donoghue and Candes 2015).
A linear function over the same set has its minimum by sorting, which bounds how far the
value still is from the smallest: that is when the steps end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix

_BETWEEN_CHECKS = 10


class BoxedSum(NamedTuple):
    """The set of b with 0 <= b_i <= upper and low <= sum b <= high."""

    upper: float
    low: float
    high: float

    def project(self, point: FloatArray) -> FloatArray:
        """Return the nearest b: entries less one number, cut at 0 and `upper`."""
        inside = np.clip(point, 0.0, self.upper)
        total = float(inside.sum())
        if self.low <= total <= self.high:
            return np.asarray(inside)
        goal = self.low if total < self.low else self.high
        # the sum falls in the number taken away, linearly between these
        knots = np.sort(np.concatenate([point, point - self.upper]))
        first, last = 0, knots.size - 1
        while last - first > 1:
            middle = (first + last) // 2
            if np.clip(point - knots[middle], 0.0, self.upper).sum() >= goal:
                first = middle
            else:
                last = middle
        ends = [
            float(np.clip(point - knots[i], 0.0, self.upper).sum())
            for i in (first, last)
        ]
        share = (ends[0] - goal) / (ends[0] - ends[1]) if ends[0] > ends[1] else 0.0
        taken = knots[first] + share * (knots[last] - knots[first])
        return np.asarray(np.clip(point - taken, 0.0, self.upper))

    def least(self, slope: FloatArray) -> float:
        """Return the smallest slope'b over the set."""
        order = np.sort(slope)
        filled = self.upper * np.arange(order.size + 1)
        up_to_high = np.diff(np.minimum(filled, self.high))
        amounts = np.where(order < 0.0, up_to_high, 0.0)
        if amounts.sum() < self.low:
            amounts = np.diff(np.minimum(filled, self.low))
        return float((order * amounts).sum())


class BoxedMinimum(NamedTuple):
    """Where the steps ended.

    Attributes
    ----------
    at : ndarray (n,)
    gap : float
        The function's value there is at most so much above the smallest.
    n_steps : int
    """

    at: FloatArray
    gap: float
    n_steps: int


def minimize_boxed(
    matrix: FloatMatrix,
    vector: FloatArray,
    allowed: BoxedSum,
    *,
    tolerance: float,
    max_steps: int = 5000,
) -> BoxedMinimum:
    """Return b of value within `tolerance` of the smallest, if the steps suffice.

    Parameters
    ----------
    matrix : ndarray (n, n)
        K, symmetric, positive semidefinite and without negative entries.
    vector : ndarray (n,)
    allowed : BoxedSum
        Not empty.
    tolerance : float
    max_steps : int

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq._numerics.convex.box_quadratic import BoxedSum, minimize_boxed
    >>> found = minimize_boxed(  # (1, 4) is nearest, of those of sum up to 3 (0, 3)
    ...     np.eye(2), np.array([1.0, 4.0]), BoxedSum(5.0, 0.0, 3.0), tolerance=1e-12
    ... )
    >>> found.at
    array([0., 3.])
    """
    # of a matrix without negative entries no eigenvalue is larger
    step = 1.0 / float(matrix.sum(axis=1).max())
    here = allowed.project(np.ones(vector.size))
    of_here = matrix @ here
    ahead, of_ahead, momentum = here, of_here, 1.0
    gap = np.inf
    for n_steps in range(1, max_steps + 1):
        slope = of_ahead - vector
        new = allowed.project(ahead - step * slope)
        of_new = matrix @ new
        if n_steps % _BETWEEN_CHECKS == 0 or n_steps == max_steps:
            at_new = of_new - vector
            gap = max(0.0, float(at_new @ new) - allowed.least(at_new))
            if gap <= tolerance:
                break
        if slope @ (new - here) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        push = (momentum - 1.0) / following
        ahead, of_ahead = new + push * (new - here), of_new + push * (of_new - of_here)
        here, of_here, momentum = new, of_new, following
    return BoxedMinimum(new, gap, n_steps)
