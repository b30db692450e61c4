"""Means of losses over the target, and the normal law of their errors.

A loss is known where labels are, in the source. What carries its mean to the target is
one of three designs: class proportions that are estimated from both samples, class
proportions that are given, or a weight per source row that is given. Each turns losses
(n, T) into T means and their covariance (T, T).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq.monitoring.performance.indicator_functions import (
    ClassIndicators,
    class_means,
)

# The spread of each class is mixed with that of all classes, as if that were so many
# rows more: twenty rows often show no error at all.
PSEUDO_ROWS = 10.0


@dataclass(frozen=True, slots=True)
class TargetMeans:
    """Estimated means and the covariance of their errors.

    Attributes
    ----------
    values : ndarray (T,)
        NaN where a class has a share of the target and no source rows.
    covariance : ndarray (T, T)
    """

    values: FloatArray
    covariance: FloatMatrix


@dataclass(frozen=True, slots=True)
class EstimatedPriors:
    """Label shift with proportions estimated from the same rows (theory page, 10.2).

    The estimate is the mean of h = sum_k L_k phi_k over the target. To first order its
    error is that of two independent means: of l - h over the source, class j with the
    weight q_j, and of h over the target. The product of the errors of q and of h's
    class means is of second order; its size is added, which matters where classes are
    hardly told apart.
    """

    labels: IntArray
    indicators: ClassIndicators

    @on_one_blas_thread
    def estimate(self, losses: FloatMatrix, known: FloatMatrix) -> TargetMeans:
        """Return the means of `losses` plus those of `known`, a function of the row.

        Parameters
        ----------
        losses : ndarray (n, T)
            In the source rows.
        known : ndarray (m, T)
            In the target rows.
        """
        phi = self.indicators
        k = phi.prior.size
        _, means = class_means(losses, self.labels, k)
        q, m = phi.prior, known.shape[0]
        h, h_target = phi.source @ means, phi.target @ means + known
        of_source = _stratified(losses - h, self.labels, q)
        of_target = np.atleast_2d(np.cov(h_target.T)) / m if m > 1 else np.inf
        noise = self._prior_noise()
        second = _stratified(h, self.labels, np.sqrt(noise), pooled=False)
        return TargetMeans(h_target.mean(axis=0), of_source + of_target + second)

    def of_half_a_row(self) -> float:
        """Return the variance that half a row in each class has, if no row differs."""
        prior = np.maximum(self.indicators.prior, 0.0)
        return _of_half_a_row(self.labels, prior)

    def carried(self, losses: FloatArray) -> FloatArray:
        """Return h in the target rows (m,), for losses (n,)."""
        phi = self.indicators
        _, means = class_means(losses[:, None], self.labels, phi.prior.size)
        return np.asarray(phi.target @ means[:, 0])

    def _prior_noise(self) -> FloatArray:
        """Return the variances of the estimated proportions (K,)."""
        phi = self.indicators
        k, m = phi.prior.size, phi.target.shape[0]
        counts = np.maximum(np.bincount(self.labels, minlength=k), 1)
        weight = (phi.prior / counts)[self.labels]
        residual = phi.source.copy()
        residual[np.arange(self.labels.size), self.labels] -= 1.0
        of_source = weight**2 @ residual**2
        of_target = phi.target.var(axis=0) / m
        return np.asarray(of_source + of_target)


@dataclass(frozen=True, slots=True)
class GivenPriors:
    """Label shift with known proportions q: sum_k q_k L_k."""

    labels: IntArray
    prior: FloatArray

    @on_one_blas_thread
    def estimate(self, losses: FloatMatrix, known: FloatMatrix) -> TargetMeans:
        """Return the means, as `EstimatedPriors` does."""
        q = self.prior
        here, means = class_means(losses, self.labels, q.size)
        values = q @ means + known.mean(axis=0)
        covariance = _stratified(losses, self.labels, q) + _spread(known)
        if (q[~here] > 0.0).any():
            values = np.full_like(values, np.nan)
        return TargetMeans(values, covariance)

    def of_half_a_row(self) -> float:
        """Return the same as for `EstimatedPriors`."""
        return _of_half_a_row(self.labels, self.prior)


@dataclass(frozen=True, slots=True)
class RowWeights:
    """Weights of source rows that are known up to scale: a ratio of two means."""

    weight: FloatArray

    @on_one_blas_thread
    def estimate(self, losses: FloatMatrix, known: FloatMatrix) -> TargetMeans:
        """Return the means, as `EstimatedPriors` does."""
        total = float(self.weight.sum())
        if total == 0.0:  # no source row is like any in the target
            unknown = np.full(losses.shape[1], np.nan)
            return TargetMeans(unknown, np.diag(unknown))
        share = self.weight / total
        values = share @ losses
        error = share[:, None] * (losses - values)
        n = losses.shape[0]
        # one more row, of the mean weight, that is as wrong as all others together
        floor = np.diag(np.square(losses - values).mean(axis=0)) / n**2
        covariance = error.T @ error * (n / max(n - 1, 1)) + floor
        return TargetMeans(values + known.mean(axis=0), covariance + _spread(known))

    def of_half_a_row(self) -> float:
        """Return the same as for `EstimatedPriors`, of a row that counts for many.

        One drawn by its part in the noise, so by the square of its weight.
        """
        total = float(self.weight.sum())
        share = self.weight / total if total > 0.0 else np.ones(1)
        squares = share**2
        return 0.5 * float(squares @ share / squares.sum()) ** 2


Design = EstimatedPriors | GivenPriors | RowWeights


def _of_half_a_row(labels: IntArray, prior: FloatArray) -> float:
    counts = np.bincount(labels, minlength=prior.size)
    here = counts > 0
    return 0.5 * float(np.square(prior[here] / counts[here]).sum())


def _spread(known: FloatMatrix) -> FloatMatrix:
    """Return the covariance (T, T) of the means over the target rows."""
    m = known.shape[0]
    if m < 2:
        # of one row no spread is known, but that of zeros
        return np.diag(np.where(known.any(axis=0), np.inf, 0.0))
    return np.asarray(np.atleast_2d(np.cov(known.T)) / m)


def _stratified(
    values: FloatMatrix, labels: IntArray, weight: FloatArray, *, pooled: bool = True
) -> FloatMatrix:
    """Return sum_j weight_j^2 Cov_j / n_j, each class's covariance mixed with all's."""
    k, t = weight.size, values.shape[1]
    here, means = class_means(values, labels, k)
    counts = np.bincount(labels, minlength=k).astype(np.float64)
    inner = values - means[labels]
    extra = PSEUDO_ROWS if pooled else 0.0
    free = np.maximum(counts - 1.0 + extra, 1.0)
    scale = np.where(here, weight**2 / (np.maximum(counts, 1.0) * free), 0.0)
    out = inner.T @ (inner * scale[labels][:, None])
    if pooled:
        # one more row is taken to be as far off as a row can be
        total = inner.T @ inner + np.diag(np.square(np.ptp(values, axis=0))) / 4.0
        pool = total / max(values.shape[0] - int(here.sum()), 1.0)
        out += extra * scale.sum() * pool
    return np.asarray(out).reshape(t, t)
