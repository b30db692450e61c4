"""Class proportions of a stream, from its predicted classes and the source's labels.

Under label shift a row has prediction i with probability mu_i = sum_j A_ij q_j, where
A_ij = P(predicted i | Y = j) in the source, and so have averages over rows, whether or
not the proportions q drift. Intervals of all A_ij and, at all times at once, of all
average mu_i leave the average q that some matrix and some frequencies in them allow:
those with A_low q <= mu_high and A_high q >= mu_low (Oettli and Prager, 1964).
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.inference.regions import Polytope
from distfreeuq.monitoring.running_means import lower_ends, upper_ends


def confidence_sequence(
    confusion: IntMatrix, counts: IntArray, alpha: float
) -> FloatMatrix:
    """Return intervals of the proportions (K, 2), which hold at all times at once.

    `confusion` are source rows by predicted class and label, `counts` rows of the
    stream by predicted class. Each of the K^2 + K intervals has its share of alpha; of
    that of a mu_i half is for the rows before an alarm and half for those after it.
    """
    n_classes = counts.size
    each = alpha / (n_classes * (n_classes + 1))
    lower, upper = _rate_intervals(np.asarray(confusion, dtype=np.int64), each)
    rows, side = counts.sum(), each / 4.0
    mu_low = lower_ends(counts, 0.0, rows, side, binary=True)
    mu_high = upper_ends(counts, 0.0, rows, side, binary=True)
    # proportions sum to one: one more row, without error
    ones = np.ones((1, n_classes))
    region = Polytope._unchecked(
        np.vstack([lower, ones]),
        np.vstack([upper, ones]),
        np.append(mu_low, 1.0),
        np.append(mu_high, 1.0),
        True,
        alpha,
    )
    box = region.ranges()
    if (box.low > box.high).any():  # nothing fits: no label shift, or a rare miss
        return np.full((n_classes, 2), np.nan)
    ends = np.column_stack([box.low, box.high])
    return np.asarray(np.clip(ends, 0.0, 1.0))


def _rate_intervals(joint: IntMatrix, alpha: float) -> tuple[FloatMatrix, FloatMatrix]:
    """Return an interval of P(predicted i | Y = j) for each pair, by class.

    With many classes most pairs have the same counts, none: one interval is theirs.
    """
    lower, upper = np.empty(joint.shape), np.empty(joint.shape)
    for j, rows in enumerate(joint.sum(axis=0)):
        counts, places = np.unique(joint[:, j], return_inverse=True)
        of_class = np.full(counts.size, rows)
        low, high = unchecked.clopper_pearson(counts, of_class, alpha)
        lower[:, j], upper[:, j] = low[places], high[places]
    return lower, upper


def proportions(confusion: IntMatrix, counts: IntArray) -> FloatArray | None:
    """Return the q >= 0 of sum one whose predictions come closest to those counted.

    None where there is nothing to estimate from: no rows, or only predictions that no
    row of the source has.
    """
    from scipy.optimize import nnls

    of_class = confusion.sum(axis=0)
    if not counts.sum():
        return None
    rates = confusion / np.maximum(of_class, 1)
    found, _ = nnls(rates, counts / counts.sum())
    whole = found.sum()
    return np.asarray(found / whole) if whole > 0 else None
