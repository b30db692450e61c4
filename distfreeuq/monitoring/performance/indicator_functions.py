"""Functions of a classifier's output whose mean is one in a class, zero in the others.

Label shift says E_Q f = sum_j q_j E_P[f | Y = j] of every function f of the output. K
of them, solved for q, give phi_k with E_P[phi_k | Y = j] = 1{k = j}: the mean of phi_k
over the target is q_k, and a loss with class means L_j has the same mean over the
target as h = sum_k L_k phi_k, which is known in every target row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.blas import on_one_blas_thread

# Singular values below this, relative to the largest, are zero.
_RANK = 1e-10

# A class is told from others if its row of B A is so near to a unit vector.
_TOLD = 1e-6

# A density below it counts as none.
_NO_MASS = 1e-100


@dataclass(frozen=True, slots=True)
class ClassIndicators:
    """phi in both samples.

    Attributes
    ----------
    source : ndarray (n, K)
    target : ndarray (m, K)
        Zeros in the columns of classes without source rows.
    prior : ndarray (K,)
        The target's class proportions as solved; may be negative.
    told : bool
        Whether the outputs tell all classes of the source apart. If not, the means of
        phi are not those of indicators.
    """

    source: FloatMatrix
    target: FloatMatrix
    prior: FloatArray
    told: bool


@on_one_blas_thread
def class_indicators(
    source: FloatMatrix, labels: IntArray, target: FloatMatrix, n_classes: int
) -> ClassIndicators:
    """Return the indicators in the span of some functions of the output.

    Parameters
    ----------
    source : ndarray (n, D)
        The functions in the source rows.
    labels : ndarray (n,)
    target : ndarray (m, D)
    n_classes : int
    """
    here = np.bincount(labels, minlength=n_classes) > 0
    # Of many classes few may have rows: there is no matrix by pairs of all classes.
    of_here = (np.cumsum(here) - 1)[labels]
    _, means = class_means(source, of_here, int(here.sum()))
    inverse = np.linalg.pinv(means.T, rcond=_RANK)
    gap = np.abs(inverse @ means.T - np.eye(len(means))).max(initial=0.0)
    phi = np.zeros((source.shape[0], n_classes))
    phi_target = np.zeros((target.shape[0], n_classes))
    phi[:, here] = source @ inverse.T
    phi_target[:, here] = target @ inverse.T
    prior = phi_target.mean(axis=0)
    return ClassIndicators(phi, phi_target, prior, bool(gap < _TOLD))


def class_means(
    values: FloatMatrix, labels: IntArray, n_classes: int
) -> tuple[BoolArray, FloatMatrix]:
    """Return which classes have rows, and the columns' means by class (K, T)."""
    counts = np.bincount(labels, minlength=n_classes)
    sums = np.zeros((n_classes, values.shape[1]))
    for column in range(values.shape[1]):
        sums[:, column] = np.bincount(
            labels, weights=values[:, column], minlength=n_classes
        )
    return counts > 0, sums / np.maximum(counts, 1)[:, None]


def one_hot(predicted: IntArray, n_classes: int) -> FloatMatrix:
    """Return the predictions as rows of zeros and a one."""
    out = np.zeros((predicted.size, n_classes))
    out[np.arange(predicted.size), predicted] = 1.0
    return out


def posteriors(probs: FloatMatrix, weight: FloatArray) -> FloatMatrix:
    """Return w_k g_k / sum_j w_j g_j; a row without mass is zero."""
    tilted = probs * weight
    density = tilted.sum(axis=1, keepdims=True)
    out = np.zeros_like(tilted)
    np.divide(tilted, density, out=out, where=density > _NO_MASS)
    return out
