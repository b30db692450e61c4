"""Regularised weights: min |C theta - b| + delta |theta|, the norms not squared."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.matrices.matrix_blocks import Blocks
from distfreeuq.label_shift.class_matrix import ClassMatrix, TakingPart
from distfreeuq.label_shift.confusion import Confusion, table_of

# The constants of the authors' code.
_CONFIDENCE = 0.05
_SCALE = 0.01 * 3.0


def default_regularization(n: int, n_classes: int) -> float:
    """Return the regulariser of RLLS's authors' code for n source rows.

    Examples
    --------
    >>> from distfreeuq.label_shift.regularized_solution import default_regularization
    >>> round(default_regularization(1000, 10), 6)
    0.003404
    """
    log = math.log(2 * n_classes / _CONFIDENCE)
    return _SCALE * (2 * log / (3 * n) + math.sqrt(2 * log / n))


def minimize_regularized(
    c: Any, b: FloatArray, delta: float, beside: float = 0.0
) -> FloatArray:
    """Return the theta that minimises |C theta - b| + delta |theta|.

    Where both norms are positive, (C'C + t I) theta = C'b with
    t = delta |C theta - b| / |theta|. In the singular value decomposition C = U S V',
    with beta = U'b, that reads R(t) = delta, where R(t)^2 is the mean of s^2 with
    weights beta^2 / (s^2 + t)^2. Larger t moves weight to larger s, so that R
    increases: from its limit at t = 0, up to which the minimum is the least-squares
    solution (BBSE), to its limit at infinity, from which on it is zero (w = 1).

    Parameters
    ----------
    c : ndarray (R, K), or a sparse array
    b : ndarray (R,)
    delta : float
        Non-negative.
    beside : float, default 0
        Length of a part of b that is orthogonal to the R rows.

    Returns
    -------
    ndarray (K,)

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.label_shift.regularized_solution import minimize_regularized
    >>> c, b = np.diag([0.5, 0.25]), np.array([0.1, -0.1])
    >>> [minimize_regularized(c, b, t).round(3).tolist() for t in (0.1, 0.35, 1)]
    [[0.2, -0.4], [0.084, -0.061], [0.0, 0.0]]
    """
    from scipy.optimize import brentq

    found = Blocks.of(c).coordinates(c, b)
    s, beta = found.values, found.beta
    if found.outside > 0.0:  # no theta reaches what is left
        beside = math.hypot(beside, found.outside)
    if beside > 0.0:
        s, beta = np.append(s, 0.0), np.append(beta, beside)
    size, largest = float(np.linalg.norm(beta)), float(s.max(initial=0.0))
    regular = s > largest * s.size * np.finfo(np.float64).eps
    if size == 0.0 or delta >= float(np.linalg.norm(s * beta)) / size:
        return np.zeros(found.n_columns)

    def back(x: FloatArray) -> FloatArray:
        return found.back(x[: s.size - (beside > 0.0)])

    def theta(t: float) -> FloatArray:
        return back(s * beta / (s**2 + t))

    def ratio(log_t: float) -> float:
        weight = beta / (s**2 + math.exp(log_t))
        weight = weight / np.abs(weight).max()
        return float(np.linalg.norm(s * weight) / np.linalg.norm(weight))

    # the part of b outside the range of C stays a residual, however small delta is
    reachable = not np.any(np.abs(beta[~regular]) > 1e-14 * size)
    if reachable or delta == 0.0:
        inverse = np.divide(beta, s, out=np.zeros_like(beta), where=regular)
        twice = np.divide(inverse, s, out=np.zeros_like(beta), where=regular)
        if delta * np.linalg.norm(twice) <= np.linalg.norm(inverse) or delta == 0.0:
            return back(inverse)
    low = high = 2.0 * math.log(largest)
    while ratio(low) > delta and low > -700.0:
        low -= 10.0
    while ratio(high) < delta and high < 700.0:
        high += 10.0
    if ratio(low) >= delta:  # at the smallest t, or the largest, that a double holds
        return theta(math.exp(low))
    if ratio(high) <= delta:
        return theta(math.exp(high))
    return theta(math.exp(brentq(lambda x: ratio(x) - delta, low, high, xtol=1e-14)))


def regularized_weights(confusion: Confusion, regularization: float) -> FloatArray:
    """Return RLLS's weights: the regularised solution of C (w - 1) = mu - C 1."""
    joint = confusion.joint
    if isinstance(joint, ClassMatrix):
        # a class without source rows stays at w = 1, and one that is never predicted in
        # the source only adds to the residual
        b = confusion.frequencies - joint.sum(axis=1) / confusion.n
        beside = float(np.linalg.norm(np.delete(b, joint.rows)))
        c = joint.block / confusion.n
        theta = minimize_regularized(c, b[joint.rows], regularization, beside)
        return 1.0 + TakingPart(b.size, joint.columns).vector(theta)
    whole = confusion.matrix if confusion.soft else table_of(confusion) / confusion.n
    apart = confusion.frequencies - np.asarray(whole.sum(axis=1))
    return 1.0 + minimize_regularized(whole, apart, regularization)
