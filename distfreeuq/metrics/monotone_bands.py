"""Bands for the calibration curve that hold everywhere at once, if it does not fall.

Dimitriadis, Duembgen, Henzi, Puke & Ziegel (2023). If the frequency pi(p) of the event
does not fall with its probability p, then the hits among rows of probabilities up to p
are stochastically at most binomial with pi(p), and those from p on at least: so that
bounds for binomials of the hits between any two probabilities bound the curve on one
side of them. All intervals of probabilities are used at once.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq.bounds import unchecked
from distfreeuq.metrics.band_results import ReliabilityBand
from distfreeuq.metrics.data import read_hits
from distfreeuq.metrics.guarantees import monotone_curve

# More blocks sharpen nothing that is seen, and their bounds grow as the square.
_MOST_BLOCKS = 1000


def isotonic_band(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    n_blocks: int = 100,
    level: float = 0.95,
) -> ReliabilityBand:
    """Return a band that holds the whole calibration curve, if that does not fall.

    Parameters
    ----------
    confidence : array_like (n,)
        Probability of an event in each row: class 1, or that the predicted class is
        right.
    correct : array_like (n,)
        Whether the event came true: booleans, or 0 and 1.
    n_blocks : int, default 100
        Rows are put into at most so many blocks of about as many rows, by confidence;
        equal confidences are in one block. Intervals begin and end with blocks.
    level : float

    Returns
    -------
    ReliabilityBand

    Notes
    -----
    Given the confidences, the outcomes are taken to be independent, and the event's
    frequency not to fall as its confidence grows: nothing else, and at every sample
    size. No bins are chosen by what they count: blocks depend on the confidences alone.
    Each of the B (B + 1) bounds of intervals of blocks has its share of 1 - level.

    If confidences are calibrated, the diagonal is inside with probability of at least
    the level: a diagonal that leaves the band refutes calibration. A band that is empty
    somewhere (low above high) refutes that the curve does not fall.

    Weighted rows have no such band: their hits are no binomials.

    References
    ----------
    .. [1] Dimitriadis, Duembgen, Henzi, Puke and Ziegel (2023), "Honest calibration
       assessment for binary outcome predictions", Biometrika 110.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq import metrics
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> calibrated = metrics.isotonic_band(p, rng.random(4000) < p)
    >>> calibrated
    <ReliabilityBand level=0.95 n=4000 blocks=100 holds the diagonal>
    >>> metrics.isotonic_band(p, rng.random(4000) < p**2).refutes_calibration
    True
    >>> low, high = calibrated.at([0.5])
    >>> bool(low[0] < 0.5 < high[0])
    True
    """
    args = Arguments("isotonic_band")
    n_blocks = args.count(n_blocks, "n_blocks", low=1, high=_MOST_BLOCKS)
    level = args.probability(level, "level")
    rows = read_hits(args, confidence, correct, sample_weight=None)
    order = np.argsort(rows.confidence, kind="stable")
    x = rows.confidence[order].astype(np.float64)
    first = block_starts(x, n_blocks)
    counts = np.diff(np.append(first, x.size))
    hits = np.add.reduceat(rows.hits[order].astype(np.int64), first)
    low, high = band_of_blocks(counts, hits, 1.0 - level)
    starts, ends = x[first], x[np.append(first[1:], x.size) - 1]
    return ReliabilityBand(
        starts=read_only(starts),
        ends=read_only(ends),
        low=read_only(low),
        high=read_only(high),
        counts=read_only(counts),
        hits=read_only(hits),
        level=level,
        guarantee=monotone_curve(level),
    )


def block_starts(x: FloatArray, n_blocks: int) -> IntArray:
    """Return where blocks of sorted numbers begin; equal numbers are in one block."""
    n = x.size
    begins = np.flatnonzero(np.append(True, x[1:] > x[:-1]))
    wanted = np.arange(min(n, n_blocks)) * n / min(n, n_blocks)
    chosen = begins[np.searchsorted(begins, np.ceil(wanted), side="right") - 1]
    return np.unique(chosen).astype(np.int64)


def band_of_blocks(
    counts: IntArray, hits: IntArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Return lower ends from each block on, and upper ends up to each, each (B,).

    low[b] bounds the curve from the end of block b on, high[b] up to its beginning.
    """
    n_blocks = counts.size
    share = alpha / (n_blocks * (n_blocks + 1))
    total = np.concatenate([[0], np.cumsum(counts)])
    came_true = np.concatenate([[0], np.cumsum(hits)])
    i, j = np.triu_indices(n_blocks)
    n, k = total[j + 1] - total[i], came_true[j + 1] - came_true[i]
    lower = np.zeros(n_blocks)
    np.maximum.at(lower, j, unchecked.clopper_pearson_lower(k, n, share))
    misses = unchecked.clopper_pearson_lower(n - k, n, share)
    upper = np.ones(n_blocks)
    np.minimum.at(upper, i, 1.0 - misses)
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
