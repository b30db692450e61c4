"""Accuracy, mean confidence, and the two proper scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq.metrics.data import read_matrix


def accuracy(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Share of rows whose most likely class is the true one.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
    labels : array_like (n,)
    sample_weight : array_like (n,), optional
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
    rows = read_matrix(
        Arguments("accuracy"),
        probs,
        labels,
        sample_weight=sample_weight,
        classes=classes,
        needs=(),
    )
    return rows.mean(rows.hits.astype(np.float64))


def mean_confidence(
    probs: ArrayLike,
    labels: ArrayLike,
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
    rows = read_matrix(
        Arguments("mean_confidence"),
        probs,
        labels,
        sample_weight=sample_weight,
        classes=classes,
    )
    return rows.mean(rows.confidence.astype(np.float64))


def brier_score(
    probs: ArrayLike,
    labels: ArrayLike,
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
    rows = read_matrix(
        Arguments("brier_score"),
        probs,
        labels,
        sample_weight=sample_weight,
        classes=classes,
        needs={"brier"},
    )
    assert rows.brier is not None
    return rows.mean(rows.brier)


def nll(
    probs: ArrayLike,
    labels: ArrayLike,
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
    rows = read_matrix(
        Arguments("nll"),
        probs,
        labels,
        sample_weight=sample_weight,
        classes=classes,
        needs={"of_label"},
    )
    assert rows.of_label is not None
    return rows.mean(log_losses(rows.of_label))


def log_losses(of_label: FloatArray) -> FloatArray:
    """Return -log of the labels' probabilities; +0.0 for 1, inf for 0."""
    with np.errstate(divide="ignore"):
        return 0.0 - np.log(of_label.astype(np.float64))
