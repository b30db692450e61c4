"""Importance weights: Renyi divergences, and the variance of a weighted loss."""

import math

import numpy as np

from distfreeuq._base.array_types import ArrayLike, FloatArray

# Below it, a power is linear in its exponent to the last digit but one.
_SMALL_EXPONENT = 1e-5


def renyi_divergence(target: ArrayLike, source: ArrayLike, order: float) -> float:
    r"""Exponential Renyi divergence d_order(target || source) of discrete laws.

    .. math:: d_{a+1}(q \| p) = \Bigl(\sum_x q(x)^{a+1} / p(x)^a\Bigr)^{1/a}

    It is 1 for equal laws, grows with the order, and is the largest ratio q/p at +inf.
    At order 1 it is the exponential of the Kullback-Leibler divergence.

    Parameters
    ----------
    target, source : array_like (n,)
        Probabilities q and p.
    order : float
        At least 1; +inf is allowed.

    Returns
    -------
    float
        +inf if q(x) > 0 = p(x) for some x.

    References
    ----------
    .. [1] Pampari and Ermon (2020), Lemma 4.2; Cortes, Mansour and Mohri (2010).

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> round(bounds.renyi_divergence([0.8, 0.2, 0.0], [0.5, 0.25, 0.25], 2), 4)
    1.44
    >>> bounds.renyi_divergence([0.5, 0.25, 0.25], [0.8, 0.2, 0.0], 2)
    inf
    """
    q, p = np.asarray(target, dtype=np.float64), np.asarray(source, dtype=np.float64)
    present = q > 0.0
    if (p[present] == 0.0).any():
        return math.inf
    q, p = q[present], p[present]
    with np.errstate(over="ignore"):
        ratio = q / p
    if np.isinf(ratio).any():
        return _divergence_by_logs(q, np.log(q) - np.log(p), order)
    return _divergence(q, ratio, order)


def renyi_from_weights(weights: ArrayLike, order: float) -> float:
    """Estimate d_order(target || source) from the weights q/p of source rows.

    The rows' empirical law stands for the source, and their weights, divided by their
    mean, for the ratio. At order 2 it is n over the effective sample size. Few rows
    underestimate divergences of high order: the largest ratios are not among them.

    Parameters
    ----------
    weights : array_like (n,)
        Non-negative, on any scale.
    order : float
        At least 1; +inf is allowed.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.renyi_from_weights([3.0, 1.0, 0.0, 0.0], 2)
    2.5
    """
    w = np.asarray(weights, dtype=np.float64)
    # by a power of two, which changes no digit: the sum of large weights overflows
    w = np.ldexp(w, -np.frexp(w.max())[1])
    ratio = w / w.mean()
    present = ratio > 0.0
    return _divergence(ratio[present] / w.size, ratio[present], order)


def _divergence(q: FloatArray, ratio: FloatArray, order: float) -> float:
    """Return (sum q ratio^a)^(1/a), a = order - 1, without overflow."""
    largest = float(ratio.max())
    a = order - 1.0
    if math.isinf(order):
        return largest
    if a < _SMALL_EXPONENT:
        return _divergence_by_logs(q, np.log(ratio), order)
    return largest * float((q @ (ratio / largest) ** a) ** (1.0 / a))


def _divergence_by_logs(q: FloatArray, log_ratio: FloatArray, order: float) -> float:
    """Return the same from the logarithms of the ratios; infinite beyond all doubles.

    For orders near one too: the sum is one up to rounding then, which 1/a magnifies, so
    that the power is expanded in its exponent.
    """
    largest = float(log_ratio.max())
    a = order - 1.0
    if math.isinf(order):
        log_divergence = largest
    elif a * (largest - float(log_ratio.min())) < _SMALL_EXPONENT:
        mean = float(q @ log_ratio) / float(q.sum())
        spread = float(q @ (log_ratio - mean) ** 2) / float(q.sum())
        log_divergence = mean + 0.5 * a * spread
    else:
        with np.errstate(over="ignore"):  # to minus infinity
            total = float(q @ np.exp(a * (log_ratio - largest)))
        log_divergence = largest + math.log(total) / a
    with np.errstate(over="ignore"):
        return float(np.exp(log_divergence))


def _times_square(number: float, scale: float) -> float:
    return number * scale * scale if number else 0.0


def importance_variance(
    divergence: float, risk: float, *, exponent: float = 1.0, loss_bound: float = 1.0
) -> float:
    r"""Bound on the variance of an importance-weighted loss (repaired Lemma 4.2).

    .. math:: Var_p[\gamma l] \le B^{1 + 1/a}\, d_{a+1}(q \| p)\, R^{1 - 1/a} - R^2

    Parameters
    ----------
    divergence : float
        d_{a+1}(q || p), as `renyi_divergence` of order `exponent` + 1.
    risk : float
        R = E_q[l], the *unweighted* mean loss in the target.
    exponent : float, default 1
        a >= 1.
    loss_bound : float, default 1
        B: the loss lies in [0, B].

    Notes
    -----
    As printed in [1]_, the lemma has E_q[gamma l] in place of R (a variance below zero
    for l = 1), allows a < 1 (false, by Jensen's inequality), and does not say that the
    loss must be bounded: the negative log-likelihood is not. The proof is Hoelder's:
    E_q[gamma l^2] <= d (E_q l^{2a/(a-1)})^{1-1/a}, and l^{2a/(a-1)} <= B^{(a+1)/(a-1)}
    l.

    References
    ----------
    .. [1] Pampari and Ermon (2020), Lemma 4.2; Cortes, Mansour and Mohri (2010),
       Lemma 2.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.importance_variance(1.44, 0.25)
    1.3775
    """
    if math.isinf(divergence):
        return math.inf
    # in units of the loss's bound, so that no square overflows before its time
    share = min(risk / loss_bound, 1.0)
    return _times_square(
        divergence * share ** (1.0 - 1.0 / exponent) - share**2, loss_bound
    )


def importance_variance_printed(
    divergence: float, weighted_risk: float, *, exponent: float = 1.0
) -> float:
    r"""Lemma 4.2 of Pampari and Ermon (2020) as printed, false: for comparison only.

    .. math:: d_{a+1}(q \| p)\, E_q[\gamma l]^{1 - 1/a} - E_q[\gamma l]^2

    Parameters
    ----------
    divergence : float
        d_{a+1}(q || p).
    weighted_risk : float
        E_q[gamma l]: the weights counted twice.
    exponent : float, default 1

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> bounds.importance_variance_printed(1.44, 1.44) < 0  # of l = 1, at q = 0.8, 0.2
    True
    """
    if math.isinf(divergence):
        return math.inf
    with np.errstate(over="ignore", divide="ignore"):
        risk = np.float64(weighted_risk)
        first = divergence * risk ** (1.0 - 1.0 / exponent)
        if math.isfinite(first):
            return float(first - risk**2)
        # where both terms overflow, the larger one decides
        smaller = divergence < risk ** (1.0 + 1.0 / exponent)
    return -math.inf if smaller else math.inf
