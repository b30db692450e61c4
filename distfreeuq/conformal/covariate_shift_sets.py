"""Conformal prediction under covariate shift: calibration rows weighted by w(x)."""

from __future__ import annotations

from typing import overload

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray, RandomState, RowsLike
from distfreeuq._base.arrays import describe
from distfreeuq._base.random_streams import stream
from distfreeuq.conformal.by_group.results import GroupedConformalResult, fit_by_group
from distfreeuq.conformal.data import (
    CalibrationScores,
    calibration_scores,
)
from distfreeuq.conformal.scores.nested_score import ScoreLike
from distfreeuq.conformal.under_covariate_shift.covariate_shift_fits import (
    CovariateShiftConformalResult,
    fit_covariate_shift,
    fit_covariate_shift_pac,
)
from distfreeuq.density_ratios.results import (
    DensityRatioResult,
    weights_by_ratio,
)


@overload
def covariate_shift_conformal(
    probs: RowsLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | DensityRatioResult,
    *,
    features: ArrayLike | None = ...,
    alpha: float = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    weight_bound: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: None = ...,
) -> CovariateShiftConformalResult: ...


@overload
def covariate_shift_conformal(
    probs: RowsLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | DensityRatioResult,
    *,
    features: ArrayLike | None = ...,
    alpha: float = ...,
    score: ScoreLike = ...,
    randomized: bool = ...,
    never_empty: bool = ...,
    confidence: float | None = ...,
    weight_bound: float | None = ...,
    classes: ArrayLike | None = ...,
    rng: RandomState = ...,
    ids: ArrayLike | None = ...,
    groups: ArrayLike,
) -> GroupedConformalResult: ...


