"""The reliability table: confidence against accuracy, bin by bin."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, FloatMatrix
from distfreeuq._base.arrays import read_only
from distfreeuq._numerics.sample_weights import divide
from distfreeuq.bounds import unchecked
from distfreeuq.metrics.bins import (
    CONFIDENCE,
    HIT,
    SQUARE,
    WEIGHT,
    Bins,
    check_bins,
    choose_bins,
    sum_in_cells,
)
from distfreeuq.metrics.data import Rows, read_hits
from distfreeuq.metrics.guarantees import all_bins_accuracy
from distfreeuq.metrics.results import ReliabilityTable


def reliability(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> ReliabilityTable:
    """Tabulate confidence and accuracy in bins, with simultaneous intervals.

    Parameters
    ----------
    confidence : array_like (n,)
        Probability of an event in each row: that the predicted class is right, or any
        other.
    correct : array_like (n,)
        Whether the event came true: booleans, or 0 and 1.
    n_bins : int
    scheme : {"equal-width", "uniform-mass"} or array_like
        Increasing edges in place of a name are the bins' own, whatever `n_bins` is.
    closed : {"right", "left"}
        Bins of equal width are ((m-1)/M, m/M], with 0 in the first, or [(m-1)/M, m/M),
        with 1 in the last; likewise between given edges.
    sample_weight : array_like (n,), optional
    level : float
        Level of the intervals, for all bins at once.

    Returns
    -------
    ReliabilityTable

    Notes
    -----
    Without weights the intervals are Clopper and Pearson's at (1 - level) / M; with
    weights they are Hoeffding's, for weights that do not depend on the outcome. Bins of
    equal mass are chosen by the rows themselves, and then nothing is claimed.

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> table = metrics.reliability([0.9, 0.8, 0.8, 0.6], [1, 1, 0, 0], n_bins=2)
    >>> round(table.ece, 4), table.weight.tolist()
    (0.275, [0.0, 4.0])
    """
    args = Arguments("reliability")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    level = args.probability(level, "level")
    rows = read_hits(args, confidence, correct, sample_weight=sample_weight)
    return tabulate(rows, n_bins, how, level, "prediction is right")


def tabulate(
    rows: Rows, n_bins: int, how: Bins, level: float, event: str
) -> ReliabilityTable:
    """Return the table of checked rows."""
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    sums = sum_in_cells(rows, partition.assign(rows.confidence), partition.n_bins)
    return table_of_sums(
        sums,
        partition.ends(),
        level,
        rows.n,
        event,
        fixed_bins=how != "uniform-mass",
        given_edges=not isinstance(how, str),
        weight_scale=rows.weight_scale,
    )


def table_of_sums(
    sums: FloatMatrix,
    edges: FloatArray,
    level: float,
    n: int,
    event: str,
    *,
    fixed_bins: bool,
    given_edges: bool = False,
    weight_scale: float = 1.0,
) -> ReliabilityTable:
    """Return the table of the bins' sums (M, 5)."""
    weight = sums[:, WEIGHT]
    means = divide(sums[:, [CONFIDENCE, HIT]].T, weight)
    weighted = not np.array_equal(weight, sums[:, SQUARE])
    low, high = _intervals(sums, means[1], 1.0 - level, weighted)
    return ReliabilityTable(
        edges=read_only(edges),
        weight=read_only(weight * weight_scale),
        mean_confidence=read_only(means[0]),
        accuracy=read_only(means[1]),
        low=read_only(low),
        high=read_only(high),
        level=level,
        n=n,
        event=event,
        guarantee=all_bins_accuracy(
            level, weighted, fixed_bins, event, given_edges=given_edges
        ),
    )


def _intervals(
    sums: FloatMatrix, accuracy: FloatArray, alpha: float, weighted: bool
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of every bin's accuracy, each at alpha / M."""
    n_bins = accuracy.size
    if not weighted:
        n = np.rint(sums[:, WEIGHT]).astype(np.int64)
        low, high = unchecked.clopper_pearson(
            np.rint(sums[:, HIT]).astype(np.int64), n, alpha / n_bins
        )
        return np.where(n > 0, low, 0.0), np.where(n > 0, high, 1.0)
    used = sums[:, WEIGHT] > 0.0
    effective = divide(sums[:, WEIGHT] ** 2, sums[:, SQUARE])
    radius = np.sqrt(0.5 * np.log(2.0 * n_bins / alpha) / effective)
    low = np.where(used, np.maximum(accuracy - radius, 0.0), 0.0)
    return low, np.where(used, np.minimum(accuracy + radius, 1.0), 1.0)
