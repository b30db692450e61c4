"""Is there a shift at all? Tests that source and target predictions have the same law.

Under label shift, no change of the class proportions means no change of the law of X,
so the predictions of both samples are alike. The delta method's covariance of the
weights is singular at w = 1; that of the predictions is not, apart from their sum being
one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._numerics.spd import factor_if_regular

# A direction whose variance is below this, relative to the predictions' mean square, is
# one in which they do not vary.
_RANK = 1e-13


@register("shift-test")
@dataclass(frozen=True, slots=True)
class ShiftTest:
    """A test of "no label shift" (q = p), given that the shift is a label shift.

    Attributes
    ----------
    statistic : float
        Chi-squared in the limit if there is no shift.
    df : int
        Its degrees of freedom; 0 if the predictions never vary.
    p_value : float
        If it is small, there is a shift: of the labels, or of more than the labels.
    method : str

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> test = dfu.bbse(probs, labels, probs[::2]).test()
    >>> test.df, test.p_value < 1e-5
    (1, True)
    """

    statistic: float
    df: int
    p_value: float
    method: str


def compare_counts(source: FloatArray, target: FloatArray) -> ShiftTest:
    """Two-sample chi-squared test of prediction frequencies.

    Parameters
    ----------
    source, target : ndarray (K,)
        Counts of the predicted classes.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.label_shift.inference.shift_test import compare_counts
    >>> test = compare_counts(np.array([30, 50, 20]), np.array([45, 30, 25]))
    >>> round(test.statistic, 4), test.df, round(test.p_value, 4)
    (8.5556, 2, 0.0139)
    """
    seen = (source + target) > 0
    a, b = source[seen].astype(np.float64), target[seen].astype(np.float64)
    n, m = a.sum(), b.sum()
    statistic = float(((np.sqrt(m / n) * a - np.sqrt(n / m) * b) ** 2 / (a + b)).sum())
    return _chi_squared(
        statistic, int(seen.sum()) - 1, "chi-squared, predicted classes"
    )


def compare_means(
    mean_source: FloatArray,
    mean_target: FloatArray,
    gram_source: FloatMatrix,
    gram_target: FloatMatrix,
    n: int,
    m: int,
) -> ShiftTest:
    """Two-sample test of the mean predictions, with their pooled covariance.

    Parameters
    ----------
    mean_source, mean_target : ndarray (K,)
    gram_source, gram_target : ndarray (K, K)
        Sums over the rows of f f'.
    n, m : int
        Rows of source and target.
    """
    pooled = (n * mean_source + m * mean_target) / (n + m)
    covariance = (gram_source + gram_target) / (n + m) - np.outer(pooled, pooled)
    # predictions sum to one: the last class adds nothing
    gap, covariance = (mean_source - mean_target)[:-1], covariance[:-1, :-1]
    floor = _RANK * float(np.trace(gram_source) + np.trace(gram_target)) / (n + m)
    regular = factor_if_regular(covariance, floor)
    if regular is not None:
        squares, df = float(gap @ regular.solve(gap)), gap.size
    else:
        values, vectors = np.linalg.eigh(covariance)
        kept = values > floor
        scores = vectors[:, kept].T @ gap
        squares, df = float(scores**2 @ (1.0 / values[kept])), int(kept.sum())
    return _chi_squared(
        squares / (1.0 / n + 1.0 / m), df, "chi-squared, mean predictions"
    )


def _chi_squared(statistic: float, df: int, method: str) -> ShiftTest:
    p_value = float(special.chdtrc(df, statistic)) if df > 0 else 1.0
    return ShiftTest(statistic if df > 0 else 0.0, max(df, 0), p_value, method)
