"""Label-shift thresholds from a bound on one combination of the weights at a time."""

from __future__ import annotations

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.quantiles import SLACK
from distfreeuq.label_shift.inference.limiting_law import LimitLaw

# So many scores are looked at together: a matrix of this many rows and K columns.
_BLOCK = 256


def directional_thresholds(
    scores: FloatArray, labels: IntArray, law: LimitLaw, alpha: float, delta: float
) -> FloatArray:
    """Return thresholds (K,), each below the true weights' with probability <= delta.

    In the limit (theory page, 4.10). For class y and threshold t put
    c_k = (1 - alpha)(n_k + 1{k = y}) - N_k(t), N_k(t) counting class k's scores up to
    t: the true weights' threshold is the smallest t with c.w <= 0. With the upper bound
    U(c) = c.w_hat + z sqrt(c'Vc), the threshold is the smallest score from which on
    U <= 0 at *every* score: where U first falls to zero would not do, since U need not
    decrease. +inf if U > 0 at the largest score, and for classes without rows.

    Scores are ascending. They are searched from the largest down: a row less adds
    V's column of its label to V c, so that all labels' bounds cost K operations a row.
    """
    n_classes = law.center.size
    counts = np.bincount(labels, minlength=n_classes).astype(np.float64)
    thresholds = np.full(n_classes, np.inf)
    if not law.told[counts > 0].all():
        return thresholds
    z = float(special.ndtri(1.0 - delta))
    level, w, v = 1.0 - alpha - SLACK, law.center, law.covariance
    own = np.diag(v)
    # c without the new row's own part, at the largest score; then V c, c.w and c'Vc
    c = level * counts - counts
    vc, lacking = v @ c, float(c @ w)
    squared = float(c @ vc)
    last_of_ties = np.append(scores[1:] != scores[:-1], True)
    undecided = law.told.copy()
    end = scores.size
    while end > 0 and undecided.any():
        start = max(0, end - _BLOCK)
        rows = labels[start:end][::-1]
        more = np.cumsum(v[rows], axis=0)
        before = vc + more - v[rows]  # V c while the row still counts
        steps = 2.0 * before[np.arange(rows.size), rows] + own[rows]
        squares = squared + _sums_before(steps)
        lack = lacking + _sums_before(w[rows])
        variance = squares[:, None] + 2.0 * level * before + level**2 * own
        upper = lack[:, None] + level * w + z * np.sqrt(np.maximum(variance, 0.0))
        above = (upper > 0.0) & last_of_ties[start:end][::-1, None]
        found = above.any(axis=0) & undecided
        index = end - above.argmax(
            axis=0
        )  # of the next score above the last that fails
        ended = found & (index < scores.size)
        thresholds[ended] = scores[index[ended]]
        undecided &= ~found
        vc, end = vc + more[-1], start
        squared += float(steps.sum())
        lacking += float(w[rows].sum())
    if scores.size:
        thresholds[undecided] = scores[0]
    return thresholds


def _sums_before(values: FloatArray) -> FloatArray:
    """Return the sums of all values before each one."""
    return np.asarray(np.cumsum(values) - values)
