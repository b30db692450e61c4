"""Label-shift conformal sets fitted with weights, or a region of them, as given."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.user_warnings import warn_user
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.pac_thresholds import (
    pac_method,
    stratified_pac_threshold,
    thinned_pac_threshold,
)
from distfreeuq.conformal.thresholds import (
    label_shift_thresholds,
    union_thresholds,
)
from distfreeuq.conformal.under_label_shift import guarantees
from distfreeuq.conformal.under_label_shift.results import (
    LabelShiftConformalResult,
    finite_weights,
    label_shift_result,
    warn_infinite,
)
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.results import LabelShiftResult


def fit_label_shift(
    calibration: CalibrationScores,
    weights: FloatArray,
    estimate: LabelShiftResult | None,
    alpha: float,
    delta: float | None,
) -> LabelShiftConformalResult:
    """Return the sets of these weights.

    Parameters
    ----------
    calibration : CalibrationScores
    weights : ndarray (K,)
    estimate : LabelShiftResult or None
        Where the weights are from; None if they were given as numbers.
    alpha : float
    delta : float or None
        A number if the weights were estimated on independent rows: the probability
        with which the bound on their error may fail.
    """
    thresholds = label_shift_thresholds(
        calibration.scores, calibration.labels, weights, alpha
    )
    guarantee: Guarantee | NoGuarantee
    if estimate is None or estimate.known:
        guarantee = guarantees.known_weights(calibration, weights, alpha)
    elif delta is not None:
        guarantee = guarantees.independent_weights(estimate, alpha, delta)
    else:
        guarantee = guarantees.estimated_weights(estimate, alpha)
    warn_infinite(calibration, thresholds, weights, alpha, None)
    return label_shift_result(
        calibration, thresholds, guarantee, alpha, weights, estimate
    )


def fit_label_shift_pac(
    calibration: CalibrationScores,
    weights: FloatArray,
    estimate: LabelShiftResult | None,
    alpha: float,
    confidence: float,
    generator: np.random.Generator,
) -> LabelShiftConformalResult:
    """Return the training-conditional sets of known weights.

    `estimate` holds the priors, if they are known and not only the weights.
    """
    threshold, method = _pac_threshold(
        calibration,
        finite_weights(weights),
        estimate,
        alpha,
        1.0 - confidence,
        generator,
    )
    thresholds = np.where(np.isinf(weights), np.inf, threshold)
    guarantee = guarantees.label_shift_given_calibration(alpha, confidence, method)
    warn_infinite(calibration, thresholds, weights, alpha, method)
    return label_shift_result(
        calibration,
        thresholds,
        guarantee,
        alpha,
        weights,
        estimate,
        confidence=confidence,
        pac_method=method,
    )


def fit_label_shift_union(
    calibration: CalibrationScores,
    region: Box | Polytope,
    estimate: LabelShiftResult | None,
    alpha: float,
    delta: float,
    *,
    progress: bool = False,
) -> LabelShiftConformalResult:
    """Return the union sets over a region of the weights.

    `estimate` is where the region is from, None if it was given; then `delta` is its
    level if it carries none of its own. `progress` shows a bar over the classes.
    """
    delta = delta if region.delta is None else region.delta
    if region.is_empty:
        thresholds = np.full(len(calibration.classes), np.inf)
        warn_user(
            f"no weights are compatible with the data at delta={delta:g}: label shift "
            "is contradicted, and every set will hold every label.",
            DistFreeWarning,
        )
    else:
        thresholds = union_thresholds(
            calibration.scores, calibration.labels, region, alpha, progress=progress
        )
        warn_infinite(calibration, thresholds, None, alpha, None)
    guarantee = guarantees.union(region, estimate, alpha, delta)
    plug_in = None
    if estimate is not None and not estimate.singular:
        plug_in = estimate.label_weight
    return label_shift_result(
        calibration, thresholds, guarantee, alpha, plug_in, estimate, robust=True
    )


def _pac_threshold(
    calibration: CalibrationScores,
    weights: FloatArray,
    priors: LabelShiftResult | None,
    alpha: float,
    delta: float,
    generator: np.random.Generator,
) -> tuple[float, str]:
    """Return a training-conditional threshold and how it was found.

    By rejection or, if the priors are known, by bounds in each class: the choice is
    made from n and the priors, and sees neither labels nor scores.
    """
    bound = float(weights.max())
    if bound == 0.0:  # no class of the source is in the target
        return np.inf, "no class in common"
    if priors is not None:
        # a class that the source lacks is in every set: the others have to be covered
        target_prior = np.where(weights > 0.0, priors.target_prior, 0.0)
        method = pac_method(
            calibration.n, weights, priors.source_prior, target_prior, alpha, delta
        )
        if method == "class-wise bounds":
            threshold = stratified_pac_threshold(
                calibration.scores, calibration.labels, target_prior, alpha, delta
            )
            return threshold, method
    threshold, _, kept = thinned_pac_threshold(
        calibration.scores,
        weights[calibration.labels],
        bound,
        alpha,
        delta,
        generator,
    )
    return threshold, f"rejection, {kept} kept"
