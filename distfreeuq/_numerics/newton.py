"""Newton's method for smooth convex losses whose Hessian is expensive to evaluate.

One Hessian serves for several steps: near the minimum each step with an old Hessian
still gains digits, at the price of a gradient. A new one is made when it would cost
less than the steps that are left without it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.matrices import spd

# Gradients that one Hessian costs, unless the caller knows better.
_PRICE = 6.0
# Share of the decrease along the tangent that a step must achieve (Armijo).
_SUFFICIENT = 1e-4
# Length below which no shorter step is tried.
_SHORTEST = 1e-10
# Relative rounding error of a loss.
_ROUNDING = 1e-13
# Eigenvalue, relative to the largest, up to which a direction counts as flat.
_SINGULAR = 1e-11
# Curvature below it is none: steps along it would be beyond all doubles.
_FLAT = 1e-150

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]
"""From parameters (p,) to the loss and its gradient (p,)."""


class FactoredHessian:
    """A factored Hessian of which some directions may be flat.

    Parameters
    ----------
    hessian : ndarray (p, p)
    free : ndarray (p, q)
        Orthonormal directions along which the loss is constant by construction; steps
        have no part in them.
    """

    __slots__ = ("_factor", "_inverse", "free", "hessian")

    def __init__(self, hessian: FloatMatrix, free: FloatMatrix) -> None:
        self.hessian, self.free = hessian, free
        size = max(float(np.trace(hessian)) / len(hessian), 1e-300)
        self._factor = spd.factor(hessian + size * (free @ free.T))
        self._inverse: FloatMatrix = np.empty((0, 0))
        singular = (
            self._factor is None or self._factor.reciprocal_condition <= _SINGULAR
        )
        if singular or size < _FLAT:
            self._factor, self._inverse = None, _pseudo_inverse(hessian)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the step x of least norm with hessian @ x = right."""
        if self._factor is None:
            return np.asarray(self._inverse @ right)
        return self._factor.solve(np.asarray_chkfinite(right))

    def sandwich(self, meat: FloatMatrix) -> FloatArray:
        """Return the diagonal of H^-1 meat H^-1, nan where parameters are unidentified.

        Among parameters that only differ by `free` directions it is about those of
        least norm. A number that rounding has made negative is unknown too.
        """
        half = self.solve(meat)
        variances = np.einsum("ij,ji->i", half, self.solve(np.eye(len(meat))))
        return np.where(self.flat() | (variances < 0.0), np.nan, variances)

    @property
    def is_singular(self) -> bool:
        """Whether there are flat directions beyond `free`."""
        return self._factor is None

    def flat(self) -> BoolArray:
        """Return which parameters the loss does not determine, beyond `free`."""
        if not self.is_singular:
            return np.zeros(len(self.hessian), dtype=bool)
        null = self._null()
        null = null - self.free @ (self.free.T @ null)
        return np.asarray((null**2).sum(axis=1) > 1e-6)

    def without_flat(self, vector: FloatArray) -> FloatArray:
        """Return the vector without its parts along all flat directions."""
        null = self._null()
        return np.asarray(vector - null @ (null.T @ vector))

    def _null(self) -> FloatMatrix:
        values, vectors = np.linalg.eigh(self.hessian)
        return np.asarray(
            vectors[:, values <= max(_SINGULAR * float(values[-1]), _FLAT)]
        )


def _pseudo_inverse(matrix: FloatMatrix) -> FloatMatrix:
    values, vectors = np.linalg.eigh(matrix)
    keep = values > max(_SINGULAR * float(values[-1]), _FLAT)
    return np.asarray((vectors[:, keep] / values[keep]) @ vectors[:, keep].T)


def minimize_convex(
    evaluate: Evaluate,
    curvature: Callable[[FloatArray], FactoredHessian],
    start: FloatArray,
    *,
    metric: FactoredHessian | None = None,
    price: float = _PRICE,
    tolerance: float = 1e-18,
    max_steps: int = 500,
) -> FloatArray:
    """Return the parameters (p,) of smallest loss.

    Stops when the squared Newton decrement g' H^-1 g, twice what is left to gain, is at
    most `tolerance`. A loss whose infimum is not attained stops there too, at finite
    parameters. `metric`, if given, stands in for the Hessian at `start`. `price` is
    what a Hessian costs, in gradients.
    """
    x = start
    loss, gradient = evaluate(x)
    model = _Model(metric or curvature(x), is_exact=metric is None)
    step, decrement = model.step(gradient)
    for _ in range(max_steps):
        if decrement <= tolerance:
            return x + step  # as good as another pass, which it saves
        length, new_loss, new_gradient = _search_line(
            evaluate, x, step, loss, decrement
        )
        if model.is_exact and length < 1.0 and new_loss >= loss:
            break  # no progress in floating point
        if length > 0.0:
            x = x + length * step
            model.learn(length * step, new_gradient - gradient)
            loss, gradient = new_loss, new_gradient
        step, remaining = model.step(gradient)
        rate = min(abs(remaining) / decrement, 1.0)
        slow = length < 1.0 or abs(remaining) * rate**price > tolerance
        if slow and abs(remaining) > tolerance and not model.is_exact:
            model = _Model(curvature(x), is_exact=True)
            step, remaining = model.step(gradient)
        if remaining < 0.0:
            break  # curvature lost in rounding: steps would lead uphill
        decrement = remaining
    return x


class _Model:
    """An old Hessian, and what the steps since then have told of it (L-BFGS)."""

    def __init__(self, metric: FactoredHessian, *, is_exact: bool) -> None:
        self.metric = metric
        self.is_exact = is_exact  # the Hessian of the current point itself
        self.pairs: list[tuple[FloatArray, FloatArray, float]] = []

    def learn(self, step: FloatArray, change: FloatArray) -> None:
        """Take in by how much a step has changed the gradient."""
        self.is_exact = False
        self.pairs.append((step, change, float(step @ change)))

    def step(self, gradient: FloatArray) -> tuple[FloatArray, float]:
        """Return the step to the model's minimum, and its squared decrement."""
        right, parts = gradient.copy(), []
        for step, change, product in reversed(self.pairs):
            part = float(step @ right) / product if product > 0.0 else 0.0
            right -= part * change
            parts.append(part)
        result = self.metric.solve(right)
        for (step, change, product), part in zip(
            self.pairs, reversed(parts), strict=True
        ):
            if product > 0.0:
                result += (part - float(change @ result) / product) * step
        return -result, float(gradient @ result)


def _search_line(
    evaluate: Evaluate,
    x: FloatArray,
    step: FloatArray,
    loss: float,
    decrement: float,
) -> tuple[float, float, FloatArray]:
    """Return a step length that lowers the loss enough, and loss and gradient there.

    The length is zero if there is none in floating point.
    """
    length = 1.0
    while True:
        new_loss, new_gradient = evaluate(x + length * step)
        # what a short step gains is lost in the rounding of the loss itself
        enough = loss - _SUFFICIENT * length * decrement + _ROUNDING * abs(loss)
        if new_loss <= enough:
            return length, new_loss, new_gradient
        length *= 0.5
        if length < _SHORTEST:
            return 0.0, new_loss, new_gradient
