"""Calibration error on a target of other covariates.

Theorem 1 of Park, Bastani, Weimer and Lee (2020), repaired.
"""

import math
from typing import NamedTuple

import numpy as np

from distfreeuq._base.arguments import LARGEST
from distfreeuq._base.array_types import ArrayLike

FACTORS = ("sharp", "simple", "printed")


class CovariateShiftTerms(NamedTuple):
    """The expectations in Theorem 1 of Park, Bastani, Weimer and Lee (2020).

    L = ||f(x) - y||^2 is between 0 and 2, r is half source and half target, s is 1 for
    the source, g(x) = P(s = 1 | x) under r, and g_hat is a discriminator.

    Attributes
    ----------
    weighted_error : float
        E_p[L (1/g_hat - 1 + t)].
    weighted_error_target : float
        The same under q: as printed.
    discriminator_error : float
        E_r (g_hat - s)^2.
    best_discriminator_error : float
        E_r (g - s)^2, the smallest that is possible.
    target_error : float
        E_q L, which the calibration error E_q ||f - c||^2 does not exceed.
    upper : float
        U: the largest q/p.
    """

    weighted_error: float
    weighted_error_target: float
    discriminator_error: float
    best_discriminator_error: float
    target_error: float
    upper: float


def covariate_shift_terms(
    p: ArrayLike,
    q: ArrayLike,
    loss: ArrayLike,
    source_probability: ArrayLike,
    *,
    t: float = 0.5,
) -> CovariateShiftTerms:
    """Return the terms of the theorem by enumeration, for finitely many x.

    Parameters
    ----------
    p, q : array_like (m,)
        Source and target probabilities of the points; p positive.
    loss : array_like (m,)
        E[||f(x) - y||^2 | x] at the points, from 0 to 2.
    source_probability : array_like (m,)
        g_hat at the points, in (0, 1].
    t : float, default 0.5
        Added to the weight 1/g_hat - 1.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> exact = [0.75 / 1.05, 0.25 / 0.95]
    >>> terms = bounds.covariate_shift_terms([0.75, 0.25], [0.3, 0.7], [2, 0], exact)
    >>> round(terms.target_error, 3), round(terms.weighted_error, 3)
    (0.6, 1.35)
    >>> round(terms.weighted_error_target, 3)  # below what it is said to bound
    0.54
    """
    source, target, error, guess = (
        np.asarray(x, dtype=np.float64) for x in (p, q, loss, source_probability)
    )
    weight = 1.0 / guess - 1.0 + t
    mixture = 0.5 * (source + target)
    best = 0.5 * source / mixture

    def brier(g: np.ndarray) -> float:  # E_r (g - s)^2 given x, then over x
        return float(mixture @ (best * (1.0 - g) ** 2 + (1.0 - best) * g**2))

    return CovariateShiftTerms(
        weighted_error=float(source @ (error * weight)),
        weighted_error_target=float(target @ (error * weight)),
        discriminator_error=brier(guess),
        best_discriminator_error=brier(best),
        target_error=float(target @ error),
        upper=float((target / source).max()),
    )


def covariate_shift_factor(
    upper: float, *, t: float = 0.5, form: str = "sharp"
) -> float:
    """Return lambda: what a discriminator's excess error costs in the bound.

    Parameters
    ----------
    upper : float
        U, a bound on q(x)/p(x).
    t : float, default 0.5
        As in `covariate_shift_bound`.
    form : {"sharp", "simple", "printed"}
        "simple": (1 + U)^3 / t. "printed": (1 + U)^4, for t = 1/2. "sharp": the
        smallest that the proof allows, sup 4 g (1/g - 1/g_hat - t)+ / (g_hat - g)^2
        over g from 1/(1 + U) to 1.

    Notes
    -----
    The supremum is at g = 1/(1 + U) =: m, and with c = t m, g_hat = (1 + v) m at
    v = (4 c - 1 + sqrt(1 + 8 c)) / (4 (1 - c)), or U if that is less. It is zero if
    t >= U: weights of at least t need no correction then.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> for form in ("printed", "simple", "sharp"):
    ...     print(round(bounds.covariate_shift_factor(4.0, form=form), 1))
    625.0
    250.0
    166.9
    """
    largest = 1.0 + upper  # its powers by products, which overflow to infinity
    if form == "printed":
        return (largest * largest) * (largest * largest)
    if form == "simple":
        return largest * largest * largest / t
    smallest = 1.0 / (1.0 + upper)
    c = t * smallest
    if t >= upper:  # no g_hat <= 1 is wrong by more than t
        return 0.0
    v = min(upper, (4.0 * c - 1.0 + math.sqrt(1.0 + 8.0 * c)) / (4.0 * (1.0 - c)))
    step = smallest * v
    numerator = 4.0 * (v / (1.0 + v) - c)
    return numerator / step / step if step > 0.0 else math.inf


