"""Means and frequencies of rows that carry bounded weights, in finite samples."""

import math

import numpy as np
from scipy import special

from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq.bounds.bin_bounds import binning_weissman, log_quotient


def empirical_bernstein(values: ArrayLike, delta: float, width: float = 1.0) -> float:
    r"""Two-sided radius of a mean of bounded numbers, from their own variance.

    .. math:: \sqrt{2 V \ln(4/\delta) / n} + 7 w \ln(4/\delta) / (3 (n - 1))

    Parameters
    ----------
    values : array_like (n,)
        Independent draws of one law; +inf is returned for fewer than two.
    delta : float
        Probability that the mean is off by more.
    width : float, default 1
        Length w of an interval that the numbers lie in.

    References
    ----------
    Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance
    penalization", COLT. Theorem 4, on both sides.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(bounds.empirical_bernstein([0.1] * 50 + [0.2] * 50, 0.05), 4)
    0.1182
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.size < 2:
        return math.inf
    log_term = log_quotient(4.0, delta)
    # in units of the width, so that no square overflows
    unit = (sample - sample.min()) / width
    spread = math.sqrt(2.0 * float(unit.var(ddof=1)) * log_term / sample.size)
    return width * (spread + 7.0 * log_term / (3.0 * (sample.size - 1)))


def weighted_hoeffding(
    n: ArrayLike,
    mean_weight: ArrayLike,
    weight_bound: float,
    n_bins: int,
    n_classes: int,
    alpha: float,
) -> FloatArray:
    r"""L1 radius of weighted frequencies: (U / mean w) sqrt(2 ln(M (2^K-2)/alpha) / N).

    Parameters
    ----------
    n : int or array_like
        Rows in each bin.
    mean_weight : float or array_like
        Mean weight of the rows in each bin.
    weight_bound : float
        Number U that no weight can exceed, on the scale of the weights.
    n_bins, n_classes, alpha
        As in `binning_hoeffding`.

    Notes
    -----
    With weights w = dQ/dP up to scale and any subset A of classes, w (1{Y in A} - Q(A))
    has mean zero under P and lies in an interval of length U. Its mean over the bin is
    the mean weight times the error of A's weighted frequency: Hoeffding's inequality,
    one-sided, for 2^K - 2 subsets. No weight's mean needs to be known.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(float(bounds.weighted_hoeffding(100, 1.0, 2.0, 10, 2, 0.1)), 4)
    0.651
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = weight_bound / np.asarray(mean_weight, dtype=np.float64)
        radius = spread * binning_weissman(n, n_bins, n_classes, alpha)
    return np.nan_to_num(radius, nan=np.inf, posinf=np.inf)


def weighted_chernoff(
    n: ArrayLike,
    frequency: ArrayLike,
    mean_weight: ArrayLike,
    weight_bound: float,
    delta: float,
) -> tuple[FloatArray, FloatArray]:
    r"""Interval of a probability from a weighted frequency: Chernoff's bound, inverted.

    Parameters
    ----------
    n : array_like
        Rows in each bin.
    frequency : array_like
        Weighted share of the event; NaN where a bin has no weight.
    mean_weight : array_like
        Mean weight of the rows in each bin.
    weight_bound : float
        Number U that no weight can exceed.
    delta : float
        Probability that the interval misses, half on either side, for each bin.

    Returns
    -------
    low, high : ndarray
        0 and 1 where nothing is known.

    Notes
    -----
    For the true probability q, the numbers q + w (1{event} - q) / U lie in [0, 1] and
    have mean q; their average is q + (mean w / U) (frequency - q). By Hoeffding's first
    inequality the relative entropy KL(average || q) exceeds ln(2/delta)/n on either
    side with probability at most delta/2. It is convex in q, so that two bisections
    find the ends. By Pinsker's inequality they are within `weighted_hoeffding`, and
    much closer for frequencies near 0 and 1.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> low, high = bounds.weighted_chernoff([400], [0.98], [1.0], 2.0, 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.906], [0.998])
    """
    rows, share, mean = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in (n, frequency, mean_weight))
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        allowed = log_quotient(2.0, delta) / rows
    known = np.isfinite(share) & (rows > 0)
    center = np.where(known, share, 0.5)
    # the mean of weights that are all at their bound may round to more than it
    speed = np.where(known, np.minimum(mean / weight_bound, 1.0), 0.0)
    # both ends at once: calls on few numbers cost more than the numbers
    ends = np.array([0.0, 1.0]).reshape(2, *(1,) * center.ndim)
    inside, outside = (
        np.array(np.broadcast_to(x, (2, *center.shape))) for x in (center, ends)
    )
    for _ in range(60):
        middle = (inside + outside) / 2.0
        average = np.clip(middle + speed * (center - middle), 0.0, 1.0)
        entropy = special.rel_entr(average, middle)
        entropy = entropy + special.rel_entr(1.0 - average, 1.0 - middle)
        fits = entropy <= allowed
        inside = np.where(fits, middle, inside)
        outside = np.where(fits, outside, middle)
    low, high = np.where(known, outside, ends)
    return low, high


