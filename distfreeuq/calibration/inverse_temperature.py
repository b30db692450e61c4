"""Inverse temperatures that minimise a loss, one per group of rows, all in each pass.

The negative log-likelihood is convex in alpha = 1/T, so its derivative has one root or
none in the bounds, and a root is found from any start. The Brier score is not convex:
its derivative is evaluated on a grid, every bracket of a local minimum is solved, and
the losses there and at the bounds are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._kernels import _root_search
from distfreeuq._numerics.passes.row_parts import Parts
from distfreeuq.calibration.losses.temperature_loss import (
    GRADIENT,
    LOSS,
    N_SUMS,
    WRONG,
    brier_slopes,
    temperature_sums,
)
from distfreeuq.calibration.reliability_change import bin_sums
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows, weigh
from distfreeuq.calibration.rows.masked_logits import ranges
from distfreeuq.calibration.rows.rows_in_blocks import FitRows

_LAST_STEP = 2e-7
"""Relative length of a Newton step that is taken without another pass: its square is
what remains, and the loss is known along it to the third order."""
_ROUGH_STEP = 0.02
"""The same for a sample of the rows, which determines alpha to about three per cent."""
_MAX_PASSES = 200
_SAMPLE_ROWS = 1024
_ROUGH_BOUNDS = (1e-9, 1e9)
_ORDINARY_RANGE = 1e3
_NO_GUESS = np.empty(0)

N_STATE = 13
"""Columns of the state of a search."""
AT_BOUND = 4
"""The column that says at which bound it ended."""

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


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """Rows in groups, each of which has an inverse temperature of its own.

    Attributes
    ----------
    rows : CalibrationRows
    groups : ndarray (n,)
    confidence : ndarray (n,)
        Each row's largest probability at the last alpha its group was evaluated at.
    """

    rows: CalibrationRows
    groups: IntArray
    confidence: FloatArray


def together(rows: CalibrationRows) -> ScaledRows:
    """Put all rows into one group."""
    groups = np.zeros(rows.n, dtype=np.int64)
    return ScaledRows(rows, groups, np.empty(rows.n))


def by_top(rows: CalibrationRows) -> ScaledRows:
    """Group rows by the column of their largest logit."""
    return ScaledRows(rows, rows.tops, np.empty(rows.n))


def in_groups(rows: CalibrationRows, codes: IntArray) -> ScaledRows:
    """Group rows by these codes (n,)."""
    return ScaledRows(rows, codes, np.empty(rows.n))


class LossInAlpha:
    """Evaluates the losses of groups of rows, and remembers where.

    Parameters
    ----------
    rows : CalibrationRows or RowsInBlocks
    group : callable
        From rows to `ScaledRows`.
    n_groups : int
    loss : {"nll", "brier"}
    """

    __slots__ = ("_alphas", "_parts", "brier", "n_groups", "rows")

    def __init__(
        self,
        rows: FitRows,
        group: Callable[[CalibrationRows], ScaledRows],
        n_groups: int,
        loss: str,
    ) -> None:
        self.rows, self.n_groups = rows, n_groups
        self.brier = loss == "brier"
        self._parts: Parts[ScaledRows] = rows.parts.then(group)
        self._alphas = np.ones(n_groups)

    def __call__(self, alphas: FloatArray, active: BoolArray | None = None) -> Sums:
        """Return the groups' sums (G, 5) at these alphas (G,)."""
        return self._parts.total(self._evaluation(alphas, active))

    def with_bins(self, alphas: FloatArray) -> tuple[Sums, FloatMatrix]:
        """Return the same, and what `bins` then returns, in one pass."""
        sums, bins = self._parts.total(_WithBins(self._evaluation(alphas, None)))
        return sums, bins

    def bins(self) -> FloatMatrix:
        """Return the reliability table at the last alpha of each group."""
        if self._parts.are_kept:
            return self._parts.total(_bins_of_confidence)
        return self.with_bins(self._alphas)[1]

    def _evaluation(self, alphas: FloatArray, active: BoolArray | None) -> _Evaluation:
        moved = np.ones(self.n_groups, dtype=np.bool_) if active is None else active
        self._alphas = np.where(moved, alphas, self._alphas)
        return _Evaluation(self.brier, alphas.copy(), active)

    def slopes(self, first: float, n_points: int) -> FloatMatrix:
        """Return the Brier score's slopes (G, J) at alphas first * 2^(j / 2)."""
        return self._parts.total(_Slopes(self.n_groups, first, n_points))

    def minimize(
        self,
        bounds: tuple[float, float],
        at_one: Sums,
        *,
        last_step: float = _LAST_STEP,
    ) -> Minimum:
        """Return every group's minimiser within the bounds.

        `at_one` (G, 5) are the sums at alpha = 1, which every caller has already.
        """
        if self.brier:
            return _minimize_on_grid(self, bounds)
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
        # the gradient is zero for rows of equal logits, which are neither right nor
        # wrong and tell nothing, but also where exponentials of large logits vanish
        still = correct & (at_one[:, GRADIENT] == 0.0)
        if still.any():
            correct &= ~still | (self._parts.total(_CountInformative(still)) > 0.0)
        return np.asarray(correct)

    def _pooled_guess(self, bounds: tuple[float, float]) -> float:
        """Return the common alpha of a small sample, from which few passes remain."""
        stride = self.rows.n // _SAMPLE_ROWS
        if stride < 4:
            return np.nan if bounds[0] <= 1.0 <= bounds[1] else float(np.mean(bounds))
        sample = self.rows.every(stride)
        pooled = LossInAlpha(sample, together, 1, "nll")
        at_one = pooled(np.ones(1))
        found = pooled.minimize(bounds, at_one, last_step=_ROUGH_STEP)
        return float(found.alphas[0])


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Sums over some rows at these alphas; keeps their confidences."""

    brier: bool
    alphas: FloatArray
    active: BoolArray | None

    def __call__(self, part: ScaledRows) -> Sums:
        return temperature_sums(
            part.rows,
            part.groups,
            self.alphas,
            brier=self.brier,
            active=self.active,
            confidence=part.confidence,
        )


@dataclass(frozen=True, slots=True)
class _WithBins:
    """Sums over some rows, and the reliability table of their confidences."""

    evaluate: _Evaluation

    def __call__(self, part: ScaledRows) -> tuple[Sums, FloatMatrix]:
        return self.evaluate(part), _bins_of_confidence(part)


def _bins_of_confidence(part: ScaledRows) -> FloatMatrix:
    rows = part.rows
    return bin_sums(part.confidence, rows.tops == rows.labels, rows.weights)


@dataclass(frozen=True, slots=True)
class _Slopes:
    """The Brier score's slopes of some rows."""

    n_groups: int
    first: float
    n_points: int

    def __call__(self, part: ScaledRows) -> FloatMatrix:
        return brier_slopes(
            part.rows, part.groups, self.n_groups, self.first, self.n_points
        )


