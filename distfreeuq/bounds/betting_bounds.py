r"""Means of bounded numbers by betting: intervals that adapt to the rows' own spread.

A gambler who holds that a mean is above q bets the share b of her capital on every row.
If q is the mean, her capital is a product of independent factors of mean one; that it
ever exceeds 1/delta has probability delta at most, and where it does, q is rejected.
Here the bets are fixed in advance, some for rows that vary as much as they can, others
for rows that vary less, and the capital is the mean over the bets. No bet looks at a
row, so that the interval does not depend on their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._numerics.bin_counts import split_between
from distfreeuq.bounds.bin_bounds import log_quotient

# Part of the capital that bets as Chernoff's bound does.
_CHERNOFF_SHARE = 0.5
# No bet is all of the capital, so that no row takes all of it.
_LARGEST_BET = 1.0 - 2.0**-30
# By how much the logarithm of the capital must exceed that of 1/delta: more than its
# rounding errors.
_SLACK = 1e-9
# Ends are multiples of this, rounded outwards.
_RESOLUTION = 2.0**-36
_MOST_STEPS = 100
_NEWTON_STEPS = 12
# Values and weights of more rows than this are split between the points of a grid.
_FEW_ROWS = 1024
_VALUE_STEPS = 512
_WEIGHT_STEPS = 64
# Numbers that are held at once: intervals by bets by points.
_BLOCK = 1 << 21


def betting_interval(
    values: ArrayLike,
    delta: float,
    low: float = 0.0,
    high: float = 1.0,
    side: str = "both",
) -> tuple[float, float]:
    r"""Interval of a mean of bounded numbers, by betting.

    Parameters
    ----------
    values : array_like (n,)
        Independent draws of one law, or draws with the same mean.
    delta : float
        Probability that the interval misses the mean.
    low, high : float
        Ends of an interval that holds all numbers that could have been drawn.
    side : str
        "both": each end fails with probability delta/2. "lower", "upper": one end does
        with probability delta, and the other is that of all numbers.

    Returns
    -------
    low, high : float

    Notes
    -----
    For the mean q of numbers x in [0, 1] and any bet b in [0, 1] that is fixed in
    advance, the capital

    .. math:: K(q) = \sum_j \pi_j \prod_{i=1}^n (1 - b_j + b_j x_i / q)

    has expectation one: by Markov's inequality it reaches 1/delta with probability at
    most delta. The lower end is the smallest q at which it does not; the upper end is
    that of 1 - x. The bet b_j may depend on q, n and delta. It is the one by which
    Chernoff's bound for n / 2^j rows is proved, so that it suits numbers whose variance
    is q (1 - q) / 2^j; half of the capital is given to j = 0. The interval is never
    wider than that of Chernoff's bound at delta/2, and much narrower for numbers that
    vary less than zeros and ones do. It does not depend on the order of the numbers.
    Theory page, 2.5.

    References
    ----------
    Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by
    betting", Journal of the Royal Statistical Society B, whose bets look at earlier
    rows. Cover (1991), "Universal portfolios", Mathematical Finance, for mixtures.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> [round(end, 4) for end in bounds.betting_interval([0.1, 0.2] * 50, 0.05)]
    [0.1341, 0.1883]
    >>> [round(end, 4) for end in bounds.betting_interval([0] * 9, 0.05, side="upper")]
    [0.0, 0.2831]
    """
    reach = high - low
    unit = np.clip((np.asarray(values, dtype=np.float64) - low) / reach, 0.0, 1.0)
    stake = np.ones(unit.shape)
    ends = _interval_of_rows(unit, stake, delta, side)
    return low + reach * ends[0], low + reach * ends[1]


def weighted_betting_interval(
    values: ArrayLike,
    weights: ArrayLike,
    delta: float,
    weight_bound: float,
    low: float = 0.0,
    high: float = 1.0,
    side: str = "both",
) -> tuple[float, float]:
    r"""Interval of a target mean from weighted rows of the source, by betting.

    Parameters
    ----------
    values : array_like (n,)
        A number for each row.
    weights : array_like (n,)
        Weights w = dQ/dP of the rows, up to a factor that need not be known.
    delta : float
        Probability that the interval misses the mean under Q.
    weight_bound : float
        Number U that no weight can exceed, on the scale of the weights.
    low, high, side
        As in `betting_interval`.

    Returns
    -------
    low, high : float

    Notes
    -----
    q is the mean under Q exactly if w (x - q) has mean zero under P. The capital of
    `betting_interval` is that of the factors 1 + (b w/U)(x/q - 1), which are not
    negative and have mean one.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> values, weights = [0, 1, 1, 1] * 50, [1.0, 0.5, 2.0, 1.0] * 50
    >>> ends = bounds.weighted_betting_interval(values, weights, 0.05, 4.0)
    >>> [round(end, 4) for end in ends]
    [0.6776, 0.862]
    """
    reach = high - low
    unit = np.clip((np.asarray(values, dtype=np.float64) - low) / reach, 0.0, 1.0)
    stake = np.minimum(np.asarray(weights, dtype=np.float64) / weight_bound, 1.0)
    ends = _interval_of_rows(unit, stake, delta, side)
    return low + reach * ends[0], low + reach * ends[1]


def betting_ends(
    stake: FloatArray,
    values: FloatArray,
    rows: FloatMatrix,
    n: FloatArray,
    delta: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of several intervals, each of which fails at delta/2.

    Parameters
    ----------
    stake : ndarray (S,)
        Weights of points in units of their bound, from 0 to 1.
    values : ndarray (S,)
        Their values, from 0 to 1.
    rows : ndarray (M, S)
        How many rows each interval has at each point.
    n : ndarray (M,)
        Rows of each interval, those of no weight included.
    delta : float
        Probability that an interval misses.

    Returns
    -------
    low, high : ndarray (M,)
    """
    low = _lower_ends(stake, values, rows, n, delta / 2.0)
    high = 1.0 - _lower_ends(stake, 1.0 - values, rows, n, delta / 2.0)
    return low, high


