"""What a class of few source rows may do to the intervals of all other classes.

The mean of phi_k over class j's rows is 1{j = k} by construction, whatever it is in the
population. For a class of many rows the difference is noise with a variance that the
rows show. A handful of rows show neither: three rows that are all predicted right go
with a class half of which is mistaken for k, and if the class is half of the target, a
quarter of the target is counted as k's that is not.

So the difference is bounded, as the mean of numbers in the range of phi_k (Chernoff's
bound at the rows there are), and the class's share of the target is too; no normal
limit is taken (theory page, 4.6).
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.inference.moment_estimate import MomentEstimate

# Of a class with fewer source rows than this the mean prediction is as good as unknown.
# Measured at 3 rows and half of the target: nominal 95 % intervals that took the noise
# for normal covered the class it is mostly confused with in a quarter of draws.
ENOUGH_ROWS = 5

# Scarce classes that the estimate gives less of the target than this are left alone: a
# hundred classes have some, and the target little of them.
_MATERIAL = 0.05
# An estimated share below minus this, or as far above one, is no estimate.
_OUTSIDE = 0.5

# Bounds of shares of the target depend on one another: so many times each is renewed.
_ROUNDS = 10


def scarce_margins(
    estimate: MomentEstimate,
    high: FloatArray,
    told: BoolArray,
    alpha: float,
    unseen: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return by how much shares x p_k may be less, and more, for the scarce classes.

    Parameters
    ----------
    estimate : MomentEstimate
    high : ndarray (K,)
        Upper ends of the target's shares as far as class means are known.
    told : ndarray (K,) of bool
        Classes that predictions tell from others.
    alpha : float
        Error of each bound.
    unseen : bool, default False
        Whether there are classes without source rows beside those of the estimate.

    Returns
    -------
    below, above : ndarray (K,)
        Zeros if no class has fewer than `ENOUGH_ROWS` source rows, or the target has
        hardly any rows of those that have.
    """
    n_classes, top = high.size, np.minimum(high, 1.0)
    left = 1.0 - np.maximum(top, 0.0)
    if unseen or not estimate.counts.all():
        # all of the target may be of a class of which nothing is known
        least, most = estimate.reach.T
        return most, np.where(least < 0.0, -least * np.maximum(left, 1e-300), 0.0)
    scarce = np.flatnonzero(estimate.counts < ENOUGH_ROWS)
    if not _material(estimate, scarce):
        return np.zeros(n_classes), np.zeros(n_classes)
    rows, which = np.unique(estimate.counts[scarce], return_inverse=True)
    too_high, too_low = _gaps(estimate, rows, alpha)
    shares = _largest_shares(estimate, scarce, which, too_low, top, told, alpha)
    room = _room(which, shares, n_classes, scarce)
    below = _most(too_high, room, np.ones(n_classes))
    return below, _most(too_low, room, left)


def _material(estimate: MomentEstimate, scarce: IntArray) -> bool:
    """Return whether the target may have many rows of the scarce classes.

    By the estimate; but one far outside all proportions says nothing of them.
    """
    if not scarce.size:
        return False
    outside = max(-float(estimate.prior.min()), float(estimate.prior.max()) - 1.0)
    of_target = float(estimate.feasible_prior[scarce].sum())
    return outside >= _OUTSIDE or of_target >= _MATERIAL


def _gaps(
    estimate: MomentEstimate, rows: FloatArray, alpha: float
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return by how much phi_k's mean in another class may be above, and below, zero.

    Both are (K, U) for U different numbers of rows, on which alone the class's part
    depends.
    """
    least, width = estimate.reach[:, 0], np.ptp(estimate.reach, axis=1)
    at = _position(0.0, least, width)[:, None]
    low, high = unchecked.weighted_chernoff(rows, at, 1.0, 1.0, alpha)
    with np.errstate(invalid="ignore"):  # no width times no gap
        gaps = [width[:, None] * (high - at), width[:, None] * (at - low)]
    above, below = (
        np.asarray(np.maximum(np.nan_to_num(gap, nan=0.0, posinf=np.inf), 0.0))
        for gap in gaps
    )
    return above, below


def _position(value: float, least: FloatArray, width: FloatArray) -> FloatArray:
    """Return where a value lies in ranges, from 0 to 1; 1/2 in one without ends."""
    known = np.isfinite(width) & (width > 0)
    where = (value - np.where(known, least, 0.0)) / np.where(known, width, 1.0)
    return np.where(known, np.clip(where, 0.0, 1.0), 0.5)


def _largest_shares(
    estimate: MomentEstimate,
    scarce: IntArray,
    which: IntArray,
    too_low: FloatMatrix,
    high: FloatArray,
    told: BoolArray,
    alpha: float,
) -> FloatArray:
    """Return caps of the target's shares of the scarce classes.

    phi_j's mean over the target is at least q_j times its mean in class j, less what
    other scarce classes take away. Caps start at one and get smaller round by round.
    """
    least, width = estimate.reach[scarce, 0], np.ptp(estimate.reach[scarce], axis=1)
    at = _position(1.0, least, width)
    low, _ = unchecked.weighted_chernoff(estimate.counts[scarce], at, 1.0, 1.0, alpha)
    with np.errstate(invalid="ignore"):
        own = 1.0 - width * (at - low)
    bounded = told[scarce] & (own > 0.0)
    caps = np.ones(scarce.size)
    among, each = too_low[scarce], np.arange(scarce.size)
    for _ in range(_ROUNDS):
        room = _room(which, caps, scarce.size, each)
        taken = _most(among, room, np.ones(scarce.size))
        smaller = (np.maximum(high[scarce], 0.0) + taken) / np.where(bounded, own, 1.0)
        caps = np.where(bounded, np.minimum(smaller, caps), caps)
    return caps


def _room(
    which: IntArray, caps: FloatArray, n_lines: int, own: IntArray
) -> FloatMatrix:
    """Return sums of caps by number of rows, a line for each class (lines, U).

    Scarce classes are left out of their `own` lines: their own mean is known.
    """
    sums = np.asarray(np.bincount(which, weights=caps), dtype=np.float64)
    room = np.tile(sums, (n_lines, 1))
    room[own, which] -= caps
    return room


def _most(gaps: FloatMatrix, room: FloatMatrix, total: FloatArray) -> FloatArray:
    """Return the largest sums of q gap, a row each: 0 <= q <= room, sum q <= total."""
    order = np.argsort(-gaps, axis=1, kind="stable")
    room = np.take_along_axis(np.maximum(room, 0.0), order, axis=1)
    before = np.cumsum(room, axis=1) - room
    taken = np.clip(total[:, None] - before, 0.0, room)
    largest = np.take_along_axis(gaps, order, axis=1)
    sums = np.where(taken > 0.0, largest * np.maximum(taken, 1e-300), 0.0).sum(axis=1)
    return np.asarray(sums)