def weighted_bernstein(
    n: ArrayLike,
    sums: tuple[ArrayLike, ArrayLike],
    squares: tuple[ArrayLike, ArrayLike],
    weight_bound: float,
    delta: float,
) -> FloatArray:
    r"""Radius of a weighted frequency, from the variance of the weighted rows.

    Parameters
    ----------
    n : array_like
        Rows in each bin.
    sums : (array_like, array_like)
        Sum of the weights: of the rows with the event, and of all rows.
    squares : (array_like, array_like)
        Sum of the squared weights, likewise.
    weight_bound : float
        Number U that no weight can exceed.
    delta : float
        Probability that the frequency is off by more, for each bin.

    Returns
    -------
    ndarray
        Error of a probability; +inf where the bound says nothing.

    Notes
    -----
    For the true probability q, the numbers w (1{event} - q) have mean zero and lie in
    an interval of length U. `empirical_bernstein` says which q are compatible with
    their mean and variance, both known up to q: the ends of that set solve a quadratic
    equation.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> radius = bounds.weighted_bernstein(
    ...     [1000], ([20.0], [1000.0]), ([20.0], [1000.0]), 1.0, 0.05
    ... )
    >>> float(radius[0].round(4))
    0.0233
    """
    rows = np.asarray(n, dtype=np.float64)
    log_term = log_quotient(4.0, delta)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # in units of the weights' bound, so that no product of two weights overflows
        hit, total = (np.asarray(x, dtype=np.float64) / weight_bound for x in sums)
        hit_square, square = (
            np.asarray(x, dtype=np.float64) / weight_bound / weight_bound
            for x in squares
        )
        mean, frequency = total / rows, hit / total
        additive = 7.0 * log_term / (3.0 * (rows - 1.0))
        factor = 2.0 * log_term / (rows - 1.0)  # of the biased variance
        # mean square of w (1{event} - q), q = frequency + d, as a quadratic in d
        constant = (
            hit_square * (1.0 - frequency) ** 2 + (square - hit_square) * frequency**2
        ) / rows
        slope = 2.0 * (square * frequency - hit_square) / rows
        # (mean |d| - additive)^2 <= factor (constant + slope d + square d^2 - mean^2
        # d^2)
        leading = mean**2 * (1.0 + factor) - factor * square / rows
        ends = []
        for sign in (1.0, -1.0):
            linear = -2.0 * mean * additive - sign * factor * slope
            rest = additive**2 - factor * constant
            root = np.sqrt(np.maximum(linear**2 - 4.0 * leading * rest, 0.0))
            ends.append((root - linear) / (2.0 * leading))
        radius = np.maximum(ends[0], ends[1])
    good = (rows > 1) & (leading > 0.0) & np.isfinite(radius)
    return np.where(good, np.maximum(radius, 0.0), np.inf)
