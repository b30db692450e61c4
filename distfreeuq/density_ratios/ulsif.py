"""uLSIF and RuLSIF: density ratios by least squares, chosen by leave-one-out.

The sum of kernels r = theta' phi minimises the squared distance to the ratio of the
target to the mixture alpha * target + (1 - alpha) * source,

    J(theta) = theta' H theta / 2 - h' theta + ridge |theta|^2 / 2,
    H = alpha E_target[phi phi'] + (1 - alpha) E_source[phi phi'],  h = E_target[phi],

then negative coefficients are set to zero; alpha = 0 is uLSIF. Leaving out one source
and one target row changes H by two outer products, so that all leave-one-out fits come
from one eigendecomposition for each bandwidth.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq.density_ratios.cross_fitting import Folds, RatioEstimate
from distfreeuq.density_ratios.gaussian_kernels import KernelRows, gaussian

RIDGES = np.geomspace(1e-3, 10.0, 9)
_BLOCK_ENTRIES = 1 << 15


@on_one_blas_thread
def fit_least_squares(
    rows: KernelRows,
    folds: Folds,
    *,
    bandwidths: FloatArray | None,
    ridges: FloatArray | None,
    relative: float,
    rng: np.random.Generator,
) -> RatioEstimate:
    """Return the ratio with the bandwidth and ridge of smallest leave-one-out loss.

    Rows' own ratios are by fits without their fold, with the bandwidth and ridge that
    all rows chose and kernels at other folds' target rows.
    """
    bandwidths = rows.bandwidths() if bandwidths is None else bandwidths
    ridges = RIDGES if ridges is None else ridges
    bandwidth, ridge = float(bandwidths[0]), float(ridges[0])
    if bandwidths.size * ridges.size > 1:
        bandwidth, ridge = _choose(rows, bandwidths, ridges, relative, rng)

    def fit(source: FloatMatrix, target: FloatMatrix) -> FloatArray:
        return coefficients(source, target, ridge, relative)

    of_source, of_target = rows.held_out_ratios(folds, bandwidth, fit)
    theta = fit(gaussian(rows.source, bandwidth), gaussian(rows.target, bandwidth))
    return RatioEstimate(rows.model(theta, bandwidth, ridge), of_source, of_target)


def coefficients(
    source: FloatMatrix, target: FloatMatrix, ridge: float, relative: float
) -> FloatArray:
    """Return theta (b,) from the kernels' values at source (n, b) and target rows."""
    moment, mean = _moments(source, target, relative)
    theta = np.linalg.solve(moment + ridge * np.eye(mean.size), mean)
    return np.asarray(np.maximum(theta, 0.0))


def leave_one_out_losses(
    source: FloatMatrix, target: FloatMatrix, ridges: FloatArray, relative: float
) -> FloatArray:
    """Return the loss of each ridge, shape (r,), on pairs of rows left out.

    Pair i is the i-th source and the i-th target row, up to the end of the smaller
    sample: both are left out, theta is fitted, its negative entries are set to zero,
    and the pair's loss is alpha r(target)^2 / 2 + (1 - alpha) r(source)^2 / 2 -
    r(target).
    """
    n, m = len(source), len(target)
    pairs = min(n, m)
    # without pair (u, v): H + ridge = A - drop_u u u' - drop_v v v'
    grown, mean = _moments(source, target, relative, n / (n - 1), m / (m - 1))
    drop_u, drop_v = (1.0 - relative) / (n - 1), relative / (m - 1)
    values, vectors = np.linalg.eigh(grown)
    inverse = 1.0 / (np.maximum(values, 0.0)[:, None] + ridges)  # (b, r)
    mean_e = vectors.T @ mean
    fixed = mean_e * (m / (m - 1))
    losses = np.zeros(ridges.size)
    step = max(64, _BLOCK_ENTRIES // mean.size)
    for start in range(0, pairs, step):
        block = slice(start, min(start + step, pairs))
        u, v = source[block], target[block]
        felt = u.any(axis=1) | v.any(axis=1)  # else both ratios are zero
        if not felt.any():
            continue
        if not felt.all():
            u, v = u[felt], v[felt]
        u_e, v_e = u @ vectors, v @ vectors
        add_u, add_v = _woodbury(u_e, v_e, mean_e, inverse, drop_u, drop_v, m)
        for r in range(ridges.size):
            # theta = A^-1 (h + add_u u + add_v v), h without the pair's own v
            right = add_u[:, r, None] * u_e
            right += (add_v[:, r, None] - 1.0 / (m - 1)) * v_e
            right += fixed
            right *= inverse[:, r]
            theta = right @ vectors.T
            np.maximum(theta, 0.0, out=theta)
            at_u = np.einsum("ij,ij->i", u, theta)
            at_v = np.einsum("ij,ij->i", v, theta)
            losses[r] += 0.5 * (1.0 - relative) * float(at_u @ at_u)
            losses[r] += 0.5 * relative * float(at_v @ at_v) - float(at_v.sum())
    return losses / pairs


def _woodbury(
    u: FloatMatrix,
    v: FloatMatrix,
    mean: FloatArray,
    inverse: FloatMatrix,
    drop_u: float,
    drop_v: float,
    m: int,
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return what to add to h for the outer products of each pair, shape (pairs, r).

    All in the eigenvectors of A, whose inverse has the diagonals (b, r).
    """
    uu, uv, vv = (u * u) @ inverse, (u * v) @ inverse, (v * v) @ inverse
    # u' A^-1 h and v' A^-1 h with the h of the other target rows
    uh = drop_u * (m * (u @ (mean[:, None] * inverse)) - uv) / (m - 1)
    vh = drop_v * (m * (v @ (mean[:, None] * inverse)) - vv) / (m - 1)
    a, b = 1.0 - drop_u * uu, -drop_u * uv
    c, d = -drop_v * uv, 1.0 - drop_v * vv
    determinant = a * d - b * c
    return (d * uh - b * vh) / determinant, (a * vh - c * uh) / determinant


def _choose(
    rows: KernelRows,
    bandwidths: FloatArray,
    ridges: FloatArray,
    relative: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the bandwidth and ridge of smallest loss, rows paired at random."""
    of_source = rng.permutation(len(rows.source))
    of_target = rng.permutation(len(rows.target))
    source, target = rows.source[of_source], rows.target[of_target]
    losses = np.array(
        [
            leave_one_out_losses(
                gaussian(source, width), gaussian(target, width), ridges, relative
            )
            for width in bandwidths
        ]
    )
    i, j = np.unravel_index(np.argmin(losses), losses.shape)
    return float(bandwidths[i]), float(ridges[j])


def _moments(
    source: FloatMatrix,
    target: FloatMatrix,
    relative: float,
    grow_source: float = 1.0,
    grow_target: float = 1.0,
) -> tuple[FloatMatrix, FloatArray]:
    """Return H (b, b), its parts scaled, and h (b,)."""
    moment = (grow_source * (1.0 - relative) / len(source)) * (source.T @ source)
    if relative > 0.0:
        moment += (grow_target * relative / len(target)) * (target.T @ target)
    return moment, target.mean(axis=0)