def covariate_shift_conformal(
    probs: RowsLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | DensityRatioResult,
    *,
    features: ArrayLike | None = None,
    alpha: float = 0.1,
    score: ScoreLike = "aps",
    randomized: bool = True,
    never_empty: bool = False,
    confidence: float | None = None,
    weight_bound: float | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> CovariateShiftConformalResult | GroupedConformalResult:
    """Prediction sets that cover 1 - alpha under covariate shift, with weights w(x).

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on source rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    sample_weight : array_like (n,) or DensityRatioResult
        w(x) = q(x) / p(x) of the calibration rows, up to scale; or what `density_ratio`
        returned, if they have to be estimated.
    features : array_like (n, d), optional
        With a density ratio: the calibration rows' features, which it weights. Without
        them, the calibration rows are the ratio's own source rows, in their order,
        and have the weights of the fits that have not seen them.
    alpha, score, randomized, never_empty, classes, rng, ids
        As in `split_conformal`.
    confidence : float, optional
        With a number such as 0.95: coverage of at least 1 - alpha with that probability
        over the calibration draw. Needs `weight_bound`.
    weight_bound : float, optional
        An upper bound of w(x) over all x, on the scale of `sample_weight`, known
        without these rows: rejection sampling needs it. By default a density ratio's
        own bound.
    groups : array_like (n,), optional
        Each row's group, such as a hospital: every group is then calibrated by itself,
        and `predict` needs the new rows' groups.

    Returns
    -------
    CovariateShiftConformalResult
        Its ``predict(probs, sample_weight)`` takes the new rows' weights, and
        ``threshold_for(sample_weight)`` gives their thresholds; after a fit with a
        density ratio also ``predict(probs, features=x)``. With `groups` a
        `GroupedConformalResult`, which holds one for each.

    Notes
    -----
    A new row's threshold is the weighted (1 - alpha)-quantile of the calibration scores
    with the row's own weight at +inf. If w is the true density ratio, calibration and
    new rows are weighted exchangeable, and coverage is at least 1 - alpha [1]_. With
    *estimated* weights nothing finite-sample is claimed: if they come from other rows
    and have mean one, coverage is at least 1 - alpha - E_p|w_hat - w| / 2 [2]_, but no
    data tell how large that is.

    References
    ----------
    .. [1] Tibshirani, Barber, Candes and Ramdas (2019), "Conformal prediction under
       covariate shift", NeurIPS.
    .. [2] Lei and Candes (2021), "Conformal inference of counterfactuals and individual
       treatment effects", JRSS B.

    Examples
    --------
    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> x = np.random.default_rng(0).normal(size=400)
    >>> p1 = (1 / (1 + np.exp(-2 * x))).round(4)
    >>> labels = (np.random.default_rng(1).random(400) < p1).astype(int)
    >>> ratio = np.exp(x)  # the target's x are shifted to the right
    >>> fit = dfu.covariate_shift_conformal(p1, labels, ratio, rng=2)
    >>> fit.predict([0.7, 0.99], [1.5, 100.0]).sizes.tolist()
    [2, 2]
    >>> fit.threshold_for([1.5, 100.0]).round(3).tolist()
    [0.854, inf]

    With estimated weights:

    >>> target = np.random.default_rng(3).normal(1.0, size=300)
    >>> weights = dfu.density_ratio(x, target, rng=0)
    >>> fit = dfu.covariate_shift_conformal(p1, labels, weights, rng=2)
    >>> fit.predict([0.7, 0.99], features=[0.4, 2.3]).sizes.tolist()
    [2, 1]
    >>> bool(fit.guarantee)
    False
    """
    args = Arguments("covariate_shift_conformal")
    calibration = calibration_scores(
        args,
        probs,
        labels,
        score=score,
        randomized=randomized,
        never_empty=never_empty,
        classes=classes,
        rng=rng,
        ids=ids,
    )
    alpha = args.alpha(alpha)
    given, ratio = _read_weights(args, sample_weight, features, calibration.n)
    weights = given[calibration.order]
    if confidence is None:
        bound = np.inf
        if weight_bound is not None:
            must = "None: only confidence= uses a bound"
            args.invalid("weight_bound", must, describe(weight_bound))
    else:
        confidence = calibration.read_confidence(args, confidence)
        if ratio is not None and weight_bound is None:
            weight_bound = ratio.upper
        bound = _read_bound(args, weight_bound, weights)
    generator = stream(rng, "thin", args.caller)

    def fit(
        part: CalibrationScores, share: float | None
    ) -> CovariateShiftConformalResult:
        own = given[part.order]
        if share is None:
            return fit_covariate_shift(part, own, ratio, alpha)
        return fit_covariate_shift_pac(part, own, ratio, alpha, share, bound, generator)

    if groups is None:
        return fit(calibration, confidence)
    return fit_by_group(
        args,
        groups,
        calibration,
        fit,
        alpha=alpha,
        confidence=confidence,
    )


def _read_weights(
    args: Arguments,
    sample_weight: ArrayLike | DensityRatioResult,
    features: ArrayLike | None,
    n: int,
) -> tuple[FloatArray, DensityRatioResult | None]:
    """Return the calibration rows' weights (n,), and what estimated them."""
    if not isinstance(sample_weight, DensityRatioResult):
        if features is not None:
            must = "None: only a density ratio needs features"
            args.invalid("features", must, describe(features))
        return args.weights(sample_weight, "sample_weight", n), None
    if features is None:
        if sample_weight.n_source != n:
            must = f"given for the {n} rows: they are not the ratio's source rows"
            got = f"None, and a ratio of {sample_weight.n_source} source rows"
            args.invalid("features", must, got)
        return sample_weight.source_weight, sample_weight
    weights = weights_by_ratio(sample_weight, args, features, "features")
    if weights.size != n:
        args.invalid("features", f"of {n} rows, as 'probs'", f"{weights.size} rows")
    return weights, sample_weight


def _read_bound(args: Arguments, value: float | None, weights: FloatArray) -> float:
    must = "a positive number that no weight exceeds, given with confidence="
    if value is None:
        args.invalid("weight_bound", must, "None")
    bound = args.number(value, "weight_bound", must, low=0.0, high=1e300)
    if bound <= 0.0 or weights.max(initial=0.0) > bound:
        args.invalid(
            "weight_bound", must, f"{bound:g}, and a weight of {weights.max():g}"
        )
    return bound
