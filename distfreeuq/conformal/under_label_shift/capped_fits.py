"""Label-shift conformal sets fitted for all target priors below caps."""

from __future__ import annotations

import numpy as np

from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.pac_thresholds import (
    label_conditional_pac_thresholds,
)
from distfreeuq.conformal.under_label_shift import guarantees
from distfreeuq.conformal.under_label_shift.capped_priors import (
    capped_class_thresholds,
    capped_pac_threshold,
    capped_threshold,
)
from distfreeuq.conformal.under_label_shift.results import (
    LabelShiftConformalResult,
    label_shift_result,
    warn_infinite,
)
from distfreeuq.label_shift.results import LabelShiftResult

# Of what may fail with `confidence`, caps have a tenth, since they change little with
# it, and each of three ways to a threshold an equal part of the rest.
_SHARE_OF_CAPS = 0.1
_SHARE_OF_EACH = 0.3


def fit_label_shift_capped(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    delta: float,
) -> LabelShiftConformalResult:
    """Return sets for every target prior below caps of level 1 - delta."""
    caps = estimate._prior_caps(delta)
    threshold = capped_threshold(calibration.scores, calibration.labels, caps, alpha)
    thresholds = np.where(calibration.counts > 0, threshold, np.inf)
    warn_infinite(calibration, thresholds, None, alpha, None)
    return label_shift_result(
        calibration,
        thresholds,
        guarantees.capped(estimate, alpha, delta),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust=True,
    )


def fit_capped_pac(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    confidence: float,
) -> LabelShiftConformalResult:
    """Return the training-conditional sets of estimated weights.

    By one threshold for all classes, by thresholds that leave out the same share of
    each, or by thresholds that hold for each class by itself. All three hold at once,
    so that the choice may look at them: taken is the one that covers the fewest
    calibration rows, classes weighted by the caps.
    """
    delta = 1.0 - confidence
    each = _SHARE_OF_EACH * delta
    scores, labels, counts = calibration.scores, calibration.labels, calibration.counts
    caps = estimate._prior_caps(_SHARE_OF_CAPS * delta)
    threshold = capped_pac_threshold(scores, labels, caps, alpha, each)
    found = {
        "capped priors": np.where(counts > 0, threshold, np.inf),
        "a common share per class": capped_class_thresholds(
            scores, labels, caps, alpha, each
        ),
        "a threshold per class": label_conditional_pac_thresholds(
            scores, labels, counts, alpha, each
        ),
    }
    weight = caps.high[labels] / np.maximum(counts[labels], 1)
    covered = {
        method: float(weight[scores <= thresholds[labels]].sum())
        for method, thresholds in found.items()
    }
    method = min(covered, key=covered.__getitem__)
    thresholds = found[method]
    warn_infinite(calibration, thresholds, None, alpha, method)
    return label_shift_result(
        calibration,
        thresholds,
        guarantees.capped_given_calibration(estimate, alpha, confidence),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        confidence=confidence,
        pac_method=method,
    )
