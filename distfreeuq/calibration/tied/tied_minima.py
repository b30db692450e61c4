"""Convex losses of several groups, minimised with their parameters tied together.

min over theta_0, ..., theta_G of sum_g f_g(theta_g) with |theta_g - theta_0| <= radius:
a convex problem, solved by Newton's method on the logarithmic barrier of its G
constraints. On the central path what is left to gain is G times the barrier's weight,
so that the loss is known to the last weight's digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread

# What may be left to gain, relative to 1 + the loss.
_GAP = 1e-11
# By how much the barrier's weight falls from stage to stage.
_SHRINK = 0.03
_MAX_STEPS = 60
# Share of the way to the boundary that a step takes at most.
_INSIDE = 0.99
_SUFFICIENT = 1e-4
_SHORTEST = 1e-12


class SmoothLoss(Protocol):
    """A convex loss with two derivatives."""

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient (p,)."""

    def hessian(self, theta: FloatArray) -> FloatMatrix:
        """Return the Hessian (p, p)."""


@dataclass(frozen=True, slots=True)
class TiedMinimum:
    """The minimum of the tied losses.

    Attributes
    ----------
    shared : ndarray (p,)
        theta_0.
    own : ndarray (G, p)
    slack : ndarray (G,)
        1 - (distance / radius)^2: near 0 where the tie holds a group back.
    gap : float
        What is left to gain, at most, where the last stage converged.
    """

    shared: FloatArray
    own: FloatMatrix
    slack: FloatArray
    gap: float


@on_one_blas_thread
def minimize_tied(
    losses: Sequence[SmoothLoss],
    shares: FloatArray,
    start: FloatArray,
    radius: float,
    basis: FloatMatrix,
) -> TiedMinimum:
    """Return the minimum of sum_g shares_g losses_g(theta_g) within the ties.

    Parameters
    ----------
    losses : sequence of SmoothLoss
    shares : ndarray (G,)
        Positive, with sum one.
    start : ndarray (p,)
        Where all parameters start; the shared ones move from there along `basis` only.
    radius : float
        Positive.
    basis : ndarray (p, r)
        Orthonormal directions; along those orthogonal to them all losses are constant.
    """
    problem = _Barrier(losses, shares, start, radius, basis)
    n_groups = len(losses)
    x: FloatMatrix = np.zeros((n_groups + 1, basis.shape[1]))  # theta_0 is the last
    value = problem.loss(x)
    weight = max(1e-3, 0.1 * abs(value)) / n_groups
    last = _GAP * (1.0 + abs(value)) / n_groups
    while True:
        x = np.asarray(problem.center(x, weight))
        if weight <= last:
            break
        weight = max(_SHRINK * weight, last)
    theta = start + x @ basis.T
    away = x[:-1] - x[-1]
    return TiedMinimum(
        shared=theta[-1],
        own=theta[:-1],
        slack=1.0 - (away**2).sum(axis=1) / radius**2,
        gap=weight * n_groups,
    )


class _Barrier:
    """The losses and the barrier, in coordinates along the basis."""

    def __init__(
        self,
        losses: Sequence[SmoothLoss],
        shares: FloatArray,
        start: FloatArray,
        radius: float,
        basis: FloatMatrix,
    ) -> None:
        self.losses, self.shares, self.start = losses, shares, start
        self.radius, self.basis = radius, basis

    def _evaluate(self, x: FloatMatrix) -> tuple[float, FloatMatrix]:
        """Return the sum of the losses and their gradients (G, r)."""
        total, gradients = 0.0, np.empty((len(self.losses), x.shape[1]))
        for g, (loss, share) in enumerate(zip(self.losses, self.shares, strict=True)):
            value, gradient = loss.evaluate(self.start + self.basis @ x[g])
            total += share * value
            gradients[g] = share * (gradient @ self.basis)
        return total, gradients

    def loss(self, x: FloatMatrix) -> float:
        """Return the sum of the losses."""
        return self._evaluate(x)[0]

    def _slack(self, x: FloatMatrix) -> FloatArray:
        away = x[:-1] - x[-1]
        return np.asarray(self.radius**2 - (away**2).sum(axis=1))

    def center(self, x: FloatMatrix, weight: float) -> FloatMatrix:
        """Return the minimum of the losses and the barrier of this weight."""
        n_groups = len(self.losses)
        value, gradients = self._evaluate(x)
        for _ in range(_MAX_STEPS):
            step, decrement = self._step(x, gradients, weight)
            if not decrement > 1e-3 * n_groups * weight:
                break
            slack = self._slack(x)
            height = value - weight * float(np.log(slack).sum())
            length = min(1.0, _INSIDE * self._to_boundary(x, step))
            while length > _SHORTEST:
                new = x + length * step
                room = self._slack(new)
                if (room > 0.0).all():
                    new_value, new_gradients = self._evaluate(new)
                    new_height = new_value - weight * float(np.log(room).sum())
                    if new_height <= height - _SUFFICIENT * length * decrement:
                        break
                length *= 0.5
            else:
                break  # no progress in floating point
            x, value, gradients = new, new_value, new_gradients
        return x

    def _step(
        self, x: FloatMatrix, gradients: FloatMatrix, weight: float
    ) -> tuple[FloatMatrix, float]:
        """Return Newton's step (G + 1, r), and how fast the height falls along it.

        Groups touch one another through theta_0 only: each is eliminated by itself.
        """
        r = x.shape[1]
        away, slack = x[:-1] - x[-1], self._slack(x)
        pulls = 2.0 * weight * away / slack[:, None]
        schur, right = np.zeros((r, r)), pulls.sum(axis=0)
        eliminated = []
        for g, (loss, share) in enumerate(zip(self.losses, self.shares, strict=True)):
            hessian = loss.hessian(self.start + self.basis @ x[g])
            own = share * (self.basis.T @ hessian @ self.basis)
            tie = np.outer(away[g], away[g]) * (4.0 * weight / slack[g] ** 2)
            tie[np.diag_indices(r)] += 2.0 * weight / slack[g]
            push = gradients[g] + pulls[g]
            solved = np.linalg.solve(own + tie, np.column_stack([tie, push]))
            parallel = own @ solved[:, :-1]
            schur += 0.5 * (parallel + parallel.T)
            right = right - tie @ solved[:, -1]
            eliminated.append(solved)
        shared = np.linalg.lstsq(schur, right, rcond=1e-15)[0]
        step = np.empty_like(x)
        for g, solved in enumerate(eliminated):
            step[g] = solved[:, :-1] @ shared - solved[:, -1]
        step[-1] = shared
        slope = ((gradients + pulls) * step[:-1]).sum() - pulls.sum(axis=0) @ shared
        return step, -float(slope)

    def _to_boundary(self, x: FloatMatrix, step: FloatMatrix) -> float:
        """Return how often the step can be taken before a tie is at its end."""
        away, change = x[:-1] - x[-1], step[:-1] - step[-1]
        a = (change**2).sum(axis=1)
        b = (away * change).sum(axis=1)
        c = self._slack(x)
        root = np.sqrt(b**2 + a * c)
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(a > 0.0, c / (b + root), np.inf)
        return float(lengths.min())
