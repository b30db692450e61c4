"""The confusion matrix and the target's predictions: all that BBSE and RLLS look at.

C_ij = P(predicted i, class j) in the source and mu_i = P(predicted i) in the target, so
that under label shift C w = mu. "Soft": with probabilities in place of predictions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import require
from distfreeuq._numerics.row_sums import (
    class_sums,
    column_sums,
    count_pairs,
    gram,
)
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.results import read_only

_WEAK = 3.0
"""Standard errors from zero within which the smallest singular value is called weak."""


@register("confusion")
@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Sums over both samples.

    Attributes
    ----------
    joint : ndarray (K, K)
        Source rows by predicted class (row) and true class (column): counts, or sums of
        probabilities if `soft`.
    target : ndarray (K,)
        Target rows by predicted class: counts, or sums of probabilities if `soft`.
    n, m : int
        Rows of source and target.
    soft : bool
    """

    joint: FloatMatrix
    target: FloatArray
    n: int
    m: int
    soft: bool

    def _validate_state(self) -> None:
        n_classes = len(self.target)
        joint, target = np.asarray(self.joint), np.asarray(self.target)
        require(
            joint.shape == (n_classes, n_classes) and target.ndim == 1,
            "a confusion matrix of as many classes as the target has",
        )

    @property
    def matrix(self) -> FloatMatrix:
        """C, shape (K, K)."""
        return self.joint / self.n

    @property
    def frequencies(self) -> FloatArray:
        """The target's mean prediction mu, shape (K,)."""
        return self.target / self.m


@dataclass(frozen=True, slots=True)
class Conditioning:
    """How far C is from singular.

    Attributes
    ----------
    smallest : float
        Its smallest singular value.
    singular : bool
        True if C is singular to working precision.
    weak : bool
        True if the smallest singular value is within its noise of zero.
    condition_number : float
        Largest over smallest singular value; +inf if singular.
    """

    smallest: float
    singular: bool
    weak: bool
    condition_number: float


def conditioning(confusion: Confusion) -> Conditioning:
    """Return how far C is from singular, by one singular value decomposition."""
    c = confusion.matrix
    left, values, right = np.linalg.svd(c)
    u, v, smallest = left[:, -1], right[-1], float(values[-1])
    # to first order the smallest singular value moves by u' dC v
    variance = float(u**2 @ c @ v**2 - smallest**2) / confusion.n
    singular = bool(_are_singular(values))
    return Conditioning(
        smallest=smallest,
        singular=singular,
        weak=smallest <= _WEAK * math.sqrt(max(variance, 0.0)),
        condition_number=math.inf if singular else float(values[0] / smallest),
    )


def hard_confusion(
    predicted: IntArray, labels: IntArray, predicted_target: IntArray, n_classes: int
) -> Confusion:
    """Count predicted classes, those of the source with their labels."""
    return Confusion(
        joint=read_only(count_pairs(predicted, labels, n_classes)),
        target=read_only(np.bincount(predicted_target, minlength=n_classes)),
        n=predicted.size,
        m=predicted_target.size,
        soft=False,
    )


def soft_confusion(
    probs: FloatMatrix,
    labels: IntArray,
    probs_target: FloatMatrix,
    row_weights: tuple[FloatArray, FloatArray] | None = None,
) -> Confusion:
    """Sum probabilities; `row_weights` of both samples: how often each row counts."""
    n, m = probs.shape[0], probs_target.shape[0]
    source, target = (None, None) if row_weights is None else row_weights
    return Confusion(
        joint=read_only(class_sums(probs, labels, source)),
        target=read_only(column_sums(probs_target, target)),
        n=n,
        m=m,
        soft=True,
    )


def solve(confusion: Confusion, *, singular: bool | None = None) -> FloatArray | None:
    """Return the w with C w = mu, None if C is singular, which may be known already."""
    c = confusion.matrix
    if singular is None:
        singular = bool(_are_singular(np.linalg.svd(c, compute_uv=False)))
    return None if singular else _solutions(c[None], confusion.frequencies[None])[0]


