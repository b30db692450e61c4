"""The target's class proportions from above, at every sample size and in closed form.

Label shift says that the target has predictions k at least as often as rows of class k
that are predicted as k: mu_k >= q_k A_kk, A_kk = P(predicted k | Y = k). Two binomial
bounds per class, an upper one of mu_k and a lower one of A_kk, hold all proportions
below caps at once (theory page, 4.11). No confusion between classes has to be known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.confusion import Confusion


@dataclass(frozen=True, slots=True)
class PriorCaps:
    """The proportions q >= 0 with sum one and q <= high.

    Attributes
    ----------
    high : ndarray (K,)
        At most 1, which it is for classes of which nothing is known; the sum is at
        least 1.
    """

    high: FloatArray

    def largest(self, values: FloatArray) -> float:
        """Return the largest mean of the values: the largest ones, up to their caps."""
        ordered, shares = self._filled(values)
        return float(ordered @ shares)

    def largest_of_rows(self, values: FloatMatrix) -> FloatArray:
        """Return the same for each row of values, which may be infinite."""
        ordered, shares = self._filled(values)
        return np.asarray((np.where(shares > 0.0, ordered, 0.0) * shares).sum(axis=1))

    def _filled(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values, the largest first, and the shares that they may have."""
        order = np.argsort(-values, axis=-1, kind="stable")
        room = self.high[order]
        before = np.cumsum(room, axis=-1) - room
        shares = np.clip(1.0 - before, 0.0, room)
        return np.take_along_axis(values, order, axis=-1), shares

    def densest(self, counts: FloatArray) -> float:
        """Return a bound of max_k q_k / n_k over the classes with rows."""
        here = counts > 0
        return float((self.high[here] / counts[here]).max(initial=0.0))


def prior_caps(
    confusion: Confusion, delta: float, label_counts: IntArray | None = None
) -> PriorCaps:
    """Return caps that hold q with probability >= 1 - delta, given the label counts.

    From counted predictions. Counts of labels of target rows have one more bound per
    class, so that each is at delta / (3 K).
    """
    if label_counts is not None:
        by_predictions = prior_caps(confusion, 2.0 * delta / 3.0).high
        # two-sided intervals at twice the level, of which one side is used
        _, by_labels = unchecked.clopper_pearson(
            label_counts,
            int(label_counts.sum()),
            2.0 * delta / (3.0 * label_counts.size),
        )
        both = np.minimum(by_predictions, by_labels)
        # no proportions are below all caps: one has failed, or what is assumed is wrong
        return PriorCaps(both if both.sum() >= 1.0 else by_predictions)
    joint = confusion.joint
    return counted_caps(
        np.asarray(joint.sum(axis=0), dtype=np.float64),
        np.asarray(joint.diagonal(), dtype=np.float64),
        np.asarray(confusion.target),
        confusion.m,
        delta,
    )


def counted_caps(
    counts: FloatArray, right: FloatArray, predicted: FloatArray, m: int, delta: float
) -> PriorCaps:
    """Return the caps from counts by class; each of 2 K bounds is at delta / (2 K).

    Parameters
    ----------
    counts, right : ndarray (K,)
        Source rows of each class, and those of them that are predicted right.
    predicted : ndarray (K,)
        Of the m target rows, those with each prediction.
    m : int
    delta : float
    """
    n_classes = counts.size
    # two-sided intervals at twice the level: one side of each is used
    each = delta / n_classes
    _, predicted = unchecked.clopper_pearson(predicted, np.full(n_classes, m), each)
    right, _ = unchecked.clopper_pearson(right, counts, each)
    high = np.ones(n_classes)
    np.divide(predicted, right, out=high, where=right > 0)
    return PriorCaps(np.minimum(high, 1.0))
