"""The delta method: covariance of the weights, standard errors, normal intervals.

For BBSE and RLLS the covariance is here, for MLLS in `likelihood_delta_method`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.gram_sums import gram
from distfreeuq._numerics.matrices.matrix_blocks import FEW, Blocks
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows
from distfreeuq._numerics.quantiles import normal_margin
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import Confusion, table_of


def hard_covariance(confusion: Confusion, w: FloatArray) -> FloatMatrix:
    """Return the delta-method covariance of BBSE's weights (theory page, 4.5)."""
    n, m, mu = confusion.n, confusion.m, confusion.frequencies
    if mu.size <= FEW:
        c, cw = confusion.matrix, confusion.matrix @ w
        source = np.diag(c @ w**2) - np.outer(cw, cw)
        target = np.diag(mu) - np.outer(mu, mu)
        return _through_inverse(c, source / n + target / m)
    from scipy import sparse

    joint = table_of(confusion) / n
    blocks = Blocks.of(joint)
    inverse, cw = blocks.inverse(joint), joint @ w
    diagonal = joint @ w**2 / n + mu / m
    spread = blocks.around(inverse, sparse.diags_array(diagonal).tocsr())
    for vector, rows in ((inverse @ cw, n), (inverse @ mu, m)):
        spread -= np.outer(vector, vector / rows)
    return spread


def soft_covariance(
    confusion: Confusion, w: FloatArray, source: AnyRows, target_gram: FloatMatrix
) -> FloatMatrix:
    """Return the same for soft BBSE: covariances of f(X) w_Y and of f(X')."""
    n, m, mu = confusion.n, confusion.m, confusion.frequencies
    cw = confusion.matrix @ w
    products = source.parts.total(_SumProducts(np.abs(w))) / n - np.outer(cw, cw)
    target = target_gram / m - np.outer(mu, mu)
    return _through_inverse(confusion.matrix, products / n + target / m)


@dataclass(frozen=True, slots=True)
class _SumProducts:
    """Sums f f' over some rows, scaled by label."""

    scale: FloatArray

    def __call__(self, rows: ClassRows) -> FloatMatrix:
        return gram(rows.probs, self.scale[rows.labels])


def _through_inverse(c: FloatMatrix, middle: FloatMatrix) -> FloatMatrix:
    """Return C^-1 M C^-T."""
    inverse = np.linalg.inv(c)
    return np.asarray(inverse @ middle @ inverse.T)


def delta_intervals(
    center: FloatArray | None,
    covariance: FloatMatrix | ClassMatrix | None,
    slope_at_zero: FloatArray | None,
    n_classes: int,
    alpha: float,
) -> FloatMatrix:
    """Return the intervals (K, 2) of MLLS that need calibrated probabilities.

    A weight that MLLS puts at zero ends where the likelihood has fallen by the factor
    alpha / 2: the probability, at that weight, of a target without a row of its class.
    """
    spread = standard_errors(covariance, n_classes)
    ends = normal_intervals(center, spread, alpha)
    fallen = _falls_by(float(np.log(2.0 / alpha)), slope_at_zero, n_classes)
    ends[:, 1] = np.minimum(ends[:, 1], fallen)
    return ends


def _falls_by(
    drop: float, slope_at_zero: FloatArray | None, n_classes: int
) -> FloatArray:
    """Return weights by which the log-likelihood has fallen so much, or +inf.

    It is concave, so that its tangent at zero is an upper bound.
    """
    out = np.full(n_classes, np.inf)
    if slope_at_zero is not None:
        np.divide(drop, slope_at_zero, out=out, where=slope_at_zero > 0)
    return out


def standard_errors(
    covariance: FloatMatrix | ClassMatrix | None, n_classes: int
) -> FloatArray:
    """Return the root of the diagonal; +inf without a covariance."""
    if covariance is None:
        return np.full(n_classes, np.inf)
    return np.asarray(np.sqrt(np.maximum(covariance.diagonal(), 0.0)))


def normal_intervals(
    center: FloatArray | None, std_err: FloatArray, alpha: float
) -> FloatMatrix:
    """Return center -+ z std_err cut off at zero, shape (K, 2); [0, inf) if unknown."""
    if center is None:
        center = np.zeros(std_err.size)
    margin = normal_margin(alpha) * std_err
    with np.errstate(invalid="ignore"):  # an infinite estimate, of infinite error
        ends = np.column_stack([center - margin, center + margin])
    ends[:, 1] = np.nan_to_num(ends[:, 1], nan=np.inf, posinf=np.inf)
    return np.asarray(np.maximum(np.nan_to_num(ends, nan=0.0, posinf=np.inf), 0.0))
