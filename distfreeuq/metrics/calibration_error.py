"""Calibration errors of the predicted class, and of every class."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    FloatArray,
    FloatMatrix,
    IntArray,
    RowsLike,
)
from distfreeuq._base.arrays import describe
from distfreeuq._base.row_groups import read_groups
from distfreeuq._base.tallied import Tallied
from distfreeuq.metrics.bins import (
    NORMS,
    Bins,
    check_bins,
    choose_bins,
    debiased_square,
    gap_norm,
    overconfidence,
    sum_by_class,
    sum_by_group,
    sum_in_cells,
)
from distfreeuq.metrics.class_errors_in_blocks import read_class_errors
from distfreeuq.metrics.classwise_errors import (
    class_edges,
    class_errors,
    class_gap_sums,
    errors_of_sums,
)
from distfreeuq.metrics.data import (
    BY_CLASS,
    TOP,
    Rows,
    read_matrix,
    read_predictions,
)
from distfreeuq.metrics.tallied_sums import find_sums


def ece(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    norm: str = "l1",
    event: str = "predicted",
    predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Mean gap of confidence and accuracy over bins: the expected calibration error.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        With `predicted`: the confidence in the predicted labels, (n,). Or rows of Dask,
        blocks of rows, or a `Tally` with sums in these bins (`n_bins`, `closed`): then
        of the predicted class, without weights. Blocks may have weights too, beside
        labels; with weights, or bins that are not of equal width, some numbers of each
        row are gathered.
    labels : array_like (n,)
        True labels; left out with blocks that have their own, and with a `Tally`.
    n_bins : int
    scheme : {"equal-width", "uniform-mass"} or array_like
        Bins ((m-1)/M, m/M], bins that end at the confidences' quantiles, or bins
        between these increasing edges, whatever `n_bins` is.
    closed : {"right", "left"}
        Which end belongs to a bin of equal width, or between given edges; 0 and 1
        belong to the first and last.
    norm : {"l1", "l2", "max"}
        Mean absolute gap, root mean squared gap, or largest gap of a bin.
    event : {"predicted", "class-1"}
        Whose probability is meant: the predicted class's, always at least 1/K, or, with
        two classes, class 1's. The two differ for binary classifiers.
    predicted : array_like (n,), optional
        Predicted labels, where there is no matrix of probabilities.
    sample_weight : array_like (n,), optional
        Importance weights make it an estimate of the target's error.
    classes : sequence, optional

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    Biased upwards in small samples: even a calibrated classifier's bins have gaps.
    `debiased_ece` is not, and `distfreeuq.assess` tests for calibration.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.9, 0.1]]
    >>> round(metrics.ece(probs, [0, 1, 1, 0], n_bins=10), 4)
    0.25
    >>> round(metrics.ece([0.8, 0.8, 0.7, 0.9], [0, 1, 1, 0], n_bins=10,
    ...                   predicted=[0, 0, 1, 0]), 4)
    0.25
    """
    args = Arguments("ece")
    norm = args.choice(norm, "norm", NORMS)
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    sums = find_sums(
        args,
        probs,
        labels,
        classes,
        n_bins=n_bins,
        how=how,
        event=event,
        predicted=predicted,
        sample_weight=sample_weight,
    )
    if sums is not None:
        return float(gap_norm(sums.by_class().sum(axis=0), norm))
    rows = read_event(args, probs, labels, predicted, sample_weight, classes, event)
    return float(gap_norm(_bin_sums(rows, n_bins, how), norm))