def solve_many(matrices: FloatMatrix, frequencies: FloatMatrix) -> FloatMatrix:
    """Return the solutions of B equations, shape (B, K); NaN for a singular one."""
    out = np.full(frequencies.shape, np.nan)
    regular = ~_are_singular(np.linalg.svd(matrices, compute_uv=False))
    out[regular] = _solutions(matrices[regular], frequencies[regular])
    return out


def _solutions(matrices: FloatMatrix, frequencies: FloatMatrix) -> FloatMatrix:
    """Return the solutions of B regular equations, one or many to the same bits."""
    return np.linalg.solve(matrices, frequencies[:, :, None])[:, :, 0]


def _are_singular(singular_values: FloatArray) -> BoolArray:
    """Return whether the last one is zero to working precision, along the last axis."""
    cutoff = singular_values.shape[-1] * np.finfo(np.float64).eps
    return np.asarray(singular_values[..., -1] <= cutoff * singular_values[..., 0])


def normalise(raw: FloatArray, source_prior: FloatArray) -> FloatArray:
    """Return the weights clipped at zero and divided by sum_k p_k w_k."""
    clipped = np.maximum(raw, 0.0)
    total = float(source_prior @ clipped)
    return clipped / total if total > 0 else np.ones_like(clipped)


def hard_covariance(confusion: Confusion, w: FloatArray) -> FloatMatrix:
    """Return the delta-method covariance of BBSE's weights (theory page, 4.5)."""
    c, mu, cw = confusion.matrix, confusion.frequencies, confusion.matrix @ w
    source = np.diag(c @ w**2) - np.outer(cw, cw)
    target = np.diag(mu) - np.outer(mu, mu)
    return _through_inverse(c, source / confusion.n + target / confusion.m)


def soft_covariance(
    confusion: Confusion,
    w: FloatArray,
    probs: FloatMatrix,
    labels: IntArray,
    target_gram: FloatMatrix,
) -> FloatMatrix:
    """Return the same for soft BBSE: covariances of f(X) w_Y and of f(X')."""
    n, m, mu = confusion.n, confusion.m, confusion.frequencies
    cw = confusion.matrix @ w
    source = gram(probs, np.abs(w)[labels]) / n - np.outer(cw, cw)
    target = target_gram / m - np.outer(mu, mu)
    return _through_inverse(confusion.matrix, source / n + target / m)


def _through_inverse(c: FloatMatrix, middle: FloatMatrix) -> FloatMatrix:
    """Return C^-1 M C^-T."""
    inverse = np.linalg.inv(c)
    return np.asarray(inverse @ middle @ inverse.T)


def exact_region(confusion: Confusion, delta: float) -> Polytope:
    """Return the Clopper-Pearson polytope: P(w inside) >= 1 - delta at every n and m.

    Each of the K^2 + K cells has its interval at level delta / (K^2 + K).
    """
    n_classes = confusion.target.size
    each = delta / (n_classes * (n_classes + 1))
    lower, upper = bounds.clopper_pearson(confusion.joint, confusion.n, each)
    mu_low, mu_high = bounds.clopper_pearson(confusion.target, confusion.m, each)
    return Polytope(lower, upper, mu_low, mu_high, True)


def norm_region(confusion: Confusion, delta: float) -> Box:
    """Return a box around the l2 ball of the theory page, 4.4.

    P(w inside) >= 1 - delta at every n and m, for hard or soft predictions. Where the
    confusion matrix may be singular for all that the bound knows, it is unbounded.
    """
    n_classes = confusion.target.size
    raw = solve(confusion)
    source, target = (
        (1.0 + math.sqrt(2.0 * math.log(2.0 / delta))) / math.sqrt(rows)
        for rows in (confusion.n, confusion.m)
    )
    room = conditioning(confusion).smallest - source
    if raw is None or room <= 0.0:
        return Box(np.zeros(n_classes), np.full(n_classes, np.inf), True)
    radius = (target + float(np.abs(raw).max()) * source) / room
    return Box(np.maximum(raw - radius, 0.0), raw + radius, True)
