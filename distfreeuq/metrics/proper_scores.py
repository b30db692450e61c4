"""Accuracy, mean confidence, and the two proper scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RowsLike
from distfreeuq._base.tallied import Tallied
from distfreeuq.metrics.bins import CONFIDENCE
from distfreeuq.metrics.data import log_losses, read_matrix
from distfreeuq.metrics.tallied_sums import find_sums


def accuracy(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Share of rows whose most likely class is the true one.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        Or rows of Dask, blocks of rows, or a `Tally` with sums by bin (`n_bins`).
    labels : array_like (n,)
        Left out with blocks that have their own, and with a `Tally`.
    sample_weight : array_like (n,), optional
        Of rows in memory.
    classes : sequence, optional

    Returns
    -------
    float

    Notes
    -----
    The first of several equally likely classes is the predicted one.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> metrics.accuracy([[0.8, 0.2], [0.4, 0.6]], [0, 0])
    0.5
    """
    args = Arguments("accuracy")
    sums = find_sums(args, probs, labels, classes, sample_weight=sample_weight)
    if sums is not None:
        return float(sums.hits.sum() / sums.n)
    arrays: Any = probs, labels
    rows = read_matrix(
        args,
        *arrays,
        sample_weight=sample_weight,
        classes=classes,
        needs=(),
    )
    return rows.mean(rows.hits.astype(np.float64))


def mean_confidence(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Mean probability of the predicted class.

    Parameters
    ----------
    probs, labels, sample_weight, classes
        As in `accuracy`; the labels are checked, and count for nothing.

    Returns
    -------
    float

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> round(metrics.mean_confidence([[0.8, 0.2], [0.4, 0.6]], [0, 0]), 4)
    0.7
    """
    args = Arguments("mean_confidence")
    sums = find_sums(args, probs, labels, classes, sample_weight=sample_weight)
    if sums is not None:
        return float(sums.by_class()[..., CONFIDENCE].sum() / sums.n)
    arrays: Any = probs, labels
    rows = read_matrix(
        args,
        *arrays,
        sample_weight=sample_weight,
        classes=classes,
    )
    return rows.mean(rows.confidence.astype(np.float64))


def brier_score(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Mean squared distance of the probabilities to the label's unit vector.

    Parameters
    ----------
    probs, labels, sample_weight, classes
        As in `accuracy`.

    Returns
    -------
    float
        In [0, 2], with two classes too: twice the squared error of class 1's
        probability.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> metrics.brier_score([[1.0, 0.0]], [1])
    2.0
    """
    args = Arguments("brier_score")
    sums = find_sums(args, probs, labels, classes, sample_weight=sample_weight)
    if sums is not None:
        return float(sums.means()[0])
    arrays: Any = probs, labels
    rows = read_matrix(
        args,
        *arrays,
        sample_weight=sample_weight,
        classes=classes,
        needs={"brier"},
    )
    assert rows.brier is not None
    return rows.mean(rows.brier)


def nll(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Mean negative log-likelihood of the labels (log loss, cross-entropy).

    Parameters
    ----------
    probs, labels, sample_weight, classes
        As in `accuracy`.

    Returns
    -------
    float
        inf if a label of positive weight has probability 0.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> round(metrics.nll([[0.8, 0.2], [0.4, 0.6]], [0, 1]), 4)
    0.367
    """
    args = Arguments("nll")
    sums = find_sums(args, probs, labels, classes, sample_weight=sample_weight)
    if sums is not None:
        return float(sums.means()[1])
    arrays: Any = probs, labels
    rows = read_matrix(
        args,
        *arrays,
        sample_weight=sample_weight,
        classes=classes,
        needs={"of_label"},
    )
    assert rows.of_label is not None
    return rows.mean(log_losses(rows.of_label))
