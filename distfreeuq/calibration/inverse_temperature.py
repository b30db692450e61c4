"""Inverse temperatures that minimise a loss, one per group of rows, all in each pass.

The negative log-likelihood is convex in alpha = 1/T, so its derivative has one root or
none in the bounds, and a root is found from any start. The Brier score is not convex:
its derivative is looked at on a grid, every bracket of a local minimum is solved, and
the losses there and at the bounds are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.calibration.rows import (
    CURVATURE,
    GRADIENT,
    LOSS,
    N_SUMS,
    WRONG,
    CalibrationRows,
    temperature_sums,
)

_LAST_STEP = 2e-7
"""Relative length of a Newton step that is taken without another pass: its square is
what remains, and the loss is known along it to the third order."""
_ROUGH_STEP = 0.02
"""The same for a sample, which knows alpha to about three per cent."""
_MAX_PASSES = 200
_PATIENCE = 4
_GRID_RATIO = 1.4
_SAMPLE_ROWS = 1024
_ROUGH_BOUNDS = (1e-9, 1e9)

Sums = FloatMatrix
Evaluate = Callable[[FloatArray, BoolArray], Sums]
"""From alphas (G,) and which groups matter (G,) to their sums (G, 5)."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """Minimisers of the groups' losses.

    Attributes
    ----------
    alphas : ndarray (G,)
    sums : ndarray (G, 5)
        Loss, gradient, curvature and squared scores there.
    at_bound : ndarray (G,)
        -1 at the lower bound of alpha, +1 at the upper, 0 between them.
    """

    alphas: FloatArray
    sums: Sums
    at_bound: IntArray


class LossInAlpha:
    """Evaluates the losses of groups of rows, and remembers the last confidences.

    Attributes
    ----------
    confidence : ndarray (n,)
        Each row's largest probability at the last alpha its group was evaluated at.
    """

    __slots__ = ("brier", "confidence", "groups", "n_groups", "rows")

    def __init__(
        self, rows: CalibrationRows, groups: IntArray, n_groups: int, loss: str
    ) -> None:
        self.rows, self.groups, self.n_groups = rows, groups, n_groups
        self.brier = loss == "brier"
        self.confidence = np.empty(rows.n)

    def __call__(self, alphas: FloatArray, active: BoolArray | None = None) -> Sums:
        """Return the groups' sums (G, 5) at these alphas (G,)."""
        return temperature_sums(
            self.rows,
            self.groups,
            alphas,
            brier=self.brier,
            active=active,
            confidence=self.confidence,
        )

    def minimise(
        self,
        bounds: tuple[float, float],
        at_one: Sums,
        *,
        last_step: float = _LAST_STEP,
    ) -> Minimum:
        """Return every group's minimiser within the bounds.

        `at_one` (G, 5) are the sums at alpha = 1, which every caller has at hand.
        """
        if self.brier:
            return _minimise_on_grid(self, bounds, self.n_groups)
        guess = np.full(self.n_groups, self._pooled_guess(bounds))
        guess[self._all_correct(at_one)] = bounds[1]
        if bounds[0] <= 1.0 <= bounds[1]:
            start = np.ones(self.n_groups)
            return solve_increasing(
                self, bounds, start, known=at_one, guess=guess, last_step=last_step
            )
        return solve_increasing(self, bounds, guess, last_step=last_step)

    def _all_correct(self, at_one: Sums) -> BoolArray:
        """Return which groups have no wrong row: their loss falls with T for ever."""
        correct = at_one[:, WRONG] == 0.0
        # rows of equal logits are neither right nor wrong, and tell nothing; nor do
        # logits so large that exponentials vanish show a gradient
        still = correct & (at_one[:, GRADIENT] == 0.0)
        if still.any():
            rows = np.flatnonzero(still[self.groups] & (self.rows.weights > 0.0))
            logits = self.rows.logits[rows]
            differ = logits.min(axis=1) < logits.max(axis=1)
            told = np.bincount(self.groups[rows], differ, self.n_groups) > 0.0
            correct &= ~still | told
        return np.asarray(correct)

    def _pooled_guess(self, bounds: tuple[float, float]) -> float:
        """Return the common alpha of a small sample, from which few passes remain."""
        stride = self.rows.n // _SAMPLE_ROWS
        if stride < 4:
            return np.nan if bounds[0] <= 1.0 <= bounds[1] else float(np.mean(bounds))
        sample = self.rows.every(stride)
        pooled = LossInAlpha(sample, np.zeros(sample.n, dtype=np.int64), 1, "nll")
        at_one = pooled(np.ones(1))
        found = pooled.minimise(bounds, at_one, last_step=_ROUGH_STEP)
        return float(found.alphas[0])