# ------------------------------------------------------------------------- from rows


def _interval_of_rows(
    unit: FloatArray, stake: FloatArray, delta: float, side: str
) -> tuple[float, float]:
    stakes, values, rows = _points(unit, stake)
    n = np.array([float(unit.size)])
    share = delta / 2.0 if side == "both" else delta
    ends = [0.0, 1.0]
    if side != "upper":
        ends[0] = float(_lower_ends(stakes, values, rows, n, share)[0])
    if side != "lower":
        ends[1] = 1.0 - float(_lower_ends(stakes, 1.0 - values, rows, n, share)[0])
    return ends[0], ends[1]


def _points(
    unit: FloatArray, stake: FloatArray
) -> tuple[FloatArray, FloatArray, FloatMatrix]:
    """Return different pairs of weight and value (S,), and how many rows have each.

    Many rows are split between the points of a grid. The logarithm of a bet's factor is
    concave in the value and in the weight, so that this only lowers the capital: the
    interval is valid, and a little wider.
    """
    if unit.size <= _FEW_ROWS:
        pairs = np.column_stack([stake, unit])
        different, counts = np.unique(pairs, axis=0, return_counts=True)
        return different[:, 0], different[:, 1], counts[None, :].astype(np.float64)
    equal = stake.min() == stake.max()
    steps = (1, _VALUE_STEPS) if equal else (_WEIGHT_STEPS, _WEIGHT_STEPS)
    table = np.zeros((steps[0] + 1) * (steps[1] + 1))
    heaviest, largest = float(stake.max()), float(unit.max())
    heavier, weight_share = split_between(stake, heaviest, steps[0])
    above, value_share = split_between(unit, largest, steps[1])
    for i, in_weight in ((0, 1.0 - weight_share), (1, weight_share)):
        for j, in_value in ((0, 1.0 - value_share), (1, value_share)):
            place = (heavier + i) * (steps[1] + 1) + above + j
            table += np.bincount(place, in_weight * in_value, table.size)
    stakes = np.repeat(np.linspace(0.0, heaviest, steps[0] + 1), steps[1] + 1)
    values = np.tile(np.linspace(0.0, largest, steps[1] + 1), steps[0] + 1)
    some = table > 0.0
    return stakes[some], values[some], table[None, some]


# --------------------------------------------------------------------- the lower ends


