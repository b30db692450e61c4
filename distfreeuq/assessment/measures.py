"""All metrics of one classifier from its rows and their weights.

The matrix is read and the bins are found once. What is left, sums with other weights,
is quick enough to be done again for every bootstrap sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._kernels import _metrics
from distfreeuq._typing import FloatArray, FloatMatrix, IntArray
from distfreeuq.metrics.bins import (
    CONFIDENCE,
    HIT,
    WEIGHT,
    choose_bins,
    debiased_square,
    gap_norm,
    overconfidence,
)
from distfreeuq.metrics.classwise import class_errors
from distfreeuq.metrics.rows import Rows
from distfreeuq.metrics.scores import log_losses

METRICS = (
    "accuracy",
    "mean_confidence",
    "ece",
    "overconfident_ece",
    "max_gap",
    "debiased_ece",
    "max_ece",
    "average_ece",
    "classwise_ece",
    "brier_score",
    "nll",
)

BIASED = frozenset(
    {
        "ece",
        "overconfident_ece",
        "max_gap",
        "max_ece",
        "average_ece",
        "classwise_ece",
    }
)
"""Errors that noise in the bins makes larger."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measures:
    """Rows with their bins.

    Attributes
    ----------
    rows : Rows
    bins, cells : ndarray (n,)
        Bin of the confidence; the same by predicted class.
    n_bins, n_classes : int
        n_classes is 1 where the rows are not told apart by predicted class.
    ends : ndarray (M + 1,)
        Ends of the bins.
    how : str
        How they were chosen.
    losses : ndarray (n,) or None
        Negative log-likelihoods.
    names : tuple of str
        Metrics that these rows have.
    """

    rows: Rows
    bins: IntArray
    cells: IntArray
    n_bins: int
    n_classes: int
    ends: FloatArray
    how: str
    losses: FloatArray | None
    names: tuple[str, ...]

    def sums(self, weights: FloatArray) -> FloatMatrix:
        """Return the sums by predicted class and bin, shape (K, M, 5)."""
        out = np.zeros((self.n_classes * self.n_bins, 5))
        rows = self.rows
        _metrics._sum_bins(self.cells, rows.confidence, rows.hits, weights, out)
        return out.reshape(self.n_classes, self.n_bins, 5)

    def values(self, weights: FloatArray) -> FloatArray:
        """Return every metric in `names` for rows with these weights."""
        by_class = self.sums(weights)
        sums = by_class.sum(axis=0)
        total = float(sums[:, WEIGHT].sum())
        found = {
            "accuracy": sums[:, HIT].sum() / total,
            "mean_confidence": sums[:, CONFIDENCE].sum() / total,
            "ece": gap_norm(sums),
            "overconfident_ece": overconfidence(sums),
            "max_gap": gap_norm(sums, "max"),
            "debiased_ece": np.sqrt(max(0.0, float(debiased_square(sums)))),
        }
        if self.n_classes > 1:
            errors = gap_norm(by_class)
            found["max_ece"] = np.nanmax(errors)
            found["average_ece"] = np.nanmean(errors)
        rows = self.rows
        if rows.probs is not None:
            assert rows.labels is not None and rows.brier is not None
            assert self.losses is not None
            errors = class_errors(
                rows.probs, rows.labels, weights, self.n_bins, self.how
            )
            found["classwise_ece"] = errors.mean()
            found["brier_score"] = weights @ rows.brier / total
            used = weights > 0.0
            found["nll"] = weights[used] @ self.losses[used] / total
        return np.array([float(found[name]) for name in self.names])


def bin_rows(rows: Rows, n_bins: int, how: str, *, by_class: bool) -> Measures:
    """Return the rows with the bins of their confidence."""
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    bins = partition.assign(rows.confidence)
    cells, n_classes = bins, 1
    if by_class:
        assert rows.predicted is not None
        n_classes = len(rows.classes)
        cells = rows.predicted * partition.n_bins + bins
    losses = None if rows.of_label is None else log_losses(rows.of_label)
    left_out = set() if by_class else {"max_ece", "average_ece"}
    if rows.probs is None:
        left_out |= {"classwise_ece", "brier_score", "nll"}
    if rows.weights.min() < 1.0:
        left_out.add("debiased_ece")
    return Measures(
        rows=rows,
        bins=bins,
        cells=cells,
        n_bins=partition.n_bins,
        n_classes=n_classes,
        ends=partition.ends(),
        how=how,
        losses=losses,
        names=tuple(name for name in METRICS if name not in left_out),
    )
