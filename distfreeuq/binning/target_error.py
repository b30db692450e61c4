"""The largest error on the target that an L1 ball around the frequencies allows.

The L1 distance of two laws is twice the largest excess of one over the other on a set
of labels. For each set A the least target probability sum_A w pi / sum w pi over the
ball is a linear-fractional program, and Dinkelbach's method solves it: for a candidate
value l, minimise sum_k w_k (1{k in A} - l) pi_k, which moves mass from the labels with
the largest coefficients to the one with the smallest.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix

MOST_CLASSES = 8
"""With more, 2^K - 2 programs cost more than they are worth."""
_STEPS = 60
_ROUNDING = 1e-9
_TRIVIAL = 2.0


def largest_error(
    frequencies: FloatMatrix, radius: FloatArray, label_weight: FloatArray
) -> FloatArray:
    """Return the supremum over each bin's ball, 2 where it holds no mass at all, (M,).

    Parameters
    ----------
    frequencies : ndarray (M, K)
        The source's; NaN in bins without rows.
    radius : ndarray (M,)
        L1 radius of the ball around them, cut with the simplex.
    label_weight : ndarray (K,)
        Known weights.
    """
    n_classes = frequencies.shape[1]
    empty = np.asarray(np.isnan(frequencies).any(axis=1))
    pi = np.where(empty[:, None], 1.0 / n_classes, frequencies)
    w = label_weight / label_weight.max()
    subsets = (np.arange(1, 2**n_classes - 1)[:, None] >> np.arange(n_classes)) & 1
    inside = subsets.astype(np.float64)  # (S, K)
    budget = np.minimum(0.5 * radius, 1.0)[:, None]
    mass = pi @ w
    # the ball may hold laws without any weight, of which the target says nothing
    open_ended = budget[:, 0] >= np.where(w > 0.0, pi, 0.0).sum(axis=1) - 1e-12
    open_ended &= bool((w == 0.0).any())
    trivial = empty | open_ended | (mass <= 0.0)
    safe = np.where(mass > 0.0, mass, 1.0)
    start = (pi * w) @ inside.T / safe[:, None]  # (M, S)
    least = start.copy()
    for _ in range(_STEPS):
        coefficients = w * (inside[None, :, :] - least[:, :, None])
        moved = _least_point(pi, coefficients, budget)
        weighted = moved * w
        total = weighted.sum(axis=2)
        share = np.divide(
            (weighted * inside).sum(axis=2), total, out=least.copy(), where=total > 0.0
        )
        if not (share < least - 1e-14).any():
            break
        least = np.minimum(least, share)
    error = 2.0 * (start - least).max(axis=1) + _ROUNDING
    return np.where(trivial, _TRIVIAL, np.minimum(error, _TRIVIAL))


def _least_point(
    pi: FloatMatrix, coefficients: FloatArray, budget: FloatArray
) -> FloatArray:
    """Return the laws of the ball with the least sums of coefficients, (M, S, K)."""
    order = np.argsort(-coefficients, axis=2, kind="stable")
    sorted_pi = np.take_along_axis(
        np.broadcast_to(pi[:, None, :], coefficients.shape), order, axis=2
    )
    before = np.cumsum(sorted_pi, axis=2) - sorted_pi
    taken = np.clip(budget[:, :, None] - before, 0.0, sorted_pi)
    moved = sorted_pi - taken
    moved[:, :, -1] += taken.sum(axis=2)
    out = np.empty_like(moved)
    np.put_along_axis(out, order, moved, axis=2)
    return out
