"""Excess risk of fitted temperatures, after Zhao, Chen and Oymak (2020).

A fitted temperature minimises a mean loss over the calibration rows. These bounds say
by how much its expected loss on new rows may exceed that of the best temperature
allowed.
"""

import math
from typing import NamedTuple

import numpy as np

from distfreeuq._base.arguments import LARGEST
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq.bounds.bin_bounds import log_quotient

# Largest slope of half the Brier score in the inverse temperature, per unit of logit
# range; it is attained.
HALF_BRIER_LIPSCHITZ = 8.0 / 27.0

# Numbers of points per dimension, and shares of delta for the second term, over which
# the tight bound is minimised.
_COVER_SIZES = np.unique(np.round(np.geomspace(1, 1e8, 320)))
_SECOND_SHARES = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.98])[:, None]


class LossConstants(NamedTuple):
    """What the bounds need to know of a loss in the inverse temperature alpha.

    Attributes
    ----------
    loss_bound : float
        Largest value of the loss of one row (its smallest is 0).
    lipschitz : float
        Largest slope of the loss of one row in alpha.
    """

    loss_bound: float
    lipschitz: float


def half_brier_constants(logit_range: float) -> LossConstants:
    """Constants of half the Brier score, sum_k (p_k - e_k)^2 / 2.

    Parameters
    ----------
    logit_range : float
        Largest max_k z_k - min_k z_k of any row's logits.

    Notes
    -----
    The slope in alpha is Cov_p(p - e_y, z), at most (8/27) times the range of z;
    reached by two classes of logits (0, range) with p = (1/3, 2/3) and y the unlikely
    one.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.half_brier_constants(27.0)
    LossConstants(loss_bound=1.0, lipschitz=8.0)
    """
    return LossConstants(1.0, HALF_BRIER_LIPSCHITZ * logit_range)


def nll_constants(
    logit_range: float, n_classes: int, alpha_max: float
) -> LossConstants:
    """Constants of the negative log-likelihood on logits of bounded range.

    Parameters
    ----------
    logit_range : float
        Largest max_k z_k - min_k z_k of any row's logits.
    n_classes : int
    alpha_max : float
        Largest inverse temperature allowed.

    Notes
    -----
    The loss is at most ln(1 + (K - 1) exp(alpha_max range)); its slope in alpha,
    E_p[z] - z_y, is at most the range.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(bounds.nll_constants(5.0, 10, 2.0).loss_bound, 4)
    12.1972
    """
    widest = alpha_max * logit_range + math.log(n_classes - 1)
    return LossConstants(float(np.logaddexp(0.0, widest)), logit_range)


def clipped_nll_constants(logit_range: float, floor: float) -> LossConstants:
    """Constants of the negative log-likelihood of probabilities clipped from below.

    Parameters
    ----------
    logit_range : float
        Largest max_k z_k - min_k z_k of any row's logits.
    floor : float
        Probabilities below it count as the floor.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(bounds.clipped_nll_constants(5.0, 0.01).loss_bound, 4)
    4.6052
    """
    return LossConstants(log_quotient(1.0, floor), logit_range)


def cts_excess_risk(
    n: ArrayLike,
    n_classes: int,
    delta: float,
    *,
    alpha_bounds: tuple[float, float],
    gamma: float,
    lipschitz: float,
    loss_bound: float = 1.0,
) -> FloatArray:
    r"""Excess risk of class-wise temperature scaling as Zhao et al. (2020) bound it.

    With probability at least 1 - delta over n i.i.d. rows, the expected loss of the
    fitted temperatures exceeds the smallest one in the constraint set by at most this.

    Parameters
    ----------
    n : int or array_like
        Calibration rows.
    n_classes : int
        Number K of temperatures; 1 for plain temperature scaling.
    delta : float
        Failure probability.
    alpha_bounds : (float, float)
        Smallest and largest inverse temperature.
    gamma : float
        Largest distance of an alpha_k from the shared alpha_0. From half the width of
        `alpha_bounds` on, the alpha_k are free within their bounds.
    lipschitz : float
        Lipschitz constant of the loss in alpha. The authors' is L_f L_c, with L_f the
        largest Euclidean norm of a row of logits and L_c the loss's constant in the
        probabilities.
    loss_bound : float, default 1
        Largest loss of one row.

    Returns
    -------
    ndarray
        One bound per entry of `n`; vacuous if it is at least `loss_bound`.

    Notes
    -----
    Theorem 4.1 of [1]_, for a loss scaled to [0, 1]. The first regime holds for
    gamma <= 1 / (8 sqrt(n) lipschitz); the text below the theorem inverts this.

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), "On the role of dataset quality and
       heterogeneity in model confidence", Theorem 4.1.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> settings = {"alpha_bounds": (0.1, 3.0), "gamma": 0.5, "lipschitz": 20 * 2**0.5}
    >>> round(float(bounds.cts_excess_risk(5000, 100, 0.05, **settings)), 4)
    1.9226
    """
    return _excess_risk(
        n,
        n_classes,
        log_quotient(2.0, delta),
        alpha_bounds=alpha_bounds,
        gamma=gamma,
        lipschitz=lipschitz,
        loss_bound=loss_bound,
    )