def _lower_ends(
    stake: FloatArray,
    values: FloatArray,
    rows: FloatMatrix,
    n: FloatArray,
    delta: float,
) -> FloatArray:
    """Return the smallest q that the capital does not reject, for each line of rows."""
    gain = stake * values
    total = rows @ gain
    low = np.zeros(total.shape)
    # without gain no q is rejected
    known = np.flatnonzero((total > 0.0) & (n > 0.0))
    level = log_quotient(1.0, delta)
    if known.size == 0 or not math.isfinite(level):
        return low
    center = np.minimum(total[known] / (rows[known] @ stake), 1.0 - _RESOLUTION)
    bets = _Bets(n[known], level)
    size = max(1, _BLOCK // (stake.size * bets.log_share.shape[1]))
    for first in range(0, known.size, size):
        block = slice(first, first + size)
        own, part = rows[known[block]], bets.of(block)

        def excess(
            q: FloatArray, own: FloatMatrix = own, part: _Bets = part
        ) -> FloatArray:
            bet = part.at(q)
            odds = gain / q[:, None] - stake
            factors = np.log1p(bet[:, :, None] * odds[:, None, :])
            capital = np.einsum("mjs,ms->mj", factors, own) + part.log_share
            logarithm = special.logsumexp(capital, axis=1)
            return np.asarray(logarithm - (level + _SLACK))

        low[known[block]] = _last_rejected(excess, center[block])
    return low


class _Bets:
    """Which share of the capital makes which bet, by interval.

    Bet j is that of Chernoff's bound for n / 2^j rows; more bets than bring the rows
    down to an eighth of the logarithm that the capital has to reach are of no use.
    """

    def __init__(self, n: FloatArray, level: float) -> None:
        useful = np.ceil(np.log2(np.maximum(8.0 * n / level, 2.0))).astype(np.int64)
        j = np.arange(1, int(useful.max(initial=1)) + 1)
        harmonic = np.where(j <= useful[:, None], 1.0 / j, 0.0)
        others = (1.0 - _CHERNOFF_SHARE) * harmonic / harmonic.sum(axis=1)[:, None]
        first = np.full((n.size, 1), _CHERNOFF_SHARE)
        with np.errstate(divide="ignore"):
            self.log_share = np.log(np.hstack([first, others]))
        scale = 2.0 ** np.arange(j.size + 1) / n[:, None]
        reached = np.where(np.isfinite(self.log_share), level - self.log_share, level)
        self._entropy = reached * scale

    def of(self, block: slice) -> _Bets:
        """Return the bets of some of the intervals."""
        part = object.__new__(_Bets)
        part.log_share, part._entropy = self.log_share[block], self._entropy[block]
        return part

    def at(self, q: FloatArray) -> FloatMatrix:
        """Return the bets against means of q or less, (M, J).

        With p > q the solution of KL(p, q) = entropy, the bet (p - q)/(1 - q) makes as
        much of zeros and ones of mean p as can be made: n KL(p, q). Newton's method
        from above, where the entropy is convex and increasing.
        """
        most = (
            1.0 - 2.0**-52
        )  # any bets are valid, and those of q = 1 have no logarithm
        odds = np.minimum(q[:, None], most)
        certain = -np.log(odds) <= self._entropy
        entropy = np.where(certain, 0.0, self._entropy)
        p = np.minimum(
            odds + np.sqrt(entropy / 2.0),
            odds + entropy + np.sqrt(entropy * (entropy + 2.0 * odds)),
        )
        p = np.minimum(np.where(certain, (1.0 + odds) / 2.0, p), most)
        for _ in range(_NEWTON_STEPS):
            slope = np.log(p / odds) - np.log1p(-p) + np.log1p(-odds)
            distance = special.rel_entr(p, odds) + special.rel_entr(1.0 - p, 1.0 - odds)
            nearer = p - (distance - entropy) / np.maximum(slope, 1e-300)
            p = np.clip(nearer, np.minimum(odds * (1.0 + 1e-12), most), most)
        bet = np.where(certain, 1.0, (p - odds) / (1.0 - odds))
        return np.clip(bet, 0.0, _LARGEST_BET)


def _last_rejected(
    excess: Callable[[FloatArray], FloatArray], center: FloatArray
) -> FloatArray:
    """Return the largest numbers that are found to be rejected, rounded down.

    The capital falls in q: what is below a rejected number is rejected. False position;
    the value of an end that stays twice is halved (the Illinois rule).
    """
    inside, outside = center, np.zeros(center.shape)
    at_inside, at_outside = excess(inside), np.full(center.shape, np.inf)
    last = np.zeros(center.shape)
    for _ in range(_MOST_STEPS):
        if (inside - outside <= _RESOLUTION).all():
            break
        with np.errstate(invalid="ignore"):
            share = at_inside / (at_inside - at_outside)
        middle = np.isinf(at_outside) | (share <= 0.0) | (share >= 1.0)
        q = inside + np.where(middle, 0.5, share) * (outside - inside)
        value = excess(q)
        rejected = value >= 0.0
        side = np.where(rejected, 1.0, -1.0)
        stays = side == last
        at_inside = np.where(
            rejected, np.where(stays, at_inside / 2.0, at_inside), value
        )
        at_outside = np.where(
            rejected, value, np.where(stays, at_outside / 2.0, at_outside)
        )
        inside, outside = np.where(rejected, inside, q), np.where(rejected, q, outside)
        last = side
    return np.floor(outside / _RESOLUTION) * _RESOLUTION
