"""Calibration for a target of other covariates, by weights and by learnt features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import (
    ArrayLike,
    Classes,
    FloatArray,
    FloatMatrix,
    IntArray,
    RandomState,
)
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.binning.data import BinningRows
from distfreeuq.binning.histogram import fit_histogram
from distfreeuq.binning.results import BinningResult
from distfreeuq.binning.settings import read_options
from distfreeuq.calibration.calibrators import (
    CALIBRATORS,
    AnyCalibrator,
    Calibrator,
    read_calibrator,
)
from distfreeuq.calibration.groupwise_results import GroupwiseResult
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.rows.calibration_rows import make_rows
from distfreeuq.covariate_shift.bound_estimate import estimate_bound
from distfreeuq.covariate_shift.data import (
    LearntFeatures,
    RowWeights,
    learn_features,
    read_mapping,
    read_shifted_rows,
    weigh_rows,
)
from distfreeuq.covariate_shift.guarantees import target_guarantee
from distfreeuq.covariate_shift.results import (
    CovariateShiftCalibrationResult,
    RowUse,
    as_probabilities,
    calibrator_input,
)
from distfreeuq.feature_learning.results import FeatureMapResult

ALL_CALIBRATORS = tuple(dict.fromkeys((*CALIBRATORS, "binning")))


_INSTEAD = (
    "Give density_ratio the blocks, and its source_weight with them to "
    "temperature_scaling or another map, as sample_weight."
)


def covariate_shift_calibration(
    logits: ArrayLike | None,
    labels: ArrayLike,
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
    given = {"logits": logits, "source": source, "target": target}
    refuse_blocks(args, given, _INSTEAD)
    rows = read_shifted_rows(args, logits, labels, source, target, classes)
    learnt = learn_features(
        args, rows, feature_learning, ratio, map_share, rng, progress
    )
    if learnt.rows.logits is None:
        args.invalid("logits", "given, unless features are learnt", "None")
    weights = weigh_rows(args, learnt.rows, ratio, ratio_options, rng)
    return fit_weighted(learnt, weights, request)


class CalibratorRequest(NamedTuple):
    """What is to be fitted to weighted rows.

    Attributes
    ----------
    args : Arguments
        Whose messages name the caller.
    name : str
    calibrator : Calibrator, OwnCalibrator or None
        None for histogram binning.
    options : dict
        As given, by name.
    offset : float
    upper : float or None
    """

    args: Arguments
    name: str
    calibrator: AnyCalibrator | None
    options: dict[str, Any]
    offset: float
    upper: float | None


def read_request(
    args: Arguments,
    *,
    calibrator: Any,
    loss: Any,
    offset: Any,
    upper: Any,
    calibrator_options: Any,
) -> CalibratorRequest:
    """Check what is to be fitted, but for what depends on the rows."""
    name, chosen = read_any_calibrator(args, calibrator)
    offset = args.number(offset, "offset", "a non-negative number", low=0.0, high=1e6)
    if upper is not None:
        must = "a number from 1e-100 to 1e100, or None"
        upper = args.number(upper, "upper", must, low=1e-100, high=1e100)
    options = _read_calibrator_options(args, name, loss, calibrator_options)
    return CalibratorRequest(args, name, chosen, options, offset, upper)


def read_any_calibrator(
    args: Arguments, value: Any
) -> tuple[str, AnyCalibrator | None]:
    """Return name and calibrator; None for histogram binning."""
    if isinstance(value, str):
        name = args.choice(value, "calibrator", ALL_CALIBRATORS)
        if name == "binning":
            return name, None
    return read_calibrator(args, value)


def fit_map(
    request: CalibratorRequest,
    logits: FloatMatrix,
    labels: IntArray,
    weights: FloatArray | None,
    classes: Classes,
) -> CalibrationResult | BinningResult:
    """Fit the calibrator to rows; labels are column numbers, None for no weights."""
    in_loss = None if weights is None else weights + request.offset
    chosen, options = request.calibrator, request.options
    if chosen is None:
        return _fit_bins(as_probabilities(logits), labels, classes, in_loss, options)
    wants_probs = isinstance(chosen, Calibrator) and chosen.takes_probs
    inputs = as_probabilities(logits) if wants_probs else logits
    rows = make_rows(inputs, labels, in_loss, classes)
    if isinstance(chosen, Calibrator):
        return chosen.fit(rows, chosen.options(rows, options))
    found = chosen.fit(request.args, "calibrator", rows, options, in_loss)
    if not isinstance(found, CalibrationResult | BinningResult):
        must = "a calibrator that returns probabilities, or a map to them"
        request.args.invalid("calibrator", must, repr(found))
    return found


def fit_weighted(
    learnt: LearntFeatures, weights: RowWeights, request: CalibratorRequest
) -> CovariateShiftCalibrationResult:
    """Fit the calibrator to weighted rows, and estimate the bound of Park et al."""
    rows = learnt.rows
    assert rows.logits is not None
    fit = fit_map(request, rows.logits, rows.codes, weights.source, rows.classes)
    needs_groups = isinstance(fit, GroupwiseResult) and fit.split is None
    bound = None
    if weights.source is not None and weights.target is not None and not needs_groups:
        probs = fit._predict(calibrator_input(fit, rows.logits))
        bound = estimate_bound(
            squared_error(probs, rows.codes),
            weights.source,
            weights.target,
            request.upper,
        )
    n = rows.codes.size
    return CovariateShiftCalibrationResult(
        calibrator=request.name,
        calibration=fit,
        ratio=weights.ratio,
        feature_map=learnt.feature_map,
        sample_weight=read_only(
            np.ones(n) if weights.source is None else weights.source
        ),
        offset=request.offset,
        rows=RowUse(
            n_calibration=n,
            n_target=weights.n_target,
            n_map_source=learnt.n_source,
            n_map_target=learnt.n_target,
            weights_from=weights.come_from,
        ),
        bound=bound,
        classes=rows.classes,
        features=None if learnt.feature_map is None else rows.features,
        guarantee=target_guarantee(weights.come_from, request.offset, fit.guarantee),
    )


def _fit_bins(
    probs: FloatMatrix,
    labels: IntArray,
    classes: Classes,
    weights: FloatArray | None,
    options: dict[str, Any],
) -> BinningResult:
    if len(classes) > 2:
        options = {"mode": "top-label", **options}
    binned, settings = read_options(
        Arguments("histogram_binning"),
        BinningRows(probs, labels, classes, weights),
        **options,
    )
    return fit_histogram(binned, settings)


def _read_calibrator_options(
    args: Arguments, calibrator: str, loss: str, given: Mapping[str, Any] | None
) -> dict[str, Any]:
    loss = args.choice(loss, "loss", ["nll", "brier"])
    options = read_mapping(args, given, "calibrator_options")
    for taken in ("sample_weight", "classes", "loss"):
        if taken in options:
            args.invalid("calibrator_options", f"without {taken!r}", describe(given))
    if loss == "nll":
        return options
    if calibrator in ("temperature", "classwise-temperature"):
        return {"loss": loss, **options}
    if loss != "nll":
        must = "'nll' for every calibrator but temperatures"
        args.invalid("loss", must, f"{loss!r} with {calibrator!r}")
    return options


def squared_error(probs: FloatMatrix, codes: IntArray) -> FloatArray:
    """Return ||f(x) - y||^2 of every row, shape (n,)."""
    residual = probs.astype(np.float64)
    residual[np.arange(codes.size), codes] -= 1.0
    return np.asarray(np.einsum("ij,ij->i", residual, residual))
