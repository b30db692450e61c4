"""The Brier score decomposed: calibration, sharpness, and what bins leave over."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, IntArray
from distfreeuq._kernels import _bins
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.metrics.bins import Bins, check_bins, choose_bins
from distfreeuq.metrics.data import ALL, Rows, read_matrix
from distfreeuq.metrics.results import BrierDecomposition

_IN_MEMORY = (
    "It needs the mean vectors of groups: brier_score, ece and assess take rows in "
    "blocks."
)


def brier_decomposition(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    groups: Any = "bins",
    n_bins: int = 15,
    scheme: str | ArrayLike = "equal-width",
    closed: str = "right",
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> BrierDecomposition:
    """Decompose the Brier score into calibration and sharpness.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
    labels : array_like (n,)
    groups : {"bins", "forecasts"} or array_like of int (n,)
        Rows that count as one forecast: the same predicted class and bin of its
        confidence; exactly the same probabilities; or as given.
    n_bins, scheme, closed
        The bins, as in `ece`.
    sample_weight : array_like (n,), optional
    classes : sequence, optional

    Returns
    -------
    BrierDecomposition

    Notes
    -----
    ``brier = calibration + 1 - sharpness + within_var - 2 within_cov`` holds exactly.
    Groups of one row each make calibration the whole score: choose few groups.

    References
    ----------
    Murphy (1973); Park, Bastani, Weimer and Lee (2020), eq. (2).

    Examples
    --------
    >>> from distfreeuq import metrics
    >>> probs = [[0.7, 0.3], [0.7, 0.3], [0.7, 0.3], [0.7, 0.3]]
    >>> parts = metrics.brier_decomposition(probs, [0, 0, 1, 1])
    >>> round(parts.calibration, 4), round(parts.sharpness, 4), round(parts.brier, 4)
    (0.08, 0.5, 0.58)
    """
    args = Arguments("brier_decomposition")
    n_bins, how = check_bins(args, n_bins, scheme, closed)
    refuse_blocks(args, {"probs": probs, "labels": labels}, _IN_MEMORY)
    rows = read_matrix(
        args, probs, labels, sample_weight=sample_weight, classes=classes, needs=ALL
    )
    if isinstance(groups, str):
        kind = args.choice(groups, "groups", ["bins", "forecasts"])
        cells = _forecasts(rows) if kind == "forecasts" else _bins_of(rows, n_bins, how)
    else:
        cells = _given(args, groups, rows.n)
    return decompose(rows, cells)


def decompose(rows: Rows, cells: IntArray) -> BrierDecomposition:
    """Return the terms for groups 0, 1, ..., each with a row."""
    assert rows.probs is not None and rows.labels is not None
    assert rows.brier is not None and rows.of_label is not None
    weights = rows.weights
    n_groups, n_classes = int(cells.max()) + 1, rows.probs.shape[1]
    totals = np.zeros((1, n_groups, n_classes))
    _bins._sum_cells(rows.probs, cells, weights, totals, 1)
    hits = np.zeros((n_groups, n_classes))
    _bins._sum_label_weights(cells, rows.labels, weights, hits)
    mass = np.bincount(cells, weights=weights, minlength=n_groups)[:, None]
    used = mass > 0.0
    forecast, frequency = (
        np.divide(part, mass, out=np.zeros_like(part), where=used)
        for part in (totals[0], hits)
    )
    total = float(weights.sum())
    share = mass[:, 0] / total
    overall = hits.sum(axis=0) / total
    length = float(share @ (frequency**2).sum(axis=1))
    right = rows.mean(rows.of_label.astype(np.float64))
    brier = rows.mean(rows.brier)
    squares = brier + 2.0 * right - 1.0  # mean squared length of the forecasts
    return BrierDecomposition(
        brier=brier,
        calibration=float(share @ ((forecast - frequency) ** 2).sum(axis=1)),
        sharpness=length,
        resolution=float(share @ ((frequency - overall) ** 2).sum(axis=1)),
        uncertainty=1.0 - float(overall @ overall),
        within_var=squares - float(share @ (forecast**2).sum(axis=1)),
        within_cov=right - float(share @ (forecast * frequency).sum(axis=1)),
        n_groups=int(used.sum()),
    )


def _forecasts(rows: Rows) -> IntArray:
    assert rows.probs is not None
    _, cells = np.unique(rows.probs, axis=0, return_inverse=True)
    return np.ascontiguousarray(cells.ravel(), dtype=np.int64)


def _bins_of(rows: Rows, n_bins: int, how: Bins) -> IntArray:
    assert rows.predicted is not None
    partition = choose_bins(rows.confidence, rows.weights, n_bins, how)
    bins = partition.assign(rows.confidence)
    return _numbered(rows.predicted * partition.n_bins + bins)


def _given(args: Arguments, groups: ArrayLike, n: int) -> IntArray:
    must = "'bins', 'forecasts', or an integer per row"
    array = np.asarray(args.array(groups, "groups", "integers"))
    if array.shape != (n,):
        args.invalid("groups", must, f"shape {array.shape} for {n} rows")
    if array.dtype.kind not in "iub":
        args.invalid("groups", must, f"dtype {array.dtype}")
    return _numbered(array)


def _numbered(values: Any) -> IntArray:
    """Return the groups as 0, 1, ... without gaps."""
    _, numbers = np.unique(values, return_inverse=True)
    return np.ascontiguousarray(numbers.ravel(), dtype=np.int64)
