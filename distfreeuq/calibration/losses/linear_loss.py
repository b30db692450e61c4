"""The loss of Platt scaling: value, gradient and Hessian."""

from __future__ import annotations

from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntMatrix
from distfreeuq._kernels import _logistic
from distfreeuq._kernels.threads import threads_for
from distfreeuq._numerics.blocks import LINEAR_PRODUCTS, count_blocks
from distfreeuq._numerics.newton import FactoredHessian
from distfreeuq.calibration.losses.vector_loss import ABSENT_BIAS
from distfreeuq.calibration.results import Outcome, outcome_of
from distfreeuq.calibration.rows.calibration_rows import CalibrationRows
from distfreeuq.calibration.rows.rows_in_blocks import FitRows


def linear_softmax(
    logits: FloatMatrix, coef: FloatMatrix, bias: FloatArray
) -> FloatMatrix:
    """Return softmax(logits @ coef.T + bias) by rows, in the logits' precision."""
    probs = np.empty_like(logits)
    _logistic._linear_softmax(
        logits,
        np.ascontiguousarray(coef),
        np.ascontiguousarray(bias),
        probs,
        count_blocks(logits),
        threads_for(logits.size),
    )
    return probs


def linear_outcome(
    rows: CalibrationRows, coef: FloatMatrix, bias: FloatArray
) -> Outcome:
    """Return what becomes of the rows with softmax(logits @ coef.T + bias)."""
    return outcome_of(rows, linear_softmax(rows.logits, coef, bias))


def linear_nll_sums(
    rows: CalibrationRows, coef: FloatMatrix, bias: FloatArray
) -> FloatArray:
    """Return the summed NLL of softmax(logits @ coef.T + bias), and its gradient."""
    width = 1 + rows.n_classes * (rows.n_classes + 1)
    sums = LINEAR_PRODUCTS.zeros(rows.logits.size, width)
    _logistic._sum_linear_nll(
        rows.logits,
        rows.labels,
        rows.weights,
        coef,
        bias,
        sums,
        threads_for(rows.logits.size * rows.n_classes),
    )
    return np.asarray(sums.sum(axis=0))


def linear_product_sums(
    rows: CalibrationRows, coef: FloatMatrix, bias: FloatArray, scores: bool
) -> FloatMatrix:
    """Return sums over pairs of classes (L, R) and pairs of features.

    Those of the Hessian first, then those of the scores, if they are asked for.
    """
    n_left, n_right = _n_pairs(rows.n_classes), _n_pairs(rows.n_classes + 1)
    n_left *= 2 if scores else 1
    sums = LINEAR_PRODUCTS.zeros(rows.logits.size, n_left, n_right)
    _logistic._sum_linear_products(
        scores,
        rows.logits,
        rows.labels,
        rows.weights,
        coef,
        bias,
        sums,
        threads_for(rows.logits.size * n_right),
    )
    return np.asarray(sums.sum(axis=0))


class LinearLoss:
    """Mean NLL plus ridge, as a function of the change of the free classes' logits.

    theta, of shape (F, K + 1) when unravelled, is added to the identity map: class k's
    new logit is z_k + theta_k @ (z, 1).

    Parameters
    ----------
    rows : CalibrationRows or RowsInBlocks
    free : ndarray (K,)
        A class that is not free keeps its logit, with the bias `ABSENT_BIAS`.
    ridge : float
    """

    __slots__ = ("free", "n_features", "n_free", "ridge", "rows")

    def __init__(self, rows: FitRows, free: BoolArray, ridge: float) -> None:
        self.rows: FitRows = rows
        self.free, self.ridge = free, ridge
        self.n_free = int(free.sum())
        self.n_features = rows.n_classes + 1

    @property
    def bias_ridge(self) -> float:
        """What the ridge adds to the curvature in a bias."""
        return self.ridge

    def on(self, rows: FitRows, ridge: float) -> LinearLoss:
        """Return the same loss for other rows."""
        return LinearLoss(rows, self.free, ridge)

    def expand(self, theta: FloatArray) -> tuple[FloatMatrix, FloatArray]:
        """Return the coefficients (K, K) and biases (K,) of all classes."""
        n_classes = self.rows.n_classes
        full = np.eye(n_classes, self.n_features)
        full[~self.free, -1] = ABSENT_BIAS
        full[self.free] += theta.reshape(self.n_free, self.n_features)
        return np.ascontiguousarray(full[:, :-1]), full[:, -1].copy()

    def multiple_of_identity(self, alpha: float) -> FloatArray:
        """Return the parameters of logits times alpha, the nearest to no change."""
        change = (alpha - 1.0) * np.eye(self.rows.n_classes, self.n_features)[self.free]
        return np.asarray((change - change.mean(axis=0)).ravel())

    def evaluate(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and its gradient."""
        coef, bias = self.expand(theta)
        nll = partial(linear_nll_sums, coef=coef, bias=bias)
        means = self.rows.parts.total(nll) / self.rows.total_weight
        n_classes = self.rows.n_classes
        gradient = means[1:].reshape(n_classes, self.n_features)[self.free].ravel()
        loss = float(means[0]) + 0.5 * self.ridge * float(theta @ theta)
        return loss, gradient + self.ridge * theta

    def curvature(self, theta: FloatArray) -> FactoredHessian:
        """Return the factored Hessian."""
        return self.factor(self.products(theta)[0])

    rough_curvature = curvature

    def factor(self, hessian: FloatMatrix) -> FactoredHessian:
        """Return the Hessian, factored; directions of constant loss are known."""
        if self.ridge > 0.0:
            return FactoredHessian(hessian, np.zeros((len(hessian), 0)))
        # the same change of every class's logit changes nothing; those that are not
        # free have no mass
        level = np.full((self.n_free, 1), 1.0 / np.sqrt(self.n_free))
        return FactoredHessian(hessian, np.kron(level, np.eye(self.n_features)))

    def products(
        self, theta: FloatArray, *, scores: bool = False
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Return the Hessian, and the scores' summed outer products, both (p, p).

        With features x and the label's unit vector y, they are the means of (diag p -
        p p') (x) x x' and of w^2 (p - y)(p - y)' (x) x x' over the rows. The latter is
        zero unless `scores` are asked for.
        """
        rows = self.rows
        of_classes, of_features = _pairs(rows.n_classes), _pairs(self.n_features)
        n_pairs = _n_pairs(rows.n_classes)
        coef, bias = self.expand(theta)
        make = partial(linear_product_sums, coef=coef, bias=bias, scores=scores)
        total = rows.parts.total(make)
        of_free = of_classes[np.ix_(self.free, self.free)]

        def spread(pairs: FloatMatrix) -> FloatMatrix:
            by_pair = pairs[of_free[:, None, :, None], of_features[None, :, None, :]]
            size = self.n_free * self.n_features
            return np.asarray(by_pair.reshape(size, size))

        hessian = spread(total[:n_pairs]) / rows.total_weight
        hessian[np.diag_indices_from(hessian)] += self.ridge
        meat = spread(total[n_pairs:]) if scores else np.zeros_like(hessian)
        return hessian, meat / rows.total_weight**2


def _pairs(n: int) -> IntMatrix:
    """Return where pairs (j, k) stand in a list of an upper triangle, (n, n)."""
    positions = np.zeros((n, n), dtype=np.int64)
    upper = np.triu_indices(n)
    positions[upper] = np.arange(upper[0].size)
    return np.maximum(positions, positions.T)


def _n_pairs(n: int) -> int:
    """Return the number of such pairs."""
    return n * (n + 1) // 2
