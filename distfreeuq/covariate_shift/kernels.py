"""Density ratios that are sums of Gaussian kernels at target rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._persistence import register
from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix, IntArray
from distfreeuq.covariate_shift.networks import standardisation
from distfreeuq.results import read_only

_GRID = np.geomspace(0.1, 3.0, 9)
_MOST_FOR_MEDIAN = 1000


@register
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelRatio:
    """The ratio sum_l theta_l exp(-|x - c_l|^2 / (2 bandwidth^2)).

    Attributes
    ----------
    center, scale : ndarray (d,)
        Of the standardisation.
    kernels : ndarray (b, d)
        The standardised c_l.
    theta : ndarray (b,)
        Non-negative.
    bandwidth : float
    ridge : float or None
    """

    center: FloatArray
    scale: FloatArray
    kernels: FloatMatrix
    theta: FloatArray
    bandwidth: float
    ridge: float | None

    def ratio(self, x: FloatMatrix) -> FloatArray:
        """Return q(x)/p(x) as estimated, shape (n,)."""
        rows = (x - self.center) / self.scale
        distances = squared_distances(rows, self.kernels)
        return np.asarray(gaussian(distances, self.bandwidth) @ self.theta)

    def facts(self) -> list[tuple[str, str]]:
        """Return what the summary's header says of this method."""
        facts = [
            ("Kernels", str(self.theta.size)),
            ("Bandwidth", f"{self.bandwidth:.4g}"),
        ]
        return facts if self.ridge is None else [*facts, ("Ridge", f"{self.ridge:.4g}")]


@dataclass(frozen=True, slots=True)
class KernelRows:
    """Both samples as distances to the kernels' centres.

    Attributes
    ----------
    center, scale : ndarray (d,)
    kernels : ndarray (b, d)
        Standardised target rows.
    chosen : ndarray (b,)
        Their row numbers.
    source, target : ndarray (n, b), (m, b)
        Squared distances.
    """

    center: FloatArray
    scale: FloatArray
    kernels: FloatMatrix
    chosen: IntArray
    source: FloatMatrix
    target: FloatMatrix

    def bandwidths(self) -> FloatArray:
        """Return those to choose from: around the median distance."""
        some = np.concatenate(
            [d[:: 1 + len(d) // _MOST_FOR_MEDIAN] for d in (self.source, self.target)]
        )
        apart = some[some > 0.0]
        return np.asarray(_GRID * np.sqrt(np.median(apart) if apart.size else 1.0))

    def model(
        self, theta: FloatArray, bandwidth: float, ridge: float | None
    ) -> KernelRatio:
        """Return the ratio with these coefficients."""
        return KernelRatio(
            center=read_only(self.center),
            scale=read_only(self.scale),
            kernels=read_only(self.kernels),
            theta=read_only(theta),
            bandwidth=bandwidth,
            ridge=ridge,
        )

    def kernels_without(self, held_out: BoolArray) -> BoolArray:
        """Return which kernels (b,) are not at held-out target rows (m,)."""
        kept = ~held_out[self.chosen]
        return kept if kept.any() else ~kept


def kernel_rows(
    source: FloatMatrix,
    target: FloatMatrix,
    n_kernels: int,
    rng: np.random.Generator,
) -> KernelRows:
    """Standardise both samples and draw the kernels' centres from the target."""
    center, scale = standardisation(np.concatenate([source, target]))
    source, target = (source - center) / scale, (target - center) / scale
    size = min(n_kernels, len(target))
    chosen = np.sort(rng.choice(len(target), size=size, replace=False))
    kernels = np.ascontiguousarray(target[chosen])
    return KernelRows(
        center,
        scale,
        kernels,
        chosen,
        squared_distances(source, kernels),
        squared_distances(target, kernels),
    )


def squared_distances(rows: FloatMatrix, centers: FloatMatrix) -> FloatMatrix:
    """Return |x_i - c_l|^2, shape (n, b)."""
    distances = rows @ centers.T
    distances *= -2.0
    distances += np.einsum("ij,ij->i", rows, rows)[:, None]
    distances += np.einsum("ij,ij->i", centers, centers)
    return np.maximum(distances, 0.0, out=distances)


def gaussian(distances: FloatMatrix, bandwidth: float) -> FloatMatrix:
    """Return exp(-distance / (2 bandwidth^2)), shape (n, b)."""
    values = distances * (-0.5 / bandwidth**2)
    return np.asarray(np.exp(values, out=values))