def _excess_risk(
    n: ArrayLike,
    n_classes: int,
    log_term: float,
    *,
    alpha_bounds: tuple[float, float],
    gamma: float,
    lipschitz: float,
    loss_bound: float,
) -> FloatArray:
    """Return the same, with ln(2 / delta) in place of delta."""
    rows = np.asarray(n, dtype=np.float64)
    width = alpha_bounds[1] - alpha_bounds[0]
    gamma = min(gamma, 0.5 * width)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = np.sqrt(rows) * lipschitz / loss_bound
        free = np.log(width / (2.0 * gamma)) if gamma > 0.0 else np.inf
        many = free + (n_classes + 1) * np.log(8.0 * gamma * slope)
        one = np.log1p(width * (4.0 * slope))
        cover = np.where(gamma * 8.0 * slope <= 1.0, one, many)
        bound = 4.0 * np.sqrt(cover) + 8.0 * math.sqrt(log_term)
        bound = loss_bound * bound / np.sqrt(rows)
    return np.where((rows > 0) & ~np.isnan(bound), bound, np.inf)


def cts_class_excess_risk(
    n: ArrayLike,
    n_classes: int,
    delta: float,
    *,
    alpha_bounds: tuple[float, float],
    lipschitz: float,
    loss_bound: float = 1.0,
) -> FloatArray:
    """Excess risk within each predicted class by the same theorem, temperatures free.

    Simultaneously for all classes with probability at least 1 - delta, given how many
    rows each class is predicted for.

    Parameters
    ----------
    n : int or array_like
        Rows predicted as each class.
    n_classes : int
        Number of classes that share delta.
    delta, alpha_bounds, lipschitz, loss_bound
        As in `cts_excess_risk`.

    Notes
    -----
    The proof of Corollary 4.2 of Zhao, Chen and Oymak (2020): their Theorem 4.1 with
    one temperature, in each class at delta / K. The corollary itself replaces the
    observed counts by half of what the least likely class expects; see `cts_corollary`.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> settings = {"alpha_bounds": (0.1, 3.0), "lipschitz": 8.0}
    >>> bounds.cts_class_excess_risk([100, 10_000], 10, 0.05, **settings).round(3)
    array([3.004, 0.317])
    """
    return _excess_risk(
        n,
        1,
        log_quotient(2.0 * n_classes, delta),
        alpha_bounds=alpha_bounds,
        gamma=0.0,
        lipschitz=lipschitz,
        loss_bound=loss_bound,
    )


def cts_corollary(
    n: int,
    n_classes: int,
    delta: float,
    *,
    smallest_class: float,
    alpha_bounds: tuple[float, float],
    lipschitz: float,
    loss_bound: float = 1.0,
) -> tuple[float, float]:
    """Excess risk in every predicted class and its failure probability, as printed.

    Parameters
    ----------
    n, n_classes, delta, alpha_bounds, lipschitz, loss_bound
        As in `cts_excess_risk`.
    smallest_class : float
        Probability of the least often predicted class.

    Returns
    -------
    bound, failure : float
        The bound of eq. (4.4), and K (delta + exp(-smallest_class n / 8)).

    References
    ----------
    .. [1] Zhao, Chen and Oymak (2020), Corollary 4.2.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bound, failure = bounds.cts_corollary(
    ...     20_000, 10, 0.005, smallest_class=0.08, alpha_bounds=(0.1, 3), lipschitz=8.0
    ... )
    >>> round(bound, 4), round(failure, 4)
    (1.1962, 0.05)
    """
    width = alpha_bounds[1] - alpha_bounds[0]
    expected = smallest_class * n
    slope = math.sqrt(n) * lipschitz / loss_bound
    # one temperature alone needs no cover, however steep the loss
    cover = math.log1p(width * (4.0 * slope)) if width > 0.0 else 0.0
    bound = 6.0 * math.sqrt(cover / expected)
    bound += 12.0 * math.sqrt(log_quotient(2.0, delta) / expected)
    failure = n_classes * (delta + math.exp(-expected / 8.0))
    return loss_bound * bound, min(1.0, failure)


