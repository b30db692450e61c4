"""The delta method for MLLS: from the noise of both samples to that of the weights.

The likelihood equations are mean_j s(X_j) = p with s = f / (w . f). Linearised, with
H = E_Q s s',

    H (w_hat - w) = (mean s - p) + D (phi_hat - phi) - (p_hat - p),

phi the parameters of the calibration and D the derivative of E_Q s by them. The first
term is the target's noise, (H - pp') / m; the others are means over source rows, of

    u(X, Y) = D I^-1 psi(X, Y) - (e_Y - p),  or  -(f(X) - p)  without a calibration,

psi the score of the calibration and I its information (theory page, 4.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq._numerics.matrices.spd import factor_if_regular
from distfreeuq._numerics.mixture_likelihood import MixtureSums, PosteriorProducts
from distfreeuq._numerics.passes.class_rows import AnyRows, ClassRows
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.data import SampleRows
from distfreeuq.label_shift.scalings.bcts import (
    BiasCorrectedTemperature,
    SlopeScores,
    information,
    loss_sums,
    solve_gauged,
)

# The likelihood is flat along eigenvectors of H, scaled to unit diagonal, whose
# eigenvalues are below this.
_FLAT = 1e-10

# The target shows no trace of class k if s_k / p_k has a root mean square below this.
_UNSEEN = 1e-9


@dataclass(frozen=True, slots=True)
class LikelihoodCurvature:
    """The likelihood around its maximum.

    Attributes
    ----------
    matrix : ndarray (K, K)
        H = mean s s'.
    mean : ndarray (K,)
        Mean of s; equal to p where the weight is positive.
    rows : float
        Target rows with mass on some class of the source.
    flat : ndarray (K,) of bool
        Classes whose weights the likelihood does not identify.
    unseen : ndarray (K,) of bool
        Classes of which the target shows no trace: the likelihood falls in a straight
        line from zero, without curvature.
    inverse : ndarray (K, K)
        H^-1, zero along the flat directions.
    """

    matrix: FloatMatrix
    mean: FloatArray
    rows: float
    flat: BoolArray
    unseen: BoolArray
    inverse: FloatMatrix


def curvature_at(
    target: AnyRows, weight: FloatArray, source_prior: FloatArray
) -> LikelihoodCurvature:
    """Return the likelihood's curvature at the weights, in two passes."""
    m, n_classes = target.n, target.n_classes
    sums = target.parts.total(MixtureSums(weight))
    rows = m - float(sums[-1])
    if rows == 0.0:
        zeros = np.zeros((n_classes, n_classes))
        all_flat = np.ones(n_classes, dtype=bool)
        return LikelihoodCurvature(zeros, zeros[0], 0.0, all_flat, ~all_flat, zeros)
    matrix = target.parts.total(PosteriorProducts(weight)) / rows
    mean = sums[:n_classes] / rows
    absent = source_prior == 0
    matrix[absent] = 0.0
    matrix[:, absent] = 0.0
    mean[absent] = 0.0
    root = np.sqrt(np.diag(matrix))
    unseen = ~absent & (root <= _UNSEEN * source_prior)
    seen = ~(absent | unseen)
    unscale = np.divide(1.0, root, out=np.zeros(n_classes), where=seen)
    scaled = unscale[:, None] * matrix * unscale
    # a correlation matrix: its largest eigenvalue is at most the number of classes
    regular = factor_if_regular(scaled, _FLAT * n_classes) if seen.all() else None
    if regular is not None:
        flat, inverse = absent, regular.solve(np.diag(unscale)) * unscale[:, None]
        return LikelihoodCurvature(matrix, mean, rows, flat, unseen, inverse)
    values, vectors = np.linalg.eigh(scaled)
    identified = values > _FLAT * values[-1]
    flat = absent | (seen & (np.abs(vectors[:, ~identified]) > 1e-6).any(axis=1))
    half = unscale[:, None] * vectors[:, identified]
    inverse = (half / values[identified]) @ half.T
    return LikelihoodCurvature(matrix, mean, rows, flat, unseen, inverse)


def covariance_of_weights(
    curvature: LikelihoodCurvature, source_noise: FloatMatrix, n: int
) -> FloatMatrix:
    """Return the covariance of MLLS's weights; variances may be infinite."""
    n_classes = curvature.mean.size
    out = np.zeros((n_classes, n_classes))
    if curvature.rows > 0:
        target = curvature.matrix - np.outer(curvature.mean, curvature.mean)
        middle = target / curvature.rows + source_noise / n
        out = curvature.inverse @ middle @ curvature.inverse
    unknown = curvature.flat | curvature.unseen
    out[unknown] = 0.0
    out[:, unknown] = 0.0
    out[unknown, unknown] = np.inf
    return out


