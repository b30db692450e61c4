"""The confusion matrix and the target's predictions: all the data of BBSE and RLLS.

C_ij = P(predicted i, class j) in the source and mu_i = P(predicted i) in the target, so
that under label shift C w = mu. "Soft": with probabilities in place of predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, flag, require, table_of_counts
from distfreeuq._numerics.row_sums import (
    class_sums,
    column_sums,
    count_pairs,
)


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

    _state: ClassVar[State] = {
        "joint": table_of_counts("K", "K"),
        "target": table_of_counts("K"),
        "n": count(low=1),
        "m": count(low=1),
        "soft": flag(),
    }

    def _validate_state(self) -> None:
        totals = (self.joint.sum(), self.target.sum())
        agree = np.allclose(totals, (self.n, self.m), rtol=1e-4)
        require(agree, "sums over all rows")

    @property
    def matrix(self) -> FloatMatrix:
        """C, shape (K, K)."""
        return self.joint / self.n

    @property
    def frequencies(self) -> FloatArray:
        """The target's mean prediction mu, shape (K,)."""
        return self.target / self.m


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