def rough_alpha(rows: CalibrationRows) -> float:
    """Return the common alpha of few rows: where maps with more parameters start.

    1 where all of these rows are correct, and no alpha is large enough.
    """
    sample = rows.every(max(1, rows.n // _SAMPLE_ROWS))
    losses = LossInAlpha(sample, np.zeros(sample.n, dtype=np.int64), 1, "nll")
    at_one = losses(np.ones(1))
    found = losses.minimise(_ROUGH_BOUNDS, at_one, last_step=_ROUGH_STEP)
    return 1.0 if found.at_bound[0] > 0 else float(found.alphas[0])


def solve_increasing(
    evaluate: Evaluate,
    bounds: tuple[float, float],
    start: FloatArray,
    *,
    known: Sums | None = None,
    guess: FloatArray | None = None,
    bracket: tuple[FloatArray, FloatArray] | None = None,
    active: BoolArray | None = None,
    last_step: float = _LAST_STEP,
) -> Minimum:
    """Find where each group's gradient passes from negative to positive.

    Parameters
    ----------
    evaluate : callable
    bounds : (float, float)
        A group whose gradient is not negative at the lower bound, or not positive at
        the upper, has its minimum there.
    start : ndarray (G,)
    known : ndarray (G, 5), optional
        Sums at `start`, if they are known already.
    guess : ndarray (G,), optional
        Where to look next, in place of a Newton step from `start`; nan for no guess.
    bracket : (ndarray, ndarray), optional
        Per group, points of negative and of positive gradient.
    active : ndarray (G,), optional
        Groups to solve for.
    last_step : float
        Relative length of a Newton step that is taken without another pass.

    Notes
    -----
    Newton's method from two points at once (a cubic through both gradients and
    curvatures, inverted), within a bracket. A step that leaves the bracket, or a long
    row of steps to one side, looks at the bound on that side; with both ends of the
    bracket seen, slow progress is answered by the geometric mean of its ends.
    """
    search = _Search(bounds, start, bracket, last_step)
    todo = np.ones(start.size, dtype=bool) if active is None else active.copy()
    sums = np.zeros((start.size, N_SUMS))
    for count in range(_MAX_PASSES):
        fresh = known if known is not None and count == 0 else evaluate(search.x, todo)
        sums[todo] = fresh[todo]
        done = search.update(sums[:, GRADIENT], sums[:, CURVATURE], todo)
        inside = done & (search.at_bound == 0)
        _take_last_steps(search.x, sums, inside, bounds, max(last_step, _LAST_STEP))
        todo &= ~done
        if not todo.any():
            break
        search.advance(todo, guess if count == 0 else None)
    return Minimum(search.x, sums, search.at_bound)


def _take_last_steps(
    alphas: FloatArray,
    sums: Sums,
    found: BoolArray,
    bounds: tuple[float, float],
    longest: float,
) -> None:
    """Move minimisers by the Newton step that is left, and the sums with them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.abs(sums[:, GRADIENT] / sums[:, CURVATURE])
    found = found & (step <= longest * alphas) & (sums[:, CURVATURE] > 0.0)
    gradient, curvature = sums[found, GRADIENT], sums[found, CURVATURE]
    alphas[found] = np.clip(alphas[found] - gradient / curvature, *bounds)
    sums[found, LOSS] -= 0.5 * gradient**2 / curvature
    sums[found, GRADIENT] = 0.0


class _Search:
    """The brackets of all groups, and where each looks next."""

    def __init__(
        self,
        bounds: tuple[float, float],
        start: FloatArray,
        bracket: tuple[FloatArray, FloatArray] | None,
        last_step: float,
    ) -> None:
        n = start.size
        self.bounds, self.last_step = bounds, last_step
        self.x = start.astype(np.float64)
        self.low, self.high = np.full(n, bounds[0]), np.full(n, bounds[1])
        self.low_seen, self.high_seen = np.zeros(n, bool), np.zeros(n, bool)
        if bracket is not None:
            self.low, self.high = bracket[0].copy(), bracket[1].copy()
            self.low_seen[:], self.high_seen[:] = True, True
        self.at_bound = np.zeros(n, dtype=np.int64)
        self.f, self.h = np.full(n, np.nan), np.full(n, np.nan)
        self.last_x = np.full((2, n), np.nan)  # the last two points Newton steps from
        self.last_f, self.last_h = self.last_x.copy(), self.last_x.copy()
        self.steps = np.zeros(n, dtype=np.int64)  # since a bracket last halved
        self.width = np.log(self.high / self.low)

    def update(self, f: FloatArray, h: FloatArray, todo: BoolArray) -> BoolArray:
        """Take in gradients and curvatures at x; return which groups are done."""
        low, high = self.bounds
        self.f, self.h = f, h
        below, above = todo & (f < 0.0), todo & (f > 0.0)
        self.low[below], self.low_seen[below] = self.x[below], True
        self.high[above], self.high_seen[above] = self.x[above], True
        at_low = todo & (self.x == low) & (f >= 0.0)
        at_high = todo & (self.x == high) & (f <= 0.0) & ~at_low
        self.at_bound[at_low], self.at_bound[at_high] = -1, 1
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.abs(f / h)
        flat = (f == 0.0) & ~(h > 0.0)
        # where the gradient vanishes to rounding, only the ends tell root from tail
        found = ((step <= self.last_step * self.x) & (h > 0.0)) | (
            flat & (self.low_seen & self.high_seen)
        )
        closed = self.high <= self.low * (1.0 + 4e-16)
        return np.asarray(todo & (found | closed | at_low | at_high))

    def advance(self, todo: BoolArray, guess: FloatArray | None) -> None:
        """Choose the next x of the groups that are not done."""
        interior = todo & (self.h > 0.0)
        for store, value in (
            (self.last_x, self.x),
            (self.last_f, self.f),
            (self.last_h, self.h),
        ):
            store[1, interior] = store[0, interior]
            store[0, interior] = value[interior]

        # a look at a bound that found the other sign resumes from the point before it
        base = self._base()
        proposal = self._newton(base)
        proposal = self._cubic(proposal)
        if guess is not None:
            inside = (self.low < guess) & (guess <= self.high)
            proposal = np.where(inside, guess, proposal)
        flat = todo & (self.f == 0.0) & ~(self.h > 0.0)
        proposal[flat] = np.where(self.low_seen[flat], np.inf, -np.inf)

        middle = np.sqrt(self.low * self.high)
        below = np.where(self.low_seen, middle, self.bounds[0])
        above = np.where(self.high_seen, middle, self.bounds[1])
        target = np.where(np.isnan(proposal), middle, proposal)
        target = np.where(target <= self.low, below, target)
        target = np.where(target >= self.high, above, target)

        width = np.log(self.high / self.low)
        halved = width <= 0.5 * self.width
        self.width = np.where(halved, width, self.width)
        self.steps = np.where(halved, 0, self.steps + 1)
        slow = self.steps >= _PATIENCE
        target = np.where(slow & ~self.high_seen & (self.f < 0.0), above, target)
        target = np.where(slow & ~self.low_seen & (self.f > 0.0), below, target)
        stuck = slow & self.low_seen & self.high_seen
        target = np.where(stuck, middle, target)
        self.steps = np.where(slow, 0, self.steps)
        self.x = np.where(todo, target, self.x)

    def _base(self) -> IntArray:
        """Return which of the last two points has the shorter Newton step, 0 or 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.abs(self.last_f / self.last_h)
        return np.where(steps[1] < steps[0], 1, 0)

    def _newton(self, base: IntArray) -> FloatArray:
        everyone = np.arange(base.size)
        x, f, h = (v[base, everyone] for v in (self.last_x, self.last_f, self.last_h))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(x - f / h)

    def _cubic(self, newton: FloatArray) -> FloatArray:
        """Return where the inverse cubic through the last two points has gradient 0.

        Taken only where it agrees with Newton's step on side and rough length.
        """
        (x, x0), (f, f0), (h, h0) = self.last_x, self.last_f, self.last_h
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rise = f - f0
            t = -f0 / rise
            cubic = (
                (1.0 + 2.0 * t) * (1.0 - t) ** 2 * x0
                + t * (1.0 - t) ** 2 * rise / h0
                + t * t * (3.0 - 2.0 * t) * x
                + t * t * (t - 1.0) * rise / h
            )
            agrees = np.abs(cubic - newton) <= 0.5 * np.abs(newton - x)
        return np.where(agrees, cubic, newton)


def _minimise_on_grid(
    evaluate: Evaluate, bounds: tuple[float, float], n_groups: int
) -> Minimum:
    """Compare all local minima that a grid of alphas brackets, and the bounds."""
    low, high = bounds
    n_points = 2 + int(np.log(high / low) / np.log(_GRID_RATIO))
    grid = np.geomspace(low, high, n_points)
    grid[0], grid[-1] = low, high
    everyone = np.ones(n_groups, dtype=bool)
    seen = np.stack([evaluate(np.full(n_groups, a), everyone) for a in grid])

    at_high = seen[-1, :, LOSS] < seen[0, :, LOSS]
    best = Minimum(
        alphas=np.where(at_high, high, low),
        sums=np.where(at_high[:, None], seen[-1], seen[0]),
        at_bound=np.where(at_high, 1, -1),
    )
    slopes = seen[:, :, GRADIENT]
    brackets = (slopes[:-1] < 0.0) & (slopes[1:] > 0.0)
    order = np.cumsum(brackets, axis=0)
    for rank in range(1, int(order.max(initial=0)) + 1):
        which = (brackets & (order == rank)).argmax(axis=0)
        some = order[-1] >= rank
        solved = solve_increasing(
            evaluate,
            bounds,
            np.sqrt(grid[which] * grid[which + 1]),
            bracket=(grid[which], grid[which + 1]),
            active=some,
        )
        better = some & (solved.sums[:, LOSS] < best.sums[:, LOSS])
        best = Minimum(
            alphas=np.where(better, solved.alphas, best.alphas),
            sums=np.where(better[:, None], solved.sums, best.sums),
            at_bound=np.where(better, 0, best.at_bound),
        )
    evaluate(best.alphas, everyone)  # leaves the confidences at the minimum behind
    return best
