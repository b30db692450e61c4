"""Positive definite matrices: solved by Cholesky's method where nothing is in doubt.

A decomposition into eigenvectors tells which directions the data do not determine, and
costs twenty times as much. It is needed only where there may be such directions.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatMatrix

_MARGIN = 100.0
"""The condition number is an estimate, right within a small factor."""


class Regular:
    """A symmetric matrix whose eigenvalues are all well above a floor.

    Parameters
    ----------
    lower : ndarray (K, K)
        Its Cholesky factor; what is above the diagonal means nothing.
    """

    __slots__ = ("_lower",)

    def __init__(self, lower: FloatMatrix) -> None:
        self._lower = lower

    def solve(self, right: FloatMatrix) -> FloatMatrix:
        """Return the x with matrix @ x = right."""
        from scipy.linalg.lapack import dpotrs

        x, _ = dpotrs(self._lower, right, lower=1)
        return np.asarray(x)


def if_regular(matrix: FloatMatrix, floor: float) -> Regular | None:
    """Return the matrix, None if some eigenvalue may be as small as `floor`."""
    from scipy.linalg.lapack import dpocon, dpotrf

    if matrix.size == 0:
        return None
    lower, failed = dpotrf(matrix, lower=1)
    if failed:
        return None
    norm = float(np.abs(matrix).sum(axis=0).max())
    reciprocal, _ = dpocon(lower, norm, uplo="L")
    # the least eigenvalue is at least one over the largest column sum of the inverse
    return Regular(lower) if reciprocal * norm > _MARGIN * floor else None
