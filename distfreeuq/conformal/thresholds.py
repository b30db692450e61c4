"""From calibration scores to thresholds: the procedures in their purest form.

Equation numbers are those of Podkopaev and Ramdas (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, IntArray, RowsLike
from distfreeuq._base.progress import progress_bar
from distfreeuq._numerics.quantiles import (
    SLACK,
    conformal_rank,
    order_statistics_by_label,
    quantiles_by_label,
    quantiles_with_atoms,
    smallest_order_statistic,
)
from distfreeuq._numerics.row_blocks import read_blocks
from distfreeuq.conformal.in_blocks.selected_thresholds import SelectedThresholds
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.inference.vertices import support_function

# One threshold for each of more classes would take gigabytes.
_MOST_CLASSES = 10**8
_NO_LABELS = np.empty(0, dtype=np.int64)


def exchangeable_threshold(scores: FloatArray, alpha: float) -> float:
    """Return the threshold of split conformal prediction (eq. 7)."""
    return smallest_order_statistic(scores, conformal_rank(scores.size, alpha))


def label_shift_thresholds(
    scores: FloatArray, labels: IntArray, label_weight: FloatArray, alpha: float
) -> FloatArray:
    """Return the thresholds under label shift, shape (K,) (eq. 8-9).

    A class of infinite weight, present in the target but not in the source, is in every
    set and leaves the other classes' thresholds as they are.
    """
    unseen = np.isinf(label_weight)
    finite = np.where(unseen, 0.0, label_weight)
    thresholds = quantiles_by_label(scores, labels, finite, 1.0 - alpha)
    thresholds[unseen] = np.inf
    return thresholds


def label_conditional_thresholds(
    scores: FloatArray, labels: IntArray, alphas: FloatArray
) -> FloatArray:
    """Return each class's own exchangeable threshold, shape (K,) (eq. 10)."""
    counts = np.bincount(labels, minlength=alphas.size)
    ranks = [conformal_rank(int(n), a) for n, a in zip(counts, alphas, strict=True)]
    return order_statistics_by_label(scores, labels, np.array(ranks, dtype=np.int64))


def covariate_shift_thresholds(
    scores: FloatArray, sample_weight: FloatArray, own_weight: FloatArray, alpha: float
) -> FloatArray:
    """Return the thresholds of new rows with weights `own_weight`, shape (m,)."""
    levels = np.full(own_weight.shape, 1.0 - alpha)
    return quantiles_with_atoms(scores, sample_weight, levels, own_weight)


def union_thresholds(
    scores: FloatArray,
    labels: IntArray,
    region: Box | Polytope,
    alpha: float,
    *,
    progress: bool = False,
) -> FloatArray:
    """Return the largest label-shift threshold over the region, shape (K,).

    If the true weights lie in the region W with probability 1 - delta, then tau_W(y),
    the largest threshold over W, gives coverage of at least 1 - alpha - delta, even if
    W was computed from the calibration rows themselves: on that event the union sets
    contain the sets of the true weights.

    For class y it is the smallest score t at which no weight in the region lacks mass:
    max_w sum_k w_k c_k(t) <= 0 with c_k(t) = (1 - alpha)(n_k + 1{k = y}) - N_k(t),
    where N_k(t) counts class k's scores up to t. The maximum (a linear program, or the
    largest value at a corner for boxes and few classes) decreases in t, so that a
    search finds it. The thresholds of the classes lie close together: each search
    starts from the last one's answer.
    """
    n_classes, support = region.n_classes, support_function(region)
    candidates = np.unique(scores)
    by_class = [np.sort(scores[labels == k]) for k in range(n_classes)]
    counts = np.array([own.size for own in by_class], dtype=np.float64)
    thresholds = np.full(n_classes, np.inf)
    found = candidates.size // 2
    for y in progress_bar(range(n_classes), shown=progress, desc="thresholds"):
        needed = (1.0 - alpha - SLACK) * (counts + (np.arange(n_classes) == y))

        def enough(index: int, needed: FloatArray = needed) -> bool:
            t = candidates[index]
            seen = [np.searchsorted(own, t, side="right") for own in by_class]
            return support(needed - seen) <= 0.0

        found = first_true(enough, candidates.size, found)
        if found < candidates.size:
            thresholds[y] = candidates[found]
    return thresholds


def first_true(holds: Callable[[int], bool], size: int, guess: int) -> int:
    """Return the first index at which a monotone condition holds, `size` if none.

    The search moves from the guess in steps that double, then bisects.
    """
    low, high = -1, size  # holds nowhere up to `low`, and from `high` on
    step, index = 1, min(max(guess, 0), size - 1)
    while low < index < high:
        if holds(index):
            high, index = index, index - step
        else:
            low, index = index, index + step
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def conformal_thresholds(
    scores: RowsLike,
    labels: ArrayLike | None = None,
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
    scores : array_like (n,), or blocks
        The true labels' scores, larger for less plausible labels. Of Dask, or in blocks
        (a function that returns an iterator of tuples of scores and labels), they are
        read three or four times and never kept: thresholds are selected exactly, digit
        by digit.
    labels : array_like (n,)
        Integers 0..n_classes-1. Left out where blocks have them.
    alpha : float, or (n_classes,) for ``method="label-conditional"``
        Miscoverage level in (0, 1).
    n_classes : int
    method : {"exchangeable", "label-shift", "label-conditional"}
        Eq. (7), (8)-(9) or (10) of Podkopaev and Ramdas (2021).
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
    rows = {"scores": scores, "labels": labels}
    blocks = read_blocks(args, rows, again=True)
    n_classes = args.count(n_classes, "n_classes", low=1, high=_MOST_CLASSES)
    if blocks is None:
        arrays: Any = scores, labels
        must = "numbers without NaN, shape (n,)"
        score_array = args.vector(arrays[0], "scores", must)
        codes = args.labels(arrays[1], range(n_classes), score_array.size)
    methods = ("exchangeable", "label-shift", "label-conditional")
    method = args.choice(method, "method", methods)  # type: ignore[assignment]
    if (label_weight is not None) != (method == "label-shift"):
        must = "given for method='label-shift', and only for it"
        got = "None" if label_weight is None else f"weights with method={method!r}"
        args.invalid("label_weight", must, got)

    if method == "label-conditional":
        alphas = args.alphas(alpha, range(n_classes))
        if blocks is not None:
            return SelectedThresholds(blocks, n_classes).label_conditional(alphas)
        return label_conditional_thresholds(score_array, codes, alphas)
    level = args.alpha(alpha)
    if blocks is not None:
        selected = SelectedThresholds(blocks, n_classes)
        if label_weight is None:
            return selected.exchangeable(level)
        weights = args.label_weights(label_weight, range(n_classes), _NO_LABELS)
        return selected.label_shift(args, weights, level)
    if label_weight is None:
        return np.full(n_classes, exchangeable_threshold(score_array, level))
    weights = args.label_weights(label_weight, range(n_classes), codes)
    return label_shift_thresholds(score_array, codes, weights, level)
