"""Estimate how much likelier each x is in the target than in the source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, RandomState, RowsLike
from distfreeuq._base.arrays import read_only
from distfreeuq._base.random_streams import stream
from distfreeuq._base.user_warnings import warn_user
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.density_ratios.data import (
    RatioOptions,
    Samples,
    read_frames,
    read_ratio_options,
)
from distfreeuq.density_ratios.design import Design
from distfreeuq.density_ratios.diagnostics import (
    auc_interval,
    support_text,
    uncovered_share,
)
from distfreeuq.density_ratios.methods import estimate
from distfreeuq.density_ratios.results import DensityRatioResult
from distfreeuq.density_ratios.rows.samples_in_blocks import (
    SamplesInBlocks,
    read_samples_in_blocks,
)
from distfreeuq.density_ratios.weight_pipeline import condition
from distfreeuq.exceptions import SupportWarning
from distfreeuq.guarantees import NoGuarantee

_UNCOVERED = 0.02
"""Share of target rows without support in the source that is worth a warning."""
_FEW_ROWS = 30.0
"""Effective sample size below which there is a warning."""
_FAR_FROM_ONE = 2.0
"""Factor by which the mean of the ratio may miss one without a note."""
_REASON = (
    "the weights are estimates, and no finite sample bounds their error without "
    "assumptions on the densities; what is weighted by them is right only as far as "
    "they are"
)


def density_ratio(
    source: RowsLike,
    target: RowsLike,
    *,
    formula: str | None = None,
    method: Any = "logistic",
    calibrate: bool = True,
    normalize: bool = True,
    flatten: float = 1.0,
    clip: Any = None,
    n_folds: int = 5,
    ridge: ArrayLike | None = None,
    n_hidden: int | Sequence[int] | None = None,
    loss: str | None = None,
    n_neighbors: int | None = None,
    n_kernels: int | None = None,
    bandwidth: ArrayLike | None = None,
    relative: float | None = None,
    weight_bound: float | None = None,
    slack: float | None = None,
    rng: RandomState = None,
    progress: bool = False,
) -> DensityRatioResult:
    """Estimate importance weights w(x) = q(x)/p(x) from unlabelled rows.

    Parameters
    ----------
    source : array_like (n_source, d), or (n_source,) for one feature
        Features of the source rows, finite. A frame's columns name them; columns of
        texts or categories become a column of zeros and ones for each level, in either
        sample, but the first. Rows of numbers of either sample may be of Dask or in
        blocks for "logistic": they are read some twenty times, and the log-odds and
        weights of each are gathered.
    target : array_like (n_target, d)
        Features of the target rows.
    formula : str, optional
        What to make of the frames' columns, as R and statsmodels write it (with patsy):
        ``"age * C(city) + np.log(income)"``. It is run as Python code, and a fit with
        one cannot be saved to a file; pickle keeps it.
    method : str or object, default "logistic"
        A discriminator, "logistic" (ridge regression on standardised features), "mlp"
        (a network) or any object with ``fit(x, y)`` and ``predict_proba(x)`` (fitted to
        y = 0 for source and 1 for target, in deep copies); or, for few features, "knn"
        (nearest neighbours), "ulsif", "rulsif" (least squares with Gaussian kernels),
        "kliep" (their maximum likelihood) or "kmm" (kernel mean matching [4]_: weights
        of the source rows, and of no others).
    calibrate : bool, default True
        Fit a temperature to held-out rows of each discriminator [2]_. The other methods
        have none.
    normalize : bool, default True
        Divide the weights by their mean over the source rows.
    flatten : float, default 1
        Power to raise ratios to, from 0 (equal weights) to 1 (as estimated).
    clip : number, text or pair of these, optional
        Largest weight, or smallest and largest, before they are normalised. A text such
        as "99%" is that quantile of the source rows' own.
    n_folds : int, default 5
        For cross-fitting; at most the number of rows of either sample, and at least 3
        with `calibrate`. "knn" leaves out one row at a time instead.
    ridge : float, or array_like of values to choose from
        "logistic" (default 1): half the factor of the squared coefficients beside the
        sum of the log losses. "ulsif" and "rulsif": to choose from by leave-one-out,
        by default 9 values from 0.001 to 10. "kmm" (default 1): what is added to the
        kernel's diagonal; 0 is as published.
    n_hidden : int or sequence of int, optional
        Hidden units of "mlp", by default 32; of each layer, if there are several:
        ``(16, 16)`` is a network with two hidden layers, as in [1]_.
    loss : {"nll", "brier"}, optional
        What "mlp" and its temperature minimise: the log loss, or the squared error of
        P(target | x), as in [2]_. By default "nll".
    n_neighbors : int, optional
        Neighbours that "knn" counts; by default the square root of the number of source
        rows.
    n_kernels : int, optional
        Kernels of "ulsif", "rulsif" and "kliep", centred at target rows drawn at
        random; by default 100.
    bandwidth : float, or array_like of values to choose from
        Standard deviations of these kernels, on standardised features; by default 9
        values from a tenth to three times the median distance. "kmm" takes one, by
        default the median distance: it has no rows held out to choose by.
    relative : float, optional
        Share of the target in the denominator of "rulsif", by default 0.1.
    weight_bound : float, optional
        Largest weight of "kmm" before all are normalised, by default 1000 as in [4]_.
    slack : float, optional
        By how much the mean weight of "kmm" may differ from one before they are
        normalised, by default 1 - n_source ** -0.5 as in [4]_.
    rng : seed, Generator or None
        Deals the folds, draws kernels and initialises networks.
    progress : bool, default False
        Show a progress bar for networks and for an estimator of your own.

    Returns
    -------
    DensityRatioResult
        ``.source_weight`` for the source rows, ``.weight(x)`` for new ones, and
        diagnostics: ``.ess``, ``.renyi(order)``, ``.auc``, ``.uncovered``, ``.upper``.

    Warns
    -----
    SupportWarning
        If 2% of the target rows or more lie where the source has almost no data, or if
        the weights are worth fewer than 30 rows.

    Notes
    -----
    Nothing here sees a label. No source row is weighted by a fit that has seen it: of
    the `n_folds` folds, a discriminator is fitted on all but two, its temperature is
    taken from one of these, and the other is weighted. ``weight`` uses one more fit, on
    all rows. What is chosen once on all rows is the standardisation and, for kernels,
    bandwidth and ridge.

    A discriminator's odds become ratios by the samples' own sizes, w = (n_source /
    n_target) P(target | x) / P(source | x) [1]_. Then, in this order, ratios are
    limited to [1/n_target, n_source], flattened, clipped, and normalised; the summary
    shows the effect of each step.

    Kernel mean matching is the exception to all this: it weights the very rows that it
    has seen, holds none out, and has no ratio anywhere else, so that ``weight`` refuses
    new rows and there is no AUC [3]_. Its matrix takes 8 n_source^2 bytes (0.8 GB for
    10 000 rows, the most that it accepts). As published, without a ridge, its exact
    solution follows every accident of the two samples: few rows get nearly all the
    weight. The default ridge adds to the squared distance of the means about what
    independent rows add to it by chance.

    References
    ----------
    .. [1] Pampari and Ermon (2020), "Unsupervised calibration under covariate shift",
       section 4.2; Bickel, Brueckner and Scheffer (2007), ICML.
    .. [2] Park, Bastani, Weimer and Lee (2020), "Calibrated prediction with covariate
       shift via unsupervised domain adaptation", AISTATS.
    .. [3] Kanamori, Hido and Sugiyama (2009), JMLR 10 (uLSIF); Yamada, Suzuki,
       Kanamori, Hachiya and Sugiyama (2011), NIPS (RuLSIF); Sugiyama et al. (2008),
       Annals of the Institute of Statistical Mathematics 60 (KLIEP).
    .. [4] Huang, Smola, Gretton, Borgwardt and Schoelkopf (2007), "Correcting sample
       selection bias by unlabeled data", NIPS 19.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.normal(size=900), rng.normal(1.0, size=700)
    >>> ratio = dfu.density_ratio(source, target, rng=0)
    >>> ratio.weight([-1.0, 0.5, 2.0]).round(2)  # truly exp(x - 1/2)
    array([0.21, 1.03, 4.96])
    >>> round(ratio.renyi(2), 2), round(ratio.auc.estimate, 2)
    (3.16, 0.77)

    Texts and categories, by level:

    >>> import pandas as pd
    >>> city = pd.DataFrame({"city": ["Rome"] * 300 + ["Oslo"] * 100})
    >>> later = pd.DataFrame({"city": ["Rome"] * 100 + ["Oslo"] * 300})
    >>> by_city = dfu.density_ratio(city, later, ridge=1e-6, rng=0)
    >>> by_city.weight(pd.DataFrame({"city": ["Oslo", "Rome"]})).round(1)
    array([2.9, 0.3])
    """
    args = Arguments("density_ratio")
    in_blocks = read_samples_in_blocks(args, source, target, method, formula)
    samples: Samples | SamplesInBlocks
    design: Design | None = None
    if in_blocks is not None:
        samples = in_blocks
    else:
        samples, design = read_frames(args, source, target, formula)
    options = read_ratio_options(
        args,
        samples,
        method=method,
        calibrate=calibrate,
        normalize=normalize,
        flatten=flatten,
        clip=clip,
        n_folds=n_folds,
        ridge=ridge,
        n_hidden=n_hidden,
        loss=loss,
        n_neighbors=n_neighbors,
        n_kernels=n_kernels,
        bandwidth=bandwidth,
        relative=relative,
        weight_bound=weight_bound,
        slack=slack,
        progress=progress,
    )
    return fit_density_ratio(samples, options, rng, design)


def fit_density_ratio(
    samples: Samples | SamplesInBlocks,
    options: RatioOptions,
    rng: RandomState,
    design: Design | None = None,
) -> DensityRatioResult:
    """Estimate the weights of samples that are read already."""
    n_source, n_target = samples.n_source, samples.n_target
    found = estimate(
        samples,
        options,
        deal_rng=stream(rng, "split", "density_ratio"),
        fit_rng=stream(rng, "fit", "density_ratio"),
    )
    conditioning = condition(
        found.source_ratio,
        n_target,
        flatten=options.flatten,
        clip=options.clip,
        normalize=options.normalize,
    )
    source_weight = conditioning.weights(found.source_ratio)
    uncovered, auc = None, None
    if options.name != "kmm":
        uncovered = uncovered_share(found.source_ratio, found.target_ratio)
        auc = auc_interval(found.source_ratio, found.target_ratio, cross_fitted=True)
    result = DensityRatioResult(
        method=options.name,
        model=found.model,
        source_weight=read_only(source_weight),
        target_weight=read_only(conditioning.weights(found.target_ratio)),
        source_ratio=read_only(found.source_ratio),
        target_ratio=read_only(found.target_ratio),
        conditioning=conditioning,
        held_out=options.held_out,
        auc=auc,
        uncovered=uncovered,
        features=samples.features,
        design=design,
        notes=(*found.notes, *_mean_note(found.source_ratio)),
        guarantee=NoGuarantee(_REASON),
    )
    _warn(uncovered, effective_sample_size(source_weight), n_source)
    return result


def _mean_note(source_ratio: FloatArray) -> list[str]:
    """Say so if the ratio's mean over the source, in truth one, is far from it."""
    mean = float(source_ratio.mean())
    if 1.0 / _FAR_FROM_ONE <= mean <= _FAR_FROM_ONE:
        return []
    return [
        f"the estimated ratio has mean {mean:.3g} over the source rows, where the true "
        "one has mean 1: its weights, their divergences and their effective sample "
        "size are not to be relied on."
    ]


def _warn(uncovered: float | None, ess: float, n_source: int) -> None:
    if uncovered is not None and uncovered >= _UNCOVERED:
        warn_user(
            support_text(uncovered)
            + " No weights can stand in for the rows that are missing there.",
            SupportWarning,
        )
    elif ess < min(_FEW_ROWS, 0.5 * n_source):
        warn_user(
            f"The weights of the {n_source} source rows are worth {ess:.1f} rows "
            "(effective sample size): what they weigh is hardly estimated.",
            SupportWarning,
        )
