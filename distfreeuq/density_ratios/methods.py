"""The methods of `density_ratio`: one function that calls the one chosen."""

from __future__ import annotations

import numpy as np

from distfreeuq.density_ratios.cross_fitting import RatioEstimate, deal
from distfreeuq.density_ratios.data import RatioOptions, Samples
from distfreeuq.density_ratios.discriminators import Learner, UserLearner, cross_fit
from distfreeuq.density_ratios.gaussian_kernels import kernel_rows
from distfreeuq.density_ratios.kernel_mean_matching import (
    RIDGE,
    WEIGHT_BOUND,
    fit_matched_means,
)
from distfreeuq.density_ratios.kliep import fit_kliep
from distfreeuq.density_ratios.logistic_discriminator import LogisticLearner
from distfreeuq.density_ratios.nearest_neighbors import fit_neighbors
from distfreeuq.density_ratios.network_discriminator import NetworkLearner
from distfreeuq.density_ratios.rows.samples_in_blocks import SamplesInBlocks
from distfreeuq.density_ratios.ulsif import fit_least_squares

_DEFAULT_RIDGE = 1.0
_DEFAULT_HIDDEN = (32,)
_DEFAULT_KERNELS = 100
_DEFAULT_RELATIVE = 0.1


def estimate(
    samples: Samples | SamplesInBlocks,
    options: RatioOptions,
    deal_rng: np.random.Generator,
    fit_rng: np.random.Generator,
) -> RatioEstimate:
    """Estimate the ratio by the method chosen."""
    learner: Learner
    if isinstance(samples, SamplesInBlocks):
        folds = deal(samples.n_source, samples.n_target, options.n_folds, deal_rng)
        learner = LogisticLearner(samples.parts, samples.is_target, _ridge(options))
        return cross_fit(learner, samples.is_target, folds, options.calibrate)
    source, target = samples.source, samples.target
    if options.name == "knn":
        return fit_neighbors(source, target, options.n_neighbors)
    if options.name == "kmm":
        penalty, width = options.ridge, options.bandwidth
        bound = options.weight_bound
        return fit_matched_means(
            source,
            target,
            bandwidth=None if width is None else float(width[0]),
            ridge=RIDGE if penalty is None else float(penalty[0]),
            weight_bound=WEIGHT_BOUND if bound is None else bound,
            slack=options.slack,
        )
    folds = deal(source.shape[0], target.shape[0], options.n_folds, deal_rng)
    if options.name in ("ulsif", "rulsif", "kliep"):
        n_kernels = options.n_kernels or _DEFAULT_KERNELS
        rows = kernel_rows(source, target, n_kernels, fit_rng)
        if options.name == "kliep":
            return fit_kliep(rows, folds, bandwidths=options.bandwidth)
        relative = _DEFAULT_RELATIVE if options.relative is None else options.relative
        return fit_least_squares(
            rows,
            folds,
            bandwidths=options.bandwidth,
            ridges=options.ridge,
            relative=relative if options.name == "rulsif" else 0.0,
            rng=fit_rng,
        )
    pooled = np.concatenate([source, target])
    is_target = np.arange(pooled.shape[0]) >= source.shape[0]
    if options.estimator is not None:
        learner = UserLearner(pooled, is_target, options.estimator, options.progress)
    elif options.name == "mlp":
        learner = NetworkLearner(
            pooled,
            is_target,
            options.n_hidden or _DEFAULT_HIDDEN,
            options.loss or "nll",
            fit_rng,
            options.progress,
        )
    else:
        learner = LogisticLearner(pooled, is_target, _ridge(options))
    loss = options.loss or "nll"
    return cross_fit(learner, is_target, folds, options.calibrate, loss)


def _ridge(options: RatioOptions) -> float:
    """Return the ridge of a logistic regression."""
    return _DEFAULT_RIDGE if options.ridge is None else float(options.ridge[0])
