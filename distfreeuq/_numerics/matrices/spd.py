"""Symmetric positive definite matrices, by Cholesky's method where they are regular.

A decomposition into eigenvectors tells which directions the data do not determine, and
costs twenty times as much. It is needed only where there may be such directions.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix

# The condition number is an estimate, right within a small factor.
_MARGIN = 100.0


class Cholesky:
    """A factored matrix.

    Parameters
    ----------
    lower : ndarray (K, K)
        Its Cholesky factor; what is above the diagonal means nothing.
    norm : float
        The matrix's largest column sum.

    Attributes
    ----------
    reciprocal_condition : float
        LAPACK's estimate of one over the condition number in that norm.
    """

    __slots__ = ("_lower", "norm", "reciprocal_condition")

    def __init__(self, lower: FloatMatrix, norm: float) -> None:
        from scipy.linalg import lapack

        self._lower, self.norm = lower, norm
        self.reciprocal_condition = float(lapack.dpocon(lower, norm, uplo="L")[0])

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the x with matrix @ x = right."""
        from scipy.linalg import lapack

        x, _ = lapack.dpotrs(self._lower, right, lower=1)
        return np.asarray(x)


def factor(matrix: FloatMatrix) -> Cholesky | None:
    """Return the matrix, factored; None if it is not positive definite."""
    from scipy.linalg import lapack

    lower, failed = lapack.dpotrf(matrix, lower=1)
    if failed:
        return None
    return Cholesky(lower, float(np.abs(matrix).sum(axis=0).max()))


def factor_if_regular(matrix: FloatMatrix, floor: float) -> Cholesky | None:
    """Return the matrix, factored; None if some eigenvalue may be as small as `floor`.

    The least eigenvalue is at least one over the largest column sum of the inverse.
    """
    factored = factor(matrix) if matrix.size > 0 else None
    if factored is None:
        return None
    least = factored.reciprocal_condition * factored.norm
    return factored if least > _MARGIN * floor else None