def overconfident_ece(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    event: str = "predicted",
    predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Part of the ECE that comes from bins whose confidence exceeds their accuracy.

    Parameters
    ----------
    probs, labels, n_bins, scheme, closed, event, predicted, sample_weight, classes
        As in `ece`.

    Returns
    -------
    float
        At most the ECE.

    References
    ----------
    Park, Bastani, Weimer and Lee (2020), section 6. The paper's bins are closed on the
    left, ``closed="left"``.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.9, 0.1]]
    >>> round(metrics.overconfident_ece(probs, [0, 1, 1, 0], n_bins=10), 4)
    0.15
    """
    args = Arguments("overconfident_ece")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    sums = find_sums(
        args,
        probs,
        labels,
        classes,
        n_bins=n_bins,
        how=how,
        event=event,
        predicted=predicted,
        sample_weight=sample_weight,
    )
    if sums is not None:
        return float(overconfidence(sums.by_class().sum(axis=0)))
    rows = read_event(args, probs, labels, predicted, sample_weight, classes, event)
    return float(overconfidence(_bin_sums(rows, n_bins, how)))


def debiased_ece(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    method: str = "exact",
    squared: bool = False,
    event: str = "predicted",
    predicted: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """L2 calibration error without the upward bias of plain estimates.

    Parameters
    ----------
    probs, labels, n_bins, scheme, closed, event, predicted, classes
        As in `ece`.
    method : {"exact", "kumar"}
        What is subtracted from a bin's squared gap: the estimated variance of the mean
        of confidence less hit, or, as in Kumar et al., that of the mean hit alone. The
        first is unbiased whatever the confidences do within a bin; the second if they
        are all the same.
    squared : bool
        Return the squared error, which is what is unbiased and may be negative. Else
        its root, or 0 where it is negative.

    Returns
    -------
    float

    Notes
    -----
    Bins with one row add nothing. Takes no weights: with them the variance of a bin's
    mean gap is another.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.8, 0.2]] * 5
    >>> round(metrics.debiased_ece(probs, [0, 0, 0, 1, 1], squared=True), 4)
    -0.02
    >>> metrics.debiased_ece(probs, [0, 0, 0, 1, 1])
    0.0
    """
    args = Arguments("debiased_ece")
    method = args.choice(method, "method", ["exact", "kumar"])
    squared = args.flag(squared, "squared")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    found = find_sums(
        args,
        probs,
        labels,
        classes,
        n_bins=n_bins,
        how=how,
        event=event,
        predicted=predicted,
    )
    if found is None:
        rows = read_event(args, probs, labels, predicted, None, classes, event)
        sums = _bin_sums(rows, n_bins, how)
    else:
        sums = found.by_class().sum(axis=0)
    square = float(debiased_square(sums, method))
    return square if squared else float(np.sqrt(max(square, 0.0)))


def max_ece(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
    groups: ArrayLike | None = None,
) -> float:
    """Largest ECE among the rows of one predicted class, or of one group.

    Parameters
    ----------
    probs, labels, n_bins, scheme, closed, predicted, sample_weight, classes
        As in `ece`.
    groups : array_like (n,), optional
        Each row's group, such as a hospital: the largest ECE among the groups, in place
        of the predicted classes.

    Returns
    -------
    float

    Notes
    -----
    Classes that are never predicted are skipped. Bins of equal mass are those of all
    rows. The ECE of few rows is large by noise alone, and so is a maximum over them.

    References
    ----------
    Zhao, Chen and Oymak (2020), section 4.1.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]]
    >>> round(metrics.max_ece(probs, [0, 1, 1]), 4)
    0.3
    >>> round(metrics.max_ece(probs, [0, 1, 1], groups=["a", "b", "b"]), 4)
    0.55
    """
    args = Arguments("max_ece")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    sums = find_sums(
        args,
        probs,
        labels,
        classes,
        n_bins=n_bins,
        how=how,
        predicted=predicted,
        sample_weight=sample_weight,
        groups=groups,
    )
    if sums is not None:
        return float(np.nanmax(gap_norm(sums.by_class())))
    rows = read_event(
        args, probs, labels, predicted, sample_weight, classes, needs=BY_CLASS
    )
    if groups is not None:
        names, codes = read_groups(args, groups, rows.n)
        by_group = _sums_by_group(rows, codes, len(names), n_bins, how)
        return float(np.nanmax(gap_norm(by_group)))
    return float(np.nanmax(errors_by_prediction(rows, n_bins, how)))


def average_ece(
    probs: RowsLike | Tallied,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Mean over the predicted classes of the ECE of their rows.

    Parameters
    ----------
    probs, labels, n_bins, scheme, closed, predicted, sample_weight, classes
        As in `ece`.

    Returns
    -------
    float

    Notes
    -----
    Every class that is predicted at all counts the same; the others are skipped.

    References
    ----------
    Zhao, Chen and Oymak (2020), section 5.4.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]]
    >>> round(metrics.average_ece(probs, [0, 1, 1]), 4)
    0.3
    """
    args = Arguments("average_ece")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    sums = find_sums(
        args,
        probs,
        labels,
        classes,
        n_bins=n_bins,
        how=how,
        predicted=predicted,
        sample_weight=sample_weight,
    )
    if sums is not None:
        return float(np.nanmean(gap_norm(sums.by_class())))
    rows = read_event(
        args, probs, labels, predicted, sample_weight, classes, needs=BY_CLASS
    )
    return float(np.nanmean(errors_by_prediction(rows, n_bins, how)))