def cts_excess_risk_tight(
    n: ArrayLike,
    n_classes: int,
    delta: float,
    *,
    alpha_bounds: tuple[float, float],
    gamma: float,
    lipschitz: float,
    loss_bound: float = 1.0,
) -> FloatArray:
    r"""Excess risk of class-wise temperature scaling, several times smaller.

    Smaller than `cts_excess_risk`, the bound of Zhao, Chen and Oymak (2020).

    Parameters
    ----------
    n, n_classes, delta, alpha_bounds, gamma, loss_bound
        As in `cts_excess_risk`.
    lipschitz : float
        Lipschitz constant of the loss in alpha: `LossConstants.lipschitz`, or
        L_f L_c / 2, since the softmax is 1/2-Lipschitz.

    Returns
    -------
    ndarray
        One bound per entry of `n`.

    Notes
    -----
    The fitted minimum needs a one-sided deviation that is uniform over the constraint
    set, the best temperatures, being fixed, only one Hoeffding term: with
    delta = delta_1 + delta_2, and N points within e of every point of the set,

    .. math:: 2 \Lambda e + B \sqrt{\ln(N / \delta_1) / 2n} +
              B \sqrt{\ln(1 / \delta_2) / 2n},

    or, with the Rademacher complexity of the set in place of the cover,
    :math:`2 \Lambda \min\{D/2 + \Gamma \sqrt K, (D/2 + \Gamma) \sqrt K\} / \sqrt n` and
    N = 1. The smallest over both, over N and over the split of delta is returned; all
    of these are chosen by n and the constants alone.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> settings = {"alpha_bounds": (0.1, 3.0), "gamma": 0.5, "lipschitz": 10 * 2**0.5}
    >>> round(float(bounds.cts_excess_risk_tight(5000, 100, 0.05, **settings)), 4)
    0.2973
    """
    rows = np.asarray(n, dtype=np.float64)
    width = alpha_bounds[1] - alpha_bounds[0]
    log_sizes, distances = _covers(n_classes, width, gamma)
    # finite, as no width times an infinite slope would be NaN
    steepest = min(2.0 * lipschitz, LARGEST)
    log_term = log_quotient(1.0, delta)
    first = log_term - np.log1p(-_SECOND_SHARES)
    second = np.sqrt((log_term - np.log(_SECOND_SHARES)) / 2.0)

    covered = np.sqrt((log_sizes + first) / 2.0) + second
    averaged = np.sqrt(first / 2.0) + second
    bounds = np.full(rows.size, np.inf)
    with np.errstate(over="ignore"):
        slopes = steepest * distances
        radius = min(_radius(n_classes, width, gamma), LARGEST)
        complexity = steepest * np.float64(radius)
        for i, root in enumerate(np.sqrt(rows.ravel())):
            if root > 0.0:
                bounds[i] = min(
                    (slopes + loss_bound / root * covered).min(),
                    (complexity + loss_bound * averaged).min() / root,
                )
    return bounds.reshape(rows.shape)


def _covers(
    n_classes: int, width: float, gamma: float
) -> tuple[FloatArray, FloatArray]:
    """Return ln N and e of the covers worth trying, shape (C,) each."""
    logs = np.log(_COVER_SIZES)
    if gamma >= 0.5 * width:  # the temperatures are free within their bounds
        return n_classes * logs, width / (2.0 * _COVER_SIZES)
    if gamma == 0.0:
        return logs, width / (2.0 * _COVER_SIZES)
    # alpha_0 and the deviations from it; or each alpha_k by itself
    shared = logs[:, None] + n_classes * logs
    reach = width / (2.0 * _COVER_SIZES)[:, None] + gamma / _COVER_SIZES
    alone = (width + 2.0 * gamma) / (2.0 * _COVER_SIZES)
    return (
        np.concatenate([shared.ravel(), n_classes * logs]),
        np.concatenate([reach.ravel(), alone]),
    )


def _radius(n_classes: int, width: float, gamma: float) -> float:
    """Return sqrt(n) times the Rademacher complexity of the inverse temperatures."""
    root = math.sqrt(n_classes)
    if gamma >= 0.5 * width:
        return 0.5 * width * root
    return min(0.5 * width + gamma * root, (0.5 * width + gamma) * root)
