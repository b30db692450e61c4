"""Kernel mean matching: weights under which the source has the target's mean features.

Huang, Smola, Gretton, Borgwardt and Schoelkopf (2007): in the space of a Gaussian
kernel, the weighted mean of the source rows is brought as near as can be to the mean of
the target rows,

    |sum_i b_i phi(x_i) / n - mean_target phi|^2 + ridge |b|^2 / n^2,

over 0 <= b_i <= weight_bound and |mean b - 1| <= slack. The method gives weights of the
source rows and of no others: it has no ratio at new rows, and no row is held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, real
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.convex.box_quadratic import BoxedSum, minimize_boxed
from distfreeuq._numerics.standardization import center_and_scale
from distfreeuq.density_ratios.cross_fitting import RatioEstimate
from distfreeuq.density_ratios.gaussian_kernels import gaussian, squared_distances

MOST_ROWS = 10_000
"""Source rows: their kernel matrix has as many columns, and takes 0.8 GB."""
RIDGE = 1.0
"""A row's squared length in the kernel's space, so that ridge |b|^2 / n^2 is about what
independent rows add to the squared distance by chance."""
WEIGHT_BOUND = 1000.0
_TOLERANCE = 1e-9
"""Of the squared distance, at which the steps end."""
_BLOCK_ROWS = 1024
_MOST_FOR_MEDIAN = 1000


@register("matched-means")
@dataclass(frozen=True, slots=True)
class MatchedMeans:
    """What kernel mean matching found, but for the weights.

    Attributes
    ----------
    n_features : int
    bandwidth : float
        Standard deviation of the kernel, on standardised features.
    ridge, weight_bound, slack : float
    distance_before, distance_after : float
        Between the mean of the source rows, of equal weights and as weighted, and that
        of the target rows, in the kernel's space.
    """

    n_features: int
    bandwidth: float
    ridge: float
    weight_bound: float
    slack: float
    distance_before: float
    distance_after: float

    _state: ClassVar[State] = {
        "n_features": count(),
        "bandwidth": real(above=0.0),
        "ridge": real(0.0),
        "weight_bound": real(above=0.0),
        "slack": real(0.0),
        "distance_before": real(0.0),
        "distance_after": real(0.0),
    }

    def facts(self) -> list[tuple[str, str]]:
        """Return what the summary's header says of this method."""
        return [
            ("Bandwidth", f"{self.bandwidth:.4g}"),
            ("Ridge", f"{self.ridge:.4g}"),
            (
                "Distance of means",
                f"{self.distance_after:.3g} (unweighted {self.distance_before:.3g})",
            ),
        ]


@on_one_blas_thread
def fit_matched_means(
    source: FloatMatrix,
    target: FloatMatrix,
    *,
    bandwidth: float | None,
    ridge: float,
    weight_bound: float,
    slack: float | None,
) -> RatioEstimate:
    """Return the source rows' weights; the target rows have none, NaN."""
    n, m = len(source), len(target)
    center, scale = center_and_scale(np.concatenate([source, target]))
    source, target = (source - center) / scale, (target - center) / scale
    matrix = squared_distances(source, source)
    if bandwidth is None:
        bandwidth = _median_distance(source, target)
    matrix = gaussian(matrix, bandwidth)
    matrix = 0.5 * (matrix + matrix.T)
    np.fill_diagonal(matrix, 1.0)
    own = matrix.sum(axis=1)
    to_target = _mean_kernel(source, target, bandwidth)
    of_target = float(_mean_kernel(target, target, bandwidth).mean())

    slack = 1.0 - n**-0.5 if slack is None else slack
    allowed = BoxedSum(weight_bound, n * max(0.0, 1.0 - slack), n * (1.0 + slack))
    matrix[np.diag_indices(n)] += ridge
    found = minimize_boxed(
        matrix, n * to_target, allowed, tolerance=0.5 * _TOLERANCE * n * n
    )
    b = found.at
    matrix[np.diag_indices(n)] -= ridge
    before = float(own.mean()) / n - 2.0 * float(to_target.mean()) + of_target
    after = float(b @ (matrix @ b)) / n**2 - 2.0 * float(to_target @ b) / n + of_target
    model = MatchedMeans(
        n_features=source.shape[1],
        bandwidth=bandwidth,
        ridge=ridge,
        weight_bound=weight_bound,
        slack=slack,
        distance_before=max(0.0, before) ** 0.5,
        distance_after=max(0.0, after) ** 0.5,
    )
    notes = [
        "kernel mean matching weights the rows that it has seen, and no others: it "
        "holds no row out, and has no ratio at new rows or target rows by which "
        "its support and an AUC could be judged."
    ]
    if found.gap > 0.5 * _TOLERANCE * n * n:
        notes.append(
            f"the steps ended {2.0 * found.gap / n**2:.1g} above the smallest squared "
            "distance at most, where the weights need not be near the best ones: a "
            "larger ridge makes them unique and quick to find."
        )
    return RatioEstimate(model, b, np.full(m, np.nan), tuple(notes))


def _median_distance(source: FloatMatrix, target: FloatMatrix) -> float:
    """Return the median distance of source to target rows, or 1 if it is zero."""
    distances = squared_distances(
        source[:: 1 + len(source) // _MOST_FOR_MEDIAN],
        target[:: 1 + len(target) // _MOST_FOR_MEDIAN],
    )
    apart = distances[distances > 0.0]
    return float(np.sqrt(np.median(apart))) if apart.size else 1.0


def _mean_kernel(
    rows: FloatMatrix, others: FloatMatrix, bandwidth: float
) -> FloatArray:
    """Return each row's mean kernel with the others, shape (n,)."""
    total = np.zeros(len(rows))
    for start in range(0, len(others), _BLOCK_ROWS):
        block = others[start : start + _BLOCK_ROWS]
        total += gaussian(squared_distances(rows, block), bandwidth).sum(axis=1)
    return total / len(others)
