"""The loss of Dirichlet scaling: a ridge off the diagonal, and another on biases."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.newton import FactoredHessian
from distfreeuq.calibration.losses.linear_loss import LinearLoss
from distfreeuq.calibration.rows.rows_in_blocks import FitRows


class OffDiagonalLoss(LinearLoss):
    """Mean NLL plus the mean squares of off-diagonal coefficients, and of biases.

    All classes are free: the biases' ridge keeps those without rows finite.

    Parameters
    ----------
    rows : CalibrationRows or RowsInBlocks
    off_diagonal, of_bias : float
        Positive factors of the two mean squares.
    """

    __slots__ = ("of_bias", "off_diagonal", "penalty")

    def __init__(self, rows: FitRows, off_diagonal: float, of_bias: float) -> None:
        k = rows.n_classes
        super().__init__(rows, np.ones(k, dtype=np.bool_), 0.0)
        self.off_diagonal, self.of_bias = off_diagonal, of_bias
        factors = np.full((k, k + 1), 2.0 * off_diagonal / (k * (k - 1)))
        np.fill_diagonal(factors, 0.0)
        factors[:, -1] = self.bias_ridge
        self.penalty = factors.ravel()

    @property
    def bias_ridge(self) -> float:
        """What the ridge adds to the curvature in a bias."""
        return 2.0 * self.of_bias / self.rows.n_classes

    def on(self, rows: FitRows, ridge: float) -> OffDiagonalLoss:
        """Return the same loss for other rows; it has ridges of its own."""
        return OffDiagonalLoss(rows, self.off_diagonal, self.of_bias)

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""
        loss, gradient = super().evaluate(theta)
        pull = self.penalty * theta
        return loss + 0.5 * float(pull @ theta), gradient + pull

    def factor(self, hessian: FloatMatrix) -> FactoredHessian:
        """Return the Hessian, factored; no direction has constant loss."""
        return FactoredHessian(hessian, np.zeros((len(hessian), 0)))

    def products(
        self, theta: FloatArray, *, scores: bool = False
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Return the Hessian, and the scores' summed outer products, both (p, p)."""
        hessian, meat = super().products(theta, scores=scores)
        hessian[np.diag_indices_from(hessian)] += self.penalty
        return hessian, meat
