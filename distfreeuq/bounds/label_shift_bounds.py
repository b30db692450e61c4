"""How far reweighted frequencies in bins can be from the target's probabilities.

Theorem 4 of Podkopaev and Ramdas (2021), as printed, fails when a weight is zero;
`theorem4_printed` keeps its formula for comparison. The others are repaired, and
smaller where both hold.
"""

import numpy as np

from distfreeuq._base.arguments import LARGEST
from distfreeuq._base.array_types import ArrayLike, FloatArray


def condition_number(label_weight: ArrayLike) -> float:
    """Largest weight over the smallest that is not zero: kappa.

    One does not mean that there is no shift: (2, 0) has it too.

    Parameters
    ----------
    label_weight : array_like (K,)

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.condition_number([1.0, 2.0, 0.5]), bounds.condition_number([2.0, 0.0])
    (4.0, 1.0)
    """
    weight = np.asarray(label_weight, dtype=np.float64)
    return float(weight.max()) / float(weight[weight > 0].min())


def theorem4_printed(
    radius: ArrayLike, label_weight: ArrayLike, weight_error: float = 0.0
) -> FloatArray:
    r"""Theorem 4 as printed: 2 kappa radius + 2 weight_error / min w.

    **False when a weight is zero**, which is therefore an error: with w = (2, 2, 0),
    probabilities (.05, .05, .9) and frequencies (.1, 0, .9), the error on the target
    is 1 and this bound .2. Where it holds, `label_shift_source_radius` is at most half
    of its first term. Nothing in this package relies on it.

    Parameters
    ----------
    radius : float or array_like
        L1 error of the frequencies on the source.
    label_weight : array_like (K,)
        Positive weights: the true ones for a bound; with estimated ones it is none.
    weight_error : float, default 0
        Largest error of a weight.

    References
    ----------
    .. [1] Podkopaev and Ramdas (2021), UAI. Theorem 4, eq. (18).

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(float(bounds.theorem4_printed(0.05, [1.0, 2.0, 0.5], 0.2)), 4)
    1.2
    """
    weight = np.asarray(label_weight, dtype=np.float64)
    kappa = min(condition_number(weight), LARGEST / 2.0)  # infinite times 0 is NaN
    with np.errstate(over="ignore"):
        source = 2.0 * kappa * np.asarray(radius, dtype=np.float64)
        return np.asarray(source + 2.0 * weight_error / float(weight.min()))