def covariate_shift_bound(
    weighted_error: float,
    discriminator_error: float,
    best_discriminator_error: float = 0.0,
    *,
    upper: float,
    t: float = 0.5,
    form: str = "sharp",
) -> float:
    r"""Bound the calibration error on the target by errors on source and mixture.

    E_q ||f - c||^2 <= E_p[||f - y||^2 (1/g_hat - 1 + t)]
    + lambda [E_r (g_hat - s)^2 - E_r (g - s)^2].

    Parameters
    ----------
    weighted_error, discriminator_error, best_discriminator_error : float
        The three expectations, as in `CovariateShiftTerms`. The last is unknown as a
        rule: zero is always valid, and makes the bound large.
    upper : float
        U, a bound on q(x)/p(x) for all x.
    t : float, default 0.5
        Any positive number. 1/2 makes the weight w_hat + 1/2, as in [1]_.
    form : {"sharp", "simple", "printed"}
        Which lambda, see `covariate_shift_factor`. All hold.

    Returns
    -------
    float
        At 2 or more it says nothing, as no squared error of probabilities exceeds 2.

    Notes
    -----
    Needs covariate shift (the same law of y given x in source and target) and q = 0
    where p = 0. With Delta = w - w_hat and L <= 2: L (Delta - t) <= 2 (Delta - t)+ <=
    Delta^2 / (2 t), and E_p[Delta^2; Delta > 0] <= 2 (1 + U)^3 E_r (g - g_hat)^2. The
    proof in [1]_ bounds L by 1, and its printed statement has E_q where E_p must
    stand; see `covariate_shift_bound_printed`. That g_hat >= 1/(1 + U) is not needed.

    A training objective rather than a certificate: lambda grows with the cube of U.

    References
    ----------
    .. [1] Park, Bastani, Weimer and Lee (2020), Theorem 1.

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> p, q, guess = [0.75, 0.25], [0.3, 0.7], [0.6, 0.4]
    >>> terms = bounds.covariate_shift_terms(p, q, [0.5, 1.5], guess)
    >>> value = bounds.covariate_shift_bound(*terms[0:1], *terms[2:4], upper=2.8)
    >>> round(value, 3), round(terms.target_error, 3)
    (2.199, 1.2)
    """
    excess = discriminator_error - best_discriminator_error
    if excess <= 0.0:
        return weighted_error
    return weighted_error + covariate_shift_factor(upper, t=t, form=form) * excess


def covariate_shift_bound_printed(terms: CovariateShiftTerms) -> float:
    """Return what Theorem 1 says as printed, with E_q: no valid bound.

    Parameters
    ----------
    terms : CovariateShiftTerms
        With t = 1/2.

    Notes
    -----
    For comparison only. Two points, p = (0.75, 0.25), q = (0.3, 0.7), a forecast that
    is certain and wrong at the first and right at the second, and the exact
    discriminator: the calibration error is 0.6, and the printed bound 0.54.

    References
    ----------
    .. [1] Park, Bastani, Weimer and Lee (2020), Theorem 1, eq. (8).

    Examples
    --------
    >>> from distfreeuq import bounds
    >>> exact = [0.75 / 1.05, 0.25 / 0.95]
    >>> terms = bounds.covariate_shift_terms([0.75, 0.25], [0.3, 0.7], [2, 0], exact)
    >>> round(bounds.covariate_shift_bound_printed(terms), 3)
    0.54
    """
    excess = terms.discriminator_error - terms.best_discriminator_error
    factor = min(covariate_shift_factor(terms.upper, form="printed"), LARGEST)
    return terms.weighted_error_target + factor * excess
