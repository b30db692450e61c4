"""Calibration for a target of other covariates, by weights and by learnt features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RandomState
from distfreeuq.calibration.calibrators import may_mask
from distfreeuq.covariate_shift.data import (
    learn_features,
    read_shifted_rows,
    weigh_rows,
)
from distfreeuq.covariate_shift.results import CovariateShiftCalibrationResult
from distfreeuq.covariate_shift.weighted_blocks import fit_to_blocks
from distfreeuq.covariate_shift.weighted_fit import fit_weighted, read_request
from distfreeuq.feature_learning.results import FeatureMapResult


def covariate_shift_calibration(
    logits: ArrayLike | None,
    labels: ArrayLike | None,
    source: ArrayLike | None,
    target: ArrayLike | None,
    *,
    calibrator: Any = "temperature",
    ratio: Any = "logistic",
    feature_learning: bool | Mapping[str, Any] | FeatureMapResult = False,
    loss: str = "nll",
    offset: float = 0.0,
    upper: float | None = None,
    map_share: float = 0.5,
    ratio_options: Mapping[str, Any] | None = None,
    calibrator_options: Mapping[str, Any] | None = None,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    progress: bool = False,
) -> CovariateShiftCalibrationResult:
    """Calibrate on labelled source rows for a target whose inputs have moved.

    Parameters
    ----------
    logits : array_like (n, K), or (n,) for the log-odds of class 1
        A classifier's logits on source rows that it was not fitted on. With feature
        learning, which makes a classifier of its own, they may be None.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    source : array_like (n, d)
        Features of the same rows: raw, or the last layer of a network. None if the
        weights are known.
    target : array_like (m, d)
        Features of unlabelled target rows. None if the weights are known.
    calibrator : {"temperature", "classwise-temperature", "platt", "vector", \
"dirichlet", "isotonic", "venn-abers", "beta", "binning"}, callable or object
        What is fitted to the weighted rows: a name, a function that is called as
        `temperature_scaling` is, with `sample_weight`, and returns a fit or a map of
        logits, or an object with ``fit(logits, labels, sample_weight=)`` and
        ``predict_proba``. For groups of rows, ``functools.partial(
        groupwise_calibration, "temperature", groups=...)``.
    ratio : str, object, DensityRatioResult, array_like (n,) or None
        Where the weights w(x) = q(x)/p(x) come from, by default "logistic": a `method`
        of `density_ratio`, its result, known numbers, or nowhere (None: no weights). A
        result with as many source rows as are given here is taken to have been fitted
        on them, and gives each its held-out weight; after feature learning it must be
        one on ``transform(source)``.
    feature_learning : bool, mapping or FeatureMapResult, default False
        Learn features that hide the domain first ([2]_, 5.2) and calibrate the
        classifier on them. A mapping holds options of `indistinguishable_features`; a
        result must have been fitted on other rows.
    loss : {"nll", "brier"}, default "nll"
        What the temperature minimises; in [2]_ "brier".
    offset : float, default 0
        Added to every weight in the calibrator's loss: 0 in [1]_; 0.5 in [2]_, where
        the weights are 1/g - 1/2 = w + 1/2. Weights given as numbers must then be on
        the scale of q/p, with mean about one.
    upper : float, optional
        U, a bound on q(x)/p(x), for the bound of [2]_; by default the largest weight
        that was estimated.
    map_share : float, default 0.5
        Share of the source and of the target rows, drawn at random, on which features
        are learnt. The rest is for weights and calibration.
    ratio_options, calibrator_options : mapping, optional
        Further options of `density_ratio`, such as ``{"clip": "99%"}``, and of the
        calibrator. Binning of more than two classes has ``mode="top-label"`` unless the
        options say otherwise.
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        For the map's rows, the map, and the ratio.
    progress : bool, default False
        Show the progress of feature learning.

    Returns
    -------
    CovariateShiftCalibrationResult
        ``predict(logits)``, or ``predict(features)`` after feature learning.

    See Also
    --------
    choose_calibration : Choose among calibrators, ridges and weights.
    decision_calibration : Confidence in the decisions of a given classifier.

    Notes
    -----
    ===================  ===============  ==================  ================
    name in the paper    `ratio`          `feature_learning`  `loss`, `offset`
    ===================  ===============  ==================  ================
    weighted             any              False               "nll", 0
    Temp.                None             False               "brier"
    IW+Temp.             a discriminator  False               "brier", 0.5
    FL+Temp.             None             True                "brier"
    FL+IW+Temp.          a discriminator  True                "brier", 0.5
    ===================  ===============  ==================  ================

    The first name is that of [1]_, the others are those of [2]_.

    Under covariate shift the weighted loss of source rows has the expectation of the
    target's loss ([1]_, Theorem 4.1), if the weights are right. No source row is
    weighted by a fit that has seen it, nor calibrates a map that was learnt on it. The
    standard errors take the weights for known.

    Nothing here can check that the label given the input has the same law in source and
    target, nor can weights make up for source rows that do not exist: see the ratio's
    own summary for how much of the target the source covers.

    Rows may be Dask's, or come in blocks: a function that returns an iterator of
    ``(logits, labels)`` or ``(logits, labels, source)``, with `labels` None (and
    `source` None). Ratios are then by logistic regression, or given; features are not
    learnt; own calibrators, "venn-abers" and "binning" need rows in memory.

    References
    ----------
    .. [1] Pampari and Ermon (2020), "Unsupervised calibration under covariate shift".
    .. [2] Park, Bastani, Weimer and Lee (2020), "Calibrated prediction with covariate
       shift via unsupervised domain adaptation", AISTATS.

    Examples
    --------
    The classifier is over-confident where x > 0, which the target has more of.

    >>> import numpy as np
    >>> import distfreeuq as dfu
    >>> rng = np.random.default_rng(0)
    >>> x, new = rng.normal(size=2000), rng.normal(1.0, size=2000)
    >>> truth = lambda x: np.where(x > 0, 1.0, 2.0) * np.sin(3 * x)
    >>> labels = (rng.random(2000) < 1 / (1 + np.exp(-truth(x)))).astype(int)
    >>> logits = 2 * np.sin(3 * x)
    >>> plain = dfu.temperature_scaling(logits, labels)
    >>> fit = dfu.covariate_shift_calibration(logits, labels, x, new, rng=0)
    >>> fit
    <CovariateShiftCalibrationResult IW+temperature n=2000 K=2 ess=783.7>
    >>> round(plain.temperature, 2), round(fit.calibration.temperature, 2)
    (1.44, 1.84)
    >>> fit.predict(2 * np.sin(3 * new)).shape
    (2000, 2)
    """
    args = Arguments("covariate_shift_calibration")
    request = read_request(
        args,
        calibrator=calibrator,
        loss=loss,
        offset=offset,
        upper=upper,
        calibrator_options=calibrator_options,
    )
    arrays = (logits, labels, source, target)
    in_blocks = fit_to_blocks(
        args, *arrays, classes, request, feature_learning, ratio, ratio_options, rng
    )
    if in_blocks is not None:
        return in_blocks
    masks = may_mask(request.calibrator)
    rows = read_shifted_rows(args, *arrays, classes, may_mask=masks)
    learnt = learn_features(
        args, rows, feature_learning, ratio, map_share, rng, progress
    )
    if learnt.rows.logits is None:
        args.invalid("logits", "given, unless features are learnt", "None")
    weights = weigh_rows(args, learnt.rows, ratio, ratio_options, rng)
    return fit_weighted(learnt, weights, request)
