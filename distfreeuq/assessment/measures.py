"""All metrics of one classifier from its rows and their weights.

The matrix is read and the bins are found once. What is left are sums that are linear in
the weights, and the metrics are functions of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq.metrics.bins import (
    CONFIDENCE,
    HIT,
    WEIGHT,
    Bins,
    choose_bins,
    debiased_square,
    gap_norm,
    overconfidence,
    sum_in_cells,
)
from distfreeuq.metrics.classwise_errors import class_errors
from distfreeuq.metrics.data import Rows, log_losses
from distfreeuq.metrics.titles import TITLES

# How tables and figures call the metrics, in their order.

METRICS = tuple(TITLES)

# Errors that noise in the bins makes larger.
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sums:
    """What the metrics are functions of, for S samples of weights at once.

    Attributes
    ----------
    by_class : ndarray (S, K, M, 5)
        Sums by predicted class and bin; K is 1 where rows are not told apart.
    class_errors : ndarray (S, K) or None
        Class-wise calibration errors.
    brier, nll : ndarray (S,) or None
        Mean scores.
    """

    by_class: FloatMatrix
    class_errors: FloatMatrix | None = None
    brier: FloatArray | None = None
    nll: FloatArray | None = None


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
    class_errors : ndarray (K,) or None
        Class-wise errors of rows in blocks, whose matrix is not here.
    names : tuple of str
        Metrics that these rows have.
    """

    rows: Rows
    bins: IntArray
    cells: IntArray
    n_bins: int
    n_classes: int
    ends: FloatArray
    how: Bins
    losses: FloatArray | None
    class_errors: FloatArray | None
    names: tuple[str, ...]

    def sums(self) -> Sums:
        """Return the sums of the rows as they are: one sample."""
        rows, shape = self.rows, (self.n_classes, self.n_bins, 5)
        cells = sum_in_cells(rows, self.cells, self.n_classes * self.n_bins)
        by_class = cells.reshape(1, *shape)
        if rows.brier is None:
            return Sums(by_class)
        assert rows.labels is not None and self.losses is not None
        errors = self.class_errors
        if errors is None:
            assert rows.probs is not None
            errors = class_errors(
                rows.probs, rows.labels, rows.weights, self.n_bins, self.how
            )
        means = np.array([[rows.mean(rows.brier)], [rows.mean(self.losses)]])
        return Sums(by_class, errors[None], *means)

    def values(self, sums: Sums) -> FloatMatrix:
        """Return every metric in `names` for every sample, shape (S, J)."""
        by_class = sums.by_class
        pooled = by_class.sum(axis=1)
        total = pooled[..., WEIGHT].sum(axis=1)
        found = {
            "accuracy": pooled[..., HIT].sum(axis=1) / total,
            "mean_confidence": pooled[..., CONFIDENCE].sum(axis=1) / total,
            "frequency": pooled[..., HIT].sum(axis=1) / total,
            "mean_probability": pooled[..., CONFIDENCE].sum(axis=1) / total,
            "ece": gap_norm(pooled),
            "overconfident_ece": overconfidence(pooled),
            "max_gap": gap_norm(pooled, "max"),
            "debiased_ece": np.sqrt(np.maximum(debiased_square(pooled), 0.0)),
        }
        if "max_ece" in self.names:  # where classes are told apart, if only one
            errors = gap_norm(by_class)
            found["max_ece"] = np.nanmax(errors, axis=1)
            found["average_ece"] = np.nanmean(errors, axis=1)
        if sums.brier is not None and sums.nll is not None:
            found["brier_score"], found["nll"] = sums.brier, sums.nll
            # a bootstrap of rows in blocks has none
            found["classwise_ece"] = np.full(sums.nll.size, np.nan)
        if sums.class_errors is not None:
            found["classwise_ece"] = sums.class_errors.mean(axis=1)
        return np.column_stack([found[name] for name in self.names])


def bin_rows(
    rows: Rows,
    n_bins: int,
    how: Bins,
    *,
    by_class: bool,
    class_errors: FloatArray | None = None,
) -> Measures:
    """Return the rows with the bins of their confidence."""
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    bins = partition.assign(rows.confidence)
    cells, n_classes = bins, 1
    if by_class:
        assert rows.predicted is not None
        n_classes = len(rows.classes)
        cells = rows.predicted * partition.n_bins + bins
    losses = None if rows.of_label is None else log_losses(rows.of_label)
    left_out = {"frequency", "mean_probability"}
    if not by_class:
        left_out = {"accuracy", "mean_confidence", "max_ece", "average_ece"}
    if rows.brier is None:
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
        class_errors=class_errors,
        names=tuple(name for name in METRICS if name not in left_out),
    )
