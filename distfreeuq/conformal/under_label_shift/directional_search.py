"""Label-shift thresholds from a bound on one combination of the weights at a time.

Thresholds are searched from the largest score down: a row less changes the combination
in one entry, and its variance by a column of the covariance.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.quantiles import SLACK
from distfreeuq.label_shift.inference.moment_estimate import PSEUDO_ROWS
from distfreeuq.label_shift.inference.moments.limiting_law import LimitLaw

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

    Scores are ascending. All labels' bounds cost K operations a row.
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


def directional_pac_threshold(
    scores: FloatArray,
    labels: IntArray,
    law: LimitLaw,
    alpha: float,
    delta: float,
    independent: bool,
) -> float:
    """Return a threshold whose coverage is 1 - alpha with probability 1 - delta.

    In the limit (theory page, 5.3). The share of the target above t is estimated by
    S = sum_k q_k M_k(t) / n_k, M_k(t) counting class k's scores above t. Its standard
    error has a part from the estimate of q and one from the counts, the latter as if
    the share were alpha: they are added, since the rows may be the same; independent
    ones by their squares. The threshold is the smallest score from which on S + z
    (standard error) <= alpha at every score, +inf if it is not so at the largest.

    Parameters
    ----------
    scores, labels : ndarray (n,)
        Scores ascending.
    law : LimitLaw
        That of the target's class proportions q.
    alpha, delta : float
    independent : bool
        The estimate of q is from other rows.
    """
    n_classes = law.center.size
    counts = np.bincount(labels, minlength=n_classes).astype(np.float64)
    if not scores.size or not law.told[counts > 0].all():
        return np.inf
    # a standard error that may be too large is no bound below the median
    z = max(0.0, float(special.ndtri(1.0 - delta)))
    down = labels[
        ::-1
    ]  # the labels of rows in the order in which they come to be above
    step = 1.0 / counts[down]
    shares = _sums_before(law.center[down] * step)
    of_counts = _errors_of_counts(down, counts, law.center, alpha)
    last_of_ties = np.append(scores[1:] != scores[:-1], True)[::-1]
    vg, squared = np.zeros(n_classes), 0.0  # V g and g'V g, g_k = M_k / n_k
    for start in range(0, scores.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        rows, size = down[part], step[part]
        columns = law.covariance[rows] * size[:, None]
        more = np.cumsum(columns, axis=0)
        before = (vg + more - columns)[np.arange(rows.size), rows]
        steps = size * (2.0 * before + size * np.diag(law.covariance)[rows])
        of_weights = np.sqrt(np.maximum(squared + _sums_before(steps), 0.0))
        error = (
            np.hypot(of_weights, of_counts[part])
            if independent
            else of_weights + of_counts[part]
        )
        above = (shares[part] + z * error > alpha) & last_of_ties[part]
        if above.any():
            found = scores.size - (start + int(above.argmax()))
            return float(scores[found]) if found < scores.size else np.inf
        vg, squared = vg + more[-1], squared + float(steps.sum())
    return float(scores[0])


def _errors_of_counts(
    labels: IntArray, counts: FloatArray, q: FloatArray, alpha: float
) -> FloatArray:
    """Return the standard error of sum_k q_k M_k / n_k before each row counts.

    It is that of a target of which alpha is above: all classes' shares are multiplied
    by the same number. They are mixed with `PSEUDO_ROWS` rows of which alpha are above,
    since few rows often show none.
    """
    order = np.argsort(labels, kind="stable")
    first = np.cumsum(counts) - counts
    place = np.empty(labels.size)
    place[order] = np.arange(labels.size) - first[labels[order]]
    n, weight = np.where(counts > 0, counts, 1.0), np.where(counts > 0, q, 0.0)
    start = PSEUDO_ROWS * alpha / (n + PSEUDO_ROWS)
    share = (place + PSEUDO_ROWS * alpha) / (n[labels] + PSEUDO_ROWS)
    more = 1.0 / (n[labels] + PSEUDO_ROWS)
    squared = weight**2 / n
    own = squared[labels]
    total = weight @ start + _sums_before(weight[labels] * more)
    linear = squared @ start + _sums_before(own * more)
    square = squared @ start**2 + _sums_before(own * (2.0 * share + more) * more)
    factor = np.maximum(1.0, alpha / np.maximum(total, 1e-6 * alpha))
    variance = np.maximum(factor * (linear - factor * square), linear - square)
    return np.sqrt(np.maximum(variance, 0.0))


def _sums_before(values: FloatArray) -> FloatArray:
    """Return the sums of all values before each one."""
    return np.asarray(np.cumsum(values) - values)
