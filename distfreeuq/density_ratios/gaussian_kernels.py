"""Density ratios that are sums of Gaussian kernels at target rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._base.arrays import read_only
from distfreeuq._base.persistence import register
from distfreeuq._base.stored_state import State, floats, maybe, real
from distfreeuq._numerics.standardization import center_and_scale
from distfreeuq.density_ratios.cross_fitting import Folds

Fit = Callable[[FloatMatrix, FloatMatrix], FloatArray]
"""From the kernels' values at source and target rows to their coefficients."""

_GRID = np.geomspace(0.1, 3.0, 9)
_MOST_FOR_MEDIAN = 1000


@register("kernel-ratio")
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelRatio:
    """The ratio sum_l theta_l exp(-|x - c_l|^2 / (2 bandwidth^2)).

    Attributes
    ----------
    center, scale : ndarray (d,)
        Means and standard deviations by which features are standardised.
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

    _state: ClassVar[State] = {
        "center": floats("d", finite=True),
        "scale": floats("d", low=1e-170, nan=False),
        "kernels": floats("b", "d", finite=True),
        "theta": floats("b", low=0.0, finite=True),
        "bandwidth": real(above=0.0),
        "ridge": maybe(real(0.0)),
    }

    @property
    def n_features(self) -> int:
        """Number of columns d of x."""
        return self.center.size

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

    def held_out_ratios(
        self, folds: Folds, bandwidth: float, fit: Fit
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ratios of source (n,) and target rows (m,) by fits without them.

        A fit has kernels at target rows that it may see, and at no others.
        """
        source = gaussian(self.source, bandwidth)
        target = gaussian(self.target, bandwidth)
        n = len(source)
        of_source, of_target = np.empty(n), np.empty(len(target))
        for fold in folds.rounds(calibrate=False):
            s, t = fold.held_out[:n], fold.held_out[n:]
            seen = ~t[self.chosen]
            if not seen.any():  # all kernels in one fold
                seen[:] = True
            theta = fit(source[np.ix_(~s, seen)], target[np.ix_(~t, seen)])
            of_source[s] = source[np.ix_(s, seen)] @ theta
            of_target[t] = target[np.ix_(t, seen)] @ theta
        return of_source, of_target


def kernel_rows(
    source: FloatMatrix,
    target: FloatMatrix,
    n_kernels: int,
    rng: np.random.Generator,
) -> KernelRows:
    """Standardise both samples and draw the kernels' centres from the target."""
    center, scale = center_and_scale(np.concatenate([source, target]))
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
