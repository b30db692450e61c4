"""KLIEP: density ratios by maximum likelihood of the target rows.

The sum of kernels w = alpha' phi maximises mean_target log w subject to alpha >= 0 and
mean_source w = 1. With b_l the mean of kernel l over the source rows and beta_l =
alpha_l b_l, that is the likelihood of a mixture of the densities phi_l / b_l with
proportions beta, whose maximum the same Newton steps find as in label shift.
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq._numerics.mixture_likelihood import maximize_likelihood
from distfreeuq.density_ratios.cross_fitting import Folds, RatioEstimate
from distfreeuq.density_ratios.gaussian_kernels import KernelRows, gaussian


@on_one_blas_thread
def fit_kliep(
    rows: KernelRows, folds: Folds, *, bandwidths: FloatArray | None
) -> RatioEstimate:
    """Return the ratio with the bandwidth of best cross-validated score.

    Rows' own ratios are by fits without their fold, with the bandwidth that all rows
    chose and kernels at other folds' target rows.
    """
    bandwidths = rows.bandwidths() if bandwidths is None else bandwidths
    ratios = [rows.held_out_ratios(folds, float(w), coefficients) for w in bandwidths]
    scores = [held_out_score(*pair) for pair in ratios]
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
    return RatioEstimate(rows.model(theta, width, None), *ratios[best], notes)


def coefficients(source: FloatMatrix, target: FloatMatrix) -> FloatArray:
    """Return alpha (b,) from the kernels' values at source (n, b) and target rows."""
    # a kernel that no source row feels would have an infinite ratio
    means = np.maximum(source.mean(axis=0), len(source) ** -2.0)
    fit = maximize_likelihood(np.ascontiguousarray(target), means)
    return np.asarray(fit.prior / means)


def held_out_score(of_source: FloatArray, of_target: FloatArray) -> float:
    """Return how well held-out ratios do: mean_target log w - log mean_source w.

    Of all ratios the true one has the largest expected score, the Kullback-Leibler
    divergence. The published score lacks the second term, which is zero for the source
    rows of the fit but not for others: without it, kernels that few source rows feel
    make narrow bandwidths look good.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.log(of_target).mean() - np.log(of_source.mean())
    return -np.inf if np.isnan(score) else float(score)