@dataclass(frozen=True, slots=True)
class _CountInformative:
    """Counts rows of unequal logits, by group, of the groups that are marked."""

    marked: BoolArray

    def __call__(self, part: ScaledRows) -> FloatArray:
        own = np.flatnonzero(self.marked[part.groups] & (part.rows.weights > 0.0))
        differ = (ranges(part.rows.logits[own]) > 0.0).astype(np.float64)
        return weigh(part.groups[own], differ, self.marked.size)


def rough_alpha(rows: FitRows) -> float:
    """Return the common alpha of few rows, from which maps with more parameters start.

    It is 1 where all of these rows are correct, and no alpha is large enough.
    """
    sample = rows.every(max(1, rows.n // _SAMPLE_ROWS))
    losses = LossInAlpha(sample, together, 1, "nll")
    at_one = losses(np.ones(1))
    scale = max(1.0, rows.logit_range / _ORDINARY_RANGE)
    bounds = _ROUGH_BOUNDS[0] / scale, _ROUGH_BOUNDS[1]
    found = losses.minimize(bounds, at_one, last_step=_ROUGH_STEP)
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
        The next point, in place of a Newton step from `start`; nan for no guess.
    bracket : (ndarray, ndarray), optional
        Per group, points of negative and of positive gradient.
    active : ndarray (G,), optional
        Groups to solve for.
    last_step : float
        Relative length of a Newton step that is taken without another pass.

    Notes
    -----
    Newton's method from two points at once (a cubic through both gradients and
    curvatures, inverted), within a bracket. After a step that leaves the bracket, or a
    long row of steps to one side, the bound on that side is evaluated; where both ends
    of the bracket are known, slow progress is followed by their geometric mean.
    """
    n_groups = start.size
    x = start.astype(np.float64)
    state = np.empty((n_groups, N_STATE))
    ends = np.empty((0, 2)) if bracket is None else np.column_stack(bracket)
    _root_search._start_searches(*bounds, ends, state)
    todo = np.ones(n_groups, dtype=bool) if active is None else active.copy()
    sums = np.zeros((n_groups, N_SUMS))
    for count in range(_MAX_PASSES):
        fresh = known if known is not None and count == 0 else evaluate(x, todo)
        sums[todo] = fresh[todo]
        left = _root_search._continue_searches(
            *bounds,
            last_step,
            max(last_step, _LAST_STEP),
            guess if guess is not None and count == 0 else _NO_GUESS,
            x,
            sums,
            state,
            todo.view(np.uint8),
        )
        if not left:
            break
    return Minimum(x, sums, state[:, AT_BOUND].astype(np.int64))


def _minimize_on_grid(losses: LossInAlpha, bounds: tuple[float, float]) -> Minimum:
    """Compare all local minima that a grid of alphas brackets, and the bounds."""
    low, high = bounds
    n_groups = losses.n_groups
    n_points = max(1, int(np.ceil(2.0 * np.log2(high / low) - 1e-6)))
    grid = np.append(low * 2.0 ** (0.5 * np.arange(n_points)), high)
    at_low = losses(np.full(n_groups, low))
    at_high = losses(np.full(n_groups, high))
    slopes = np.column_stack([losses.slopes(low, n_points), at_high[:, GRADIENT]]).T

    is_high = at_high[:, LOSS] < at_low[:, LOSS]
    best = Minimum(
        alphas=np.where(is_high, high, low),
        sums=np.where(is_high[:, None], at_high, at_low),
        at_bound=np.where(is_high, 1, -1),
    )
    seen_last = is_high
    groups = np.arange(n_groups)
    brackets = (slopes[:-1] < 0.0) & (slopes[1:] > 0.0)
    order = np.cumsum(brackets, axis=0)
    for rank in range(1, int(order.max(initial=0)) + 1):
        which = (brackets & (order == rank)).argmax(axis=0)
        some = order[-1] >= rank
        below, above = slopes[which, groups], slopes[which + 1, groups]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(np.where(some, below / (below - above), 0.5), 0.01, 0.99)
        solved = solve_increasing(
            losses,
            bounds,
            grid[which] * (grid[which + 1] / grid[which]) ** share,
            bracket=(grid[which], grid[which + 1]),
            active=some,
        )
        better = some & (solved.sums[:, LOSS] < best.sums[:, LOSS])
        best = Minimum(
            alphas=np.where(better, solved.alphas, best.alphas),
            sums=np.where(better[:, None], solved.sums, best.sums),
            at_bound=np.where(better, 0, best.at_bound),
        )
        seen_last = np.where(some, better, seen_last)
    if not seen_last.all():  # the confidences must be those at the minimum
        losses(best.alphas, ~seen_last)
    return best
