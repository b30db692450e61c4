"""From calibration scores to thresholds: the procedures in their purest form."""

from typing import Literal

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, IntArray
from distfreeuq._numerics.quantiles import (
    conformal_rank,
    order_statistics_by_label,
    quantiles_with_atoms,
    smallest_order_statistic,
)


def exchangeable_threshold(scores: FloatArray, alpha: float) -> float:
    """Return the threshold of split conformal prediction (paper A, eq. 7)."""
    return smallest_order_statistic(scores, conformal_rank(scores.size, alpha))


def label_shift_thresholds(
    scores: FloatArray, labels: IntArray, label_weight: FloatArray, alpha: float
) -> FloatArray:
    """Return the thresholds under label shift, shape (K,) (paper A, eq. 8-9).

    A class of infinite weight, present in the target but not in the source, is in every
    set and leaves the other classes' thresholds as they are.
    """
    unseen = np.isinf(label_weight)
    finite = np.where(unseen, 0.0, label_weight)
    levels = np.full(label_weight.shape, 1.0 - alpha)
    thresholds = quantiles_with_atoms(scores, finite[labels], levels, finite)
    thresholds[unseen] = np.inf
    return thresholds


def label_conditional_thresholds(
    scores: FloatArray, labels: IntArray, alphas: FloatArray
) -> FloatArray:
    """Return each class's own exchangeable threshold, shape (K,) (paper A, eq. 10)."""
    counts = np.bincount(labels, minlength=alphas.size)
    ranks = [conformal_rank(int(n), a) for n, a in zip(counts, alphas, strict=True)]
    return order_statistics_by_label(scores, labels, np.array(ranks, dtype=np.int64))


def conformal_thresholds(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    alpha: float | ArrayLike,
    n_classes: int,
    method: Literal[
        "exchangeable", "label-shift", "label-conditional"
    ] = "exchangeable",
    label_weight: ArrayLike | None = None,
) -> FloatArray:
    """Conformal thresholds from scores of your own.

    Parameters
    ----------
    scores : array_like (n,)
        The true labels' scores, larger for less plausible labels.
    labels : array_like (n,)
        Integers 0..n_classes-1.
    alpha : float, or (n_classes,) for ``method="label-conditional"``
        Miscoverage level in (0, 1).
    n_classes : int
    method : {"exchangeable", "label-shift", "label-conditional"}
        Paper A, eq. (7), (8)-(9) or (10).
    label_weight : array_like (n_classes,), for ``method="label-shift"``
        w = q/p up to scale. Zero: absent from the target. +inf: absent from the source,
        and then in every set.

    Returns
    -------
    ndarray (n_classes,)
        A label is in the set if its score is at most its class's threshold.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    >>> labels = [0, 1, 0, 1, 0, 1, 0, 1]
    >>> dfu.conformal_thresholds(scores, labels, alpha=0.2, n_classes=2).tolist()
    [0.8, 0.8]
    >>> dfu.conformal_thresholds(
    ...     scores, labels, alpha=0.2, n_classes=2, method="label-shift",
    ...     label_weight=[2, 0.5],
    ... ).tolist()
    [0.8, 0.7]
    """
    args = Arguments("conformal_thresholds")
    score_array = args.vector(scores, "scores", "numbers without NaN, shape (n,)")
    n_classes = args.count(n_classes, "n_classes", low=1)
    codes = args.labels(labels, range(n_classes), score_array.size)
    methods = ("exchangeable", "label-shift", "label-conditional")
    method = args.choice(method, "method", methods)  # type: ignore[assignment]
    if (label_weight is not None) != (method == "label-shift"):
        must = "given for method='label-shift', and only for it"
        got = "None" if label_weight is None else f"weights with method={method!r}"
        args.invalid("label_weight", must, got)

    if method == "label-conditional":
        alphas = args.alphas(alpha, n_classes)
        return label_conditional_thresholds(score_array, codes, alphas)
    level = args.alpha(alpha)
    if label_weight is None:
        return np.full(n_classes, exchangeable_threshold(score_array, level))
    weights = args.label_weights(label_weight, n_classes, codes)
    return label_shift_thresholds(score_array, codes, weights, level)
