"""KLIEP: density ratios by maximum likelihood of the target rows.

The sum of kernels w = alpha' phi maximises mean_target log w subject to alpha >= 0 and
mean_source w = 1. With b_l the mean of kernel l over the source rows and beta_l =
alpha_l b_l, that is the likelihood of a mixture of the densities phi_l / b_l with
proportions beta, whose maximum the same Newton steps find as in label shift.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._typing import FloatArray, FloatMatrix
from distfreeuq.covariate_shift.estimate import RatioEstimate
from distfreeuq.covariate_shift.folds import Folds
from distfreeuq.covariate_shift.kernels import KernelRows, gaussian
from distfreeuq.label_shift.likelihood import maximise_likelihood


def fit_kliep(
    rows: KernelRows, folds: Folds, *, bandwidths: FloatArray | None
) -> RatioEstimate:
    """Return the ratio with the bandwidth of best cross-validated score.

    Rows' own ratios are by fits without their fold, with the bandwidth that all rows
    chose and kernels at other folds' target rows.
    """
    bandwidths = rows.bandwidths() if bandwidths is None else bandwidths
    fits = [_cross_fit(rows, folds, float(width)) for width in bandwidths]
    scores = [score for _, score in fits]
    best = int(np.argmax(scores))
    notes: tuple[str, ...] = ()
    if np.isneginf(scores[best]):
        best = int(np.argmax(bandwidths))
        notes = (
            "under every bandwidth some held-out target row is out of reach of all "
            "kernels; the largest was taken.",
        )
    width = float(bandwidths[best])
    theta = coefficients(gaussian(rows.source, width), gaussian(rows.target, width))
    ratio, n = fits[best][0], len(rows.source)
    return RatioEstimate(rows.model(theta, width, None), ratio[:n], ratio[n:], notes)


def coefficients(source: FloatMatrix, target: FloatMatrix) -> FloatArray:
    """Return alpha (b,) from the kernels' values at source (n, b) and target rows."""
    # a kernel that no source row feels would have an infinite ratio
    means = np.maximum(source.mean(axis=0), len(source) ** -2.0)
    fit = maximise_likelihood(np.ascontiguousarray(target), means)
    return np.asarray(fit.prior / means)


def _cross_fit(
    rows: KernelRows, folds: Folds, bandwidth: float
) -> tuple[FloatArray, float]:
    """Return every row's ratio without its fold, and how well they do.

    The score is mean_target log w - log mean_source w, of which the true ratio's is the
    Kullback-Leibler divergence and the largest. The published one lacks the second
    term, which is zero for the source rows of the fit but not for others: without it,
    kernels that few source rows feel make narrow bandwidths look good.
    """
    source = gaussian(rows.source, bandwidth)
    target = gaussian(rows.target, bandwidth)
    n = len(source)
    ratio = np.empty(n + len(target))
    for fold in folds.rounds(calibrate=False):
        of_source, of_target = fold.fit[:n], fold.fit[n:]
        kept = rows.kernels_without(fold.held_out[n:])
        alpha = np.zeros(kept.size)
        alpha[kept] = coefficients(
            source[np.ix_(of_source, kept)], target[np.ix_(of_target, kept)]
        )
        ratio[:n][~of_source] = source[~of_source] @ alpha
        ratio[n:][~of_target] = target[~of_target] @ alpha
    with np.errstate(divide="ignore"):
        score = np.log(ratio[n:]).mean() - np.log(ratio[:n].mean())
    return ratio, -np.inf if np.isnan(score) else float(score)