def label_shift_source_radius(
    radius: ArrayLike, largest_weight: float, smallest_mass: ArrayLike
) -> FloatArray:
    r"""Error on the target that the frequencies' error on the source leads to.

    .. math:: w_{\max} \, \varepsilon / \sum_k w_k \hat\pi_k

    Parameters
    ----------
    radius : array_like (M,)
        L1 error of each bin's frequencies on the source.
    largest_weight : float
        Largest true weight; where only a region of them is known, the largest there.
    smallest_mass : array_like (M,)
        sum_k w_k pi_hat_k of each bin; where only a region is known, the smallest
        there.

    Returns
    -------
    ndarray (M,)
        +inf where no label of the bin is sure to have weight.

    Notes
    -----
    For non-negative a and b with sums A and B, the L1 distance of a/A and b/B is at
    most 2 max{sum (a - b)+, sum (b - a)+} / max(A, B). Take a = w pi_hat and b = w pi.
    At most kappa times the radius if all weights are positive: the printed theorem's 2
    is not needed, and zeros do no harm.

    Examples
    --------
    The counterexample to the printed theorem:

    >>> import numpy as np
    >>> from distfreeuq import bounds
    >>> w, frequencies = np.array([2.0, 2.0, 0.0]), np.array([[0.1, 0.0, 0.9]])
    >>> bounds.label_shift_source_radius([0.1], w.max(), frequencies @ w)
    array([1.])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = largest_weight * np.asarray(radius, dtype=np.float64)
        error = error / np.asarray(smallest_mass, dtype=np.float64)
    return np.asarray(np.nan_to_num(error, nan=np.inf, posinf=np.inf))


def label_shift_weight_radius(
    frequencies: ArrayLike, label_weight: ArrayLike, low: ArrayLike, high: ArrayLike
) -> FloatArray:
    r"""Error on the target from weights that are only known within intervals.

    .. math:: 2 \max\{\sum_k \hat\pi_k (\hat w_k - l_k)^+, \sum_k \hat\pi_k
              (h_k - \hat w_k)^+\} / \sum_k \hat w_k \hat\pi_k

    Parameters
    ----------
    frequencies : array_like (M, K)
    label_weight : array_like (K,)
        The weights used.
    low, high : array_like (K,)
        Intervals that hold the true ones.

    Returns
    -------
    ndarray (M,)
        L1 error of each bin; +inf where its labels have no weight.

    See Also
    --------
    label_shift_tilt_radius : the same from ratios; both hold, so the smaller one does.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.label_shift_weight_radius(
    ...     [[0.5, 0.3, 0.2]], [1.0, 2.0, 0.5], [0.9, 1.8, 0.4], [1.1, 2.2, 0.6]
    ... ).round(4)
    array([0.2167])
    """
    table = np.asarray(frequencies, dtype=np.float64)
    used = np.asarray(label_weight, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = np.maximum(used - np.asarray(low), 0.0)
        below = np.maximum(np.asarray(high) - used, 0.0)
        # a class without rows in the bin adds nothing, even if its weight is unbounded
        gain = np.where(table > 0.0, table * below, 0.0).sum(axis=-1)
        error = 2.0 * np.maximum(table @ above, gain) / (table @ used)
    return np.asarray(np.nan_to_num(error, nan=np.inf, posinf=np.inf))


def label_shift_tilt_radius(
    frequencies: ArrayLike, label_weight: ArrayLike, low: ArrayLike, high: ArrayLike
) -> FloatArray:
    r"""Error on the target from weights known within factors: 2 tanh(range / 4).

    The range of ln(w_hat / w) over the bin's classes, at most
    max ln(w_hat / low) + max ln(high / w_hat). Free of the weights' scale, and sharp:
    some distribution is moved that far. 2 if a class of the bin may have weight zero.

    Parameters
    ----------
    frequencies, label_weight, low, high
        As in `label_shift_weight_radius`.

    Returns
    -------
    ndarray (M,)

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.label_shift_tilt_radius(
    ...     [[0.5, 0.3, 0.2]], [1.0, 2.0, 0.5], [0.9, 1.8, 0.4], [1.1, 2.2, 0.6]
    ... ).round(4)
    array([0.202])
    """
    used, least, most = (
        np.asarray(x, dtype=np.float64) for x in (label_weight, low, high)
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        down, up = np.log(used / least), np.log(most / used)
    # 0/0: certainly absent from the target, which no tilt changes
    down[(used == 0) & (most == 0)] = up[(used == 0) & (most == 0)] = 0.0
    in_bin = np.asarray(frequencies, dtype=np.float64) > 0.0
    with np.errstate(invalid="ignore"):
        spread = np.where(in_bin, down, -np.inf).max(axis=-1)
        spread = spread + np.where(in_bin, up, -np.inf).max(axis=-1)
    spread = np.maximum(np.nan_to_num(spread, nan=np.inf), 0.0)
    return np.asarray(2.0 * np.tanh(spread / 4.0))


def binary_label_shift(p: ArrayLike, weight_ratio: ArrayLike) -> FloatArray:
    """Target probability of class 1 from the source's: r p / (r p + 1 - p).

    Increasing in both arguments, so that ends of intervals go to ends of intervals.

    Parameters
    ----------
    p : array_like
        Source probability of class 1.
    weight_ratio : array_like
        w_1 / w_0; +inf if class 0 is absent from the target.

    Returns
    -------
    ndarray
        NaN where neither class that the bin has is in the target.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.binary_label_shift([0.0, 0.5, 1.0], 4.0).tolist()
    [0.0, 0.8, 1.0]
    """
    source = np.asarray(p, dtype=np.float64)
    ratio = np.asarray(weight_ratio, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        one = np.where(np.isinf(ratio), source, ratio * source)
        zero = np.where(np.isinf(ratio), 0.0, 1.0 - source)
        return np.asarray(one / (one + zero))
