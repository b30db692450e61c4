"""Density ratios by counting neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, count, floats, require
from distfreeuq._numerics.standardization import center_and_scale
from distfreeuq.density_ratios.cross_fitting import RatioEstimate
from distfreeuq.density_ratios.gaussian_kernels import squared_distances

_ROUNDING = 1e-12
"""Relative error up to which two distances count as equal, however computed."""
_MOST_FOR_TREES = 6
"""Features up to which a tree saves distances; beyond, it computes nearly all."""
_BLOCK_ENTRIES = 1 << 21


_FARTHEST = 1e150


@register("neighbor-ratio")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NeighborRatio:
    """Target rows per source row in the ball that reaches the k-th source neighbour.

    Attributes
    ----------
    center, scale : ndarray (d,)
        Means and standard deviations by which features are standardised.
    source, target : ndarray
        Standardised rows.
    n_neighbors : int
        k.
    """

    center: FloatArray
    scale: FloatArray
    source: FloatMatrix
    target: FloatMatrix
    n_neighbors: int

    _state: ClassVar[State] = {
        "center": floats("d", finite=True),
        "scale": floats("d", low=1e-170, nan=False),
        "source": floats("n", "d", low=-_FARTHEST, high=_FARTHEST, nan=False),
        "target": floats("m", "d", low=-_FARTHEST, high=_FARTHEST, nan=False),
        "n_neighbors": count(low=1),
    }

    def _validate_state(self) -> None:
        require(self.n_neighbors <= len(self.source), "no more neighbours than rows")
        require(len(self.target) > 0, "rows of the target")

    @property
    def n_features(self) -> int:
        """Number of columns d of x."""
        return self.center.size

    def ratio(self, x: FloatMatrix) -> FloatArray:
        """Return q(x)/p(x) as estimated, shape (n,)."""
        with np.errstate(over="ignore"):
            rows = (x - self.center) / self.scale
        # so far away that all rows are equally far, and squares are still finite
        rows = np.clip(rows, -_FARTHEST, _FARTHEST)
        counts = _count(self.source, self.target, rows, self.n_neighbors)
        return _ratio(*counts, len(self.source), len(self.target))

    def facts(self) -> list[tuple[str, str]]:
        """Return what the summary's header says of this method."""
        return [("Neighbours", str(self.n_neighbors))]


def fit_neighbors(
    source: FloatMatrix, target: FloatMatrix, n_neighbors: int | None = None
) -> RatioEstimate:
    """Return the ratio, and every row's own without counting the row itself.

    Parameters
    ----------
    source, target : ndarray (n, d), (m, d)
    n_neighbors : int, optional
        k, smaller than n; by default the square root of n.

    Notes
    -----
    w(x) = (n/m) (target rows within r(x)) / (source rows within r(x)), with r(x) the
    distance to the k-th nearest source row, in standardised features. Where distances
    do not tie, there are k of the latter, and without shift the mean of w is n/(n + 1),
    for any density. Leaving out a row needs no second fit: a source row is not its own
    neighbour, and a target row is not counted in its own ball.

    References
    ----------
    Loog (2012), "Nearest neighbor-based importance weighting"; Kremer, Gieseke,
    Pedersen and Igel (2015), "Nearest neighbor density ratio estimation for large-scale
    applications in astronomy".

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.density_ratios.nearest_neighbors import fit_neighbors
    >>> source = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> target = np.array([[1.9], [2.0], [3.5]])
    >>> fit_neighbors(source, target, 1).model.ratio(np.array([[2.2], [0.1]]))
    array([1.33333333, 0.        ])
    """
    n, m = len(source), len(target)
    k = max(1, round(n**0.5)) if n_neighbors is None else n_neighbors
    center, scale = center_and_scale(np.concatenate([source, target]))
    source, target = (source - center) / scale, (target - center) / scale
    model = NeighborRatio(
        center=read_only(center),
        scale=read_only(scale),
        source=read_only(source),
        target=read_only(target),
        n_neighbors=k,
    )
    # the k-th neighbour of a source row other than itself is the (k+1)-th of all
    near_source, near_target = _count(source, target, source, k + 1)
    of_source = _ratio(near_source - 1, near_target, n - 1, m)
    near_source, near_target = _count(source, target, target, k)
    # by the same factor, so that equal counts are equal ratios
    of_target = _ratio(near_source, near_target - 1, n - 1, m)
    return RatioEstimate(model, of_source, of_target)


def _count(
    source: FloatMatrix, target: FloatMatrix, rows: FloatMatrix, k: int
) -> tuple[IntArray, IntArray]:
    """Return how many rows of each sample are as near as the k-th source neighbour.

    For the source that is k, except where rows have the same distance.
    """
    if source.shape[1] > _MOST_FOR_TREES:
        return _count_by_distances(source, target, rows, k)
    from scipy.spatial import cKDTree  # slow to import

    tree = cKDTree(source)
    nearest, next_nearest = tree.query(rows, k=[k, k + 1])[0].T
    radius = nearest * (1.0 + _ROUNDING)
    near_source = np.full(len(rows), k)
    tied = next_nearest <= radius
    near_source[tied] = tree.query_ball_point(
        rows[tied], radius[tied], return_length=True
    )
    near_target = cKDTree(target).query_ball_point(rows, radius, return_length=True)
    return near_source, np.asarray(near_target)


def _count_by_distances(
    source: FloatMatrix, target: FloatMatrix, rows: FloatMatrix, k: int
) -> tuple[IntArray, IntArray]:
    """Return the same from all distances, block by block."""
    counts = np.empty((2, len(rows)), dtype=np.int64)
    step = max(1, _BLOCK_ENTRIES // max(len(source), len(target)))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        some = rows[block]
        distances = squared_distances(some, source)
        radius = np.partition(distances, k - 1, axis=1)[:, k - 1]
        radius += _ROUNDING * (radius + np.einsum("ij,ij->i", some, some))
        counts[0, block] = (distances <= radius[:, None]).sum(axis=1)
        distances = squared_distances(some, target)
        counts[1, block] = (distances <= radius[:, None]).sum(axis=1)
    return counts[0], counts[1]


def _ratio(
    near_source: IntArray, near_target: IntArray, n_source: int, n_target: int
) -> FloatArray:
    return np.asarray((near_target / n_target) / (near_source / n_source))
