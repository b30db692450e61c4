"""Tied temperatures of least Brier score, which is not convex.

For a given alpha_0 each group's best alpha_k within gamma of it is found on a fine
grid, from losses and slopes of a coarser one; so is the best alpha_0. Within that
cell the optimum is then solved for: a group's alpha_k is a local minimum of its own, or
stands at an end of its interval and moves with alpha_0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.calibration.inverse_temperature import LossInAlpha, solve_increasing
from distfreeuq.calibration.losses.temperature_loss import GRADIENT, LOSS

# Points of the coarse grid in a doubling of alpha, and of the fine one between them.
_PER_DOUBLING = 8
_BETWEEN = 16
# Rounds in which groups leave the ends of their intervals, or come to stand there.
_MAX_ROUNDS = 8
# Cells of the fine grid that alpha_0 moves through in a round.
_MAX_CELLS = 64


@dataclass(frozen=True, slots=True)
class TiedTemperatures:
    """Inverse temperatures within gamma of a shared one.

    Attributes
    ----------
    shared : float
        alpha_0.
    alphas : ndarray (G,)
    limited : ndarray (G,)
        Whether alpha_k stands at alpha_0 +- gamma.
    """

    shared: float
    alphas: FloatArray
    limited: BoolArray


def tie_brier(
    losses: LossInAlpha, own: BoolArray, gamma: float, bounds: tuple[float, float]
) -> TiedTemperatures:
    """Return the tied inverse temperatures of least Brier score.

    Groups that `own` (G,) does not mark have no rows.
    """
    grid, table = _fine_table(losses, own, bounds)
    first, last = _windows(grid, gamma)
    best_at, total = _best_in_windows(table, first, last)
    at = int(np.argmin(total))
    shared = float(grid[at])
    place = best_at[at]
    ends = np.zeros(own.size, dtype=np.int64)
    ends[own & (place == first[at])] = -1
    ends[own & (place == last[at])] = 1
    targets = _local_minima(losses, grid, place, own & (ends == 0), bounds)
    best = TiedTemperatures(shared, np.where(own, grid[place], shared), ends != 0)
    least = np.inf
    for _ in range(_MAX_ROUNDS):
        shared = _solve_shared(losses, grid, shared, ends, gamma, bounds)
        low, high = max(shared - gamma, bounds[0]), min(shared + gamma, bounds[1])
        wanted = np.where(ends < 0, low, np.where(ends > 0, high, targets))
        alphas = np.where(own, np.clip(wanted, low, high), shared)
        sums = losses(alphas, own)
        if sums[own, LOSS].sum() < least:
            least = float(sums[own, LOSS].sum())
            inside = (alphas > bounds[0]) & (alphas < bounds[1])
            limited = own & inside & ((ends != 0) | (alphas != targets))
            best = TiedTemperatures(shared, alphas, limited)
        beyond = np.where(targets > high, 1, 0) - np.where(targets < low, 1, 0)
        beyond[~own | (ends != 0)] = 0
        # at an end, the loss must fall beyond it
        back = (ends != 0) & (ends * sums[:, GRADIENT] > 0.0)
        if not (beyond.any() or back.any()):
            break
        ends = np.where(back, 0, ends + beyond)
        near = np.clip(np.searchsorted(grid, alphas), 0, grid.size - 1)
        found = _local_minima(losses, grid, near, back, bounds)
        targets = np.where(back, found, targets)
    return best


def _fine_table(
    losses: LossInAlpha, own: BoolArray, bounds: tuple[float, float]
) -> tuple[FloatArray, FloatMatrix]:
    """Return a fine grid (J,) and the groups' losses on it (G, J), interpolated."""
    low, high = np.log2(bounds)
    n_cells = max(1, int(np.ceil(_PER_DOUBLING * (high - low))))
    coarse = np.exp2(np.linspace(low, high, n_cells + 1))
    coarse[0], coarse[-1] = bounds
    values = np.empty((2, own.size, coarse.size))
    for j, alpha in enumerate(coarse):
        sums = losses(np.full(own.size, alpha), own)
        values[:, :, j] = sums[:, LOSS], sums[:, GRADIENT]
    share = np.arange(_BETWEEN) / _BETWEEN
    left, width = coarse[:-1, None], np.diff(coarse)[:, None]
    grid = np.append((left + width * share).ravel(), coarse[-1])
    # cubics through losses and slopes at both ends of every cell
    f, slope = values[:, :, :, None]
    s = share
    table = (
        f[:, :-1] * (1 + 2 * s) * (1 - s) ** 2
        + slope[:, :-1] * width * s * (1 - s) ** 2
        + f[:, 1:] * s**2 * (3 - 2 * s)
        + slope[:, 1:] * width * s**2 * (s - 1)
    )
    inside = table.reshape(own.size, -1)
    return grid, np.column_stack([inside, values[0, :, -1]])