def prior_noise(
    confusion: Confusion, source_gram: FloatMatrix, prior_from: str
) -> FloatMatrix:
    """Return the covariance of what a source row adds to p: its label or prediction."""
    if prior_from == "labels":
        frequencies = confusion.joint.sum(axis=0) / confusion.n
        return np.diag(frequencies) - np.outer(frequencies, frequencies)
    mean = confusion.joint.sum(axis=1) / confusion.n
    return source_gram / confusion.n - np.outer(mean, mean)


def calibrated_noise(
    samples: SampleRows,
    calibrated: SampleRows,
    confusion: Confusion,
    source_gram: FloatMatrix,
    calibration: BiasCorrectedTemperature,
    weight: FloatArray,
    curvature: LikelihoodCurvature,
) -> FloatMatrix:
    """Return the covariance of u(X, Y), the fit of the calibration included.

    Parameters
    ----------
    samples, calibrated : SampleRows
        Before and after the calibration, without target rows that have labels: of these
        the calibration moves nothing.
    confusion : Confusion
        Soft, of the calibrated samples with all target rows.
    source_gram : ndarray (K, K)
        Sum over the source rows of f f', f calibrated.
    calibration : BiasCorrectedTemperature
    weight : ndarray (K,)
    curvature : LikelihoodCurvature
    """
    n, n_classes = samples.source.n, samples.source.n_classes
    present = np.isfinite(calibration.bias)
    at_fit = loss_sums(samples.source, calibration.slope, calibration.bias)
    mean = confusion.matrix.sum(axis=1)
    hessian = information(at_fit, mean, source_gram / n)
    share = samples.target.n / confusion.m
    derivative = _by_calibration(samples.target, calibration, weight, curvature, share)
    influence = solve_gauged(hessian, derivative.T, present).T

    # u is linear in z = (e_Y, f, psi_slope): one covariance matrix has all of it
    frequencies = confusion.matrix.sum(axis=0)
    second = np.zeros((2 * n_classes + 1, 2 * n_classes + 1))
    label, prob, slope = (
        slice(0, n_classes),
        slice(n_classes, 2 * n_classes),
        2 * n_classes,
    )
    second[label, label] = np.diag(frequencies)
    second[prob, label] = confusion.matrix
    second[prob, prob] = source_gram / n
    scores = calibrated.source.parts.total(SlopeScores(calibration))
    second[slope, label] = scores.by_label / n
    second[slope, prob] = scores.by_probs / n
    second[slope, slope] = scores.squares / n
    second = np.tril(second) + np.tril(second, -1).T
    first = np.concatenate([frequencies, mean, [scores.total / n]])
    of_bias, of_slope = influence[:, :-1], influence[:, -1:]
    u = np.hstack([of_bias - np.eye(n_classes), -of_bias, of_slope])
    return np.asarray(u @ (second - np.outer(first, first)) @ u.T)


def _by_calibration(
    target: AnyRows,
    calibration: BiasCorrectedTemperature,
    weight: FloatArray,
    curvature: LikelihoodCurvature,
    share: float,
) -> FloatMatrix:
    """Return D, the derivative of E_Q s by (bias, slope), shape (K, K + 1).

    `share` is that of the target rows without labels.
    """
    by_bias = np.diag(curvature.mean) - curvature.matrix * weight
    # s_k (L_k - sum_j w_j s_j L_j) = r_k (L_k - sum_j r_j L_j) / w_k with r the target
    # posterior, which is the calibration with log w added to its bias; a weight of zero
    # is replaced by one too small to matter
    positive = np.maximum(weight, 1e-12 * float(weight.max()))
    some_label = int(np.flatnonzero(np.isfinite(calibration.bias))[0])
    shifted = loss_sums(
        target.mapped(_AllLabelled(some_label)),
        calibration.slope,
        calibration.bias + np.log(positive),
    )
    return np.column_stack([by_bias, share * shifted.cross / positive])


@dataclass(frozen=True, slots=True)
class _AllLabelled:
    """Gives all rows one label, on which second derivatives do not depend."""

    label: int

    def __call__(self, rows: ClassRows) -> ClassRows:
        return rows._replace(labels=np.full(len(rows.probs), self.label))