def classwise_ece(
    probs: RowsLike,
    labels: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    average: bool = True,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> Any:
    """Calibration error of every class's probability, averaged over the classes.

    Parameters
    ----------
    probs, labels, n_bins, scheme, closed, sample_weight, classes
        As in `ece`. Bins of equal mass are each class's own: rows in blocks are then
        read once for each class. No `Tally` has these sums.
    average : bool
        False for the errors of the K classes.

    Returns
    -------
    float or ndarray (K,)

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]
    >>> metrics.classwise_ece(probs, [0, 1], average=False).round(4).tolist()
    [0.2, 0.3, 0.2]
    """
    args = Arguments("classwise_ece")
    average = args.flag(average, "average")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    given: dict[str, Any] = {"probs": probs, "labels": labels}
    in_blocks = read_class_errors(
        args, {**given, "sample_weight": sample_weight}, classes, n_bins, how
    )
    if in_blocks is not None:
        return float(in_blocks.mean()) if average else in_blocks
    unchecked, names = args.unchecked_probs(given["probs"], classes=classes)
    matrix = unchecked.matrix
    n = matrix.shape[0]
    numbers = args.labels(given["labels"], names, n)
    if n == 0:
        args.invalid("probs", "of at least one row", "none")
    weights: FloatArray = np.ones(n)
    if sample_weight is not None:
        weights = args.weights(sample_weight, "sample_weight", n)
        weights = weights / weights.max()
    if how == "uniform-mass":
        errors = class_errors(unchecked.checked(), numbers, weights, n_bins, how)
    else:  # one read of the matrix sums and checks
        edges = class_edges(matrix, n_bins, how)
        sums, bad = class_gap_sums(matrix, numbers, weights, edges, unchecked.tolerance)
        unchecked.raise_if_invalid(bad)
        errors = errors_of_sums(sums, weights)
    return float(errors.mean()) if average else errors


def errors_by_prediction(rows: Rows, n_bins: int, how: Bins) -> FloatArray:
    """Return the ECE of each predicted class's rows (K,); NaN if there are none."""
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    bins = partition.assign(rows.confidence)
    return gap_norm(sum_by_class(rows, bins, partition.n_bins))


def _sums_by_group(
    rows: Rows, codes: IntArray, n_groups: int, n_bins: int, how: Bins
) -> FloatMatrix:
    """Return the sums by group and bin, shape (G, M, 5)."""
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    bins = partition.assign(rows.confidence)
    return sum_by_group(rows, bins, partition.n_bins, codes, n_groups)


def _bin_sums(rows: Rows, n_bins: int, how: Bins) -> FloatMatrix:
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    return sum_in_cells(rows, partition.assign(rows.confidence), partition.n_bins)


def read_event(
    args: Arguments,
    probs: Any,
    labels: Any,
    predicted: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: Any,
    event: str = "predicted",
    needs: Collection[str] = TOP,
) -> Rows:
    """Return the rows of a matrix, or of predicted labels and their confidences."""
    if predicted is None:
        return read_matrix(
            args,
            probs,
            labels,
            sample_weight=sample_weight,
            classes=classes,
            event=event,
            needs=needs,
        )
    if not isinstance(event, str) or event != "predicted":
        must = "'predicted' where predicted labels are given"
        args.invalid("event", must, describe(event))
    return read_predictions(
        args, probs, labels, predicted, sample_weight=sample_weight, classes=classes
    )