def _windows(grid: FloatArray, gamma: float) -> tuple[IntArray, IntArray]:
    """Return the first and the last point within gamma of every point."""
    first = np.searchsorted(grid, grid - gamma, side="left")
    last = np.searchsorted(grid, grid + gamma, side="right") - 1
    return first.astype(np.int64), last.astype(np.int64)


def _best_in_windows(
    table: FloatMatrix, first: IntArray, last: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return where each group is least in each window (J, G), and the sums (J,)."""
    n_groups, size = table.shape
    best = np.tile(np.arange(size), (n_groups, 1))
    levels = [best]
    width = 1
    while 2 * width <= size:
        left, right = levels[-1][:, : size - 2 * width + 1], levels[-1][:, width:]
        right = right[:, : left.shape[1]]
        rows = np.arange(n_groups)[:, None]
        levels.append(np.where(table[rows, right] < table[rows, left], right, left))
        width *= 2
    level = np.log2(last - first + 1).astype(np.int64)
    found = np.empty((size, n_groups), dtype=np.int64)
    rows = np.arange(n_groups)
    for j in range(size):
        one = levels[level[j]]
        left, right = one[:, first[j]], one[:, last[j] + 1 - (1 << level[j])]
        found[j] = np.where(table[rows, right] < table[rows, left], right, left)
    return found, table[rows, found].sum(axis=1)


def _local_minima(
    losses: LossInAlpha,
    grid: FloatArray,
    place: IntArray,
    inner: BoolArray,
    bounds: tuple[float, float],
) -> FloatArray:
    """Return the groups' minima next to these places of the grid, to rounding."""
    targets = grid[place]
    below, above = grid[np.maximum(place - 1, 0)], grid[
        np.minimum(place + 1, grid.size - 1)
    ]  # fmt: skip
    falls = losses(below, inner)[:, GRADIENT] < 0.0
    rises = losses(above, inner)[:, GRADIENT] > 0.0
    some = inner & falls & rises & (below < above)
    if some.any():
        solved = solve_increasing(
            losses, bounds, targets, bracket=(below, above), active=some
        )
        targets = np.where(some, solved.alphas, targets)
    return targets


def _solve_shared(
    losses: LossInAlpha,
    grid: FloatArray,
    start: float,
    ends: IntArray,
    gamma: float,
    bounds: tuple[float, float],
) -> float:
    """Return where the groups that move with alpha_0 have no slope together.

    That is downhill from the start, through as many cells as it takes.
    """
    moving = ends != 0
    if not moving.any():
        return start

    def slope(shared: float) -> float:
        alphas = np.clip(shared + gamma * ends, *bounds)
        free = moving & (alphas > bounds[0]) & (alphas < bounds[1])
        return float(losses(alphas, free)[free, GRADIENT].sum())

    at = int(np.searchsorted(grid, start))
    below, above = max(at - 1, 0), min(at + 1, grid.size - 1)
    for _ in range(_MAX_CELLS):
        if above < grid.size - 1 and slope(float(grid[above])) < 0.0:
            below, above = above, above + 1
        elif below > 0 and slope(float(grid[below])) > 0.0:
            below, above = below - 1, below
        else:
            break
    left, right = float(grid[below]), float(grid[above])
    if not slope(left) < 0.0 < slope(right):
        return start
    from scipy.optimize import brentq

    return float(brentq(slope, left, right, xtol=1e-15 * right, rtol=1e-14))
