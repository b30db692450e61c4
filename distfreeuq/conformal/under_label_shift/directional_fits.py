"""Label-shift conformal sets fitted with a bound for each label by itself."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.user_warnings import warn_user
from distfreeuq.conformal.data import CalibrationScores
from distfreeuq.conformal.thresholds import (
    label_conditional_thresholds,
)
from distfreeuq.conformal.under_label_shift import guarantees
from distfreeuq.conformal.under_label_shift.directional_search import (
    directional_pac_threshold,
    directional_thresholds,
)
from distfreeuq.conformal.under_label_shift.results import (
    LabelShiftConformalResult,
    label_shift_result,
    warn_infinite,
)
from distfreeuq.exceptions import IdentificationWarning
from distfreeuq.label_shift.inference.moments.limiting_law import LimitLaw
from distfreeuq.label_shift.results import LabelShiftResult


def fit_label_shift_directional(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    delta: float,
) -> LabelShiftConformalResult:
    """Return sets with a bound on the estimated weights for each label by itself."""
    law = estimate._limit_law()
    thresholds = directional_thresholds(
        calibration.scores, calibration.labels, law, alpha, delta
    )
    _warn(calibration, law, thresholds, alpha)
    return label_shift_result(
        calibration,
        thresholds,
        guarantees.directional(estimate, alpha, delta),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust="directional",
    )


def fit_directional_pac(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    confidence: float,
    independent: bool,
) -> LabelShiftConformalResult:
    """Return sets for the draw at hand, by one bound of the share left out.

    `independent` if the weights were estimated on other rows.
    """
    law = estimate._limit_law_of_prior()
    threshold = directional_pac_threshold(
        calibration.scores,
        calibration.labels,
        law,
        alpha,
        1.0 - confidence,
        independent,
    )
    thresholds = np.where(calibration.counts > 0, threshold, np.inf)
    _warn(calibration, law, thresholds, alpha)
    return label_shift_result(
        calibration,
        thresholds,
        guarantees.directional_given_calibration(
            estimate, alpha, confidence, independent
        ),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust="directional",
        confidence=confidence,
        pac_method="one bound",
    )


def fit_label_shift_combined(
    calibration: CalibrationScores,
    estimate: LabelShiftResult,
    alpha: float,
    delta: float,
    share: float,
) -> LabelShiftConformalResult:
    """Return directional sets at share * alpha, cut to label-conditional ones.

    The latter have the rest of alpha: a label is in a set if it is in both.
    """
    scores, labels = calibration.scores, calibration.labels
    rest = (1.0 - share) * alpha
    n_classes = len(calibration.classes)
    by_class = label_conditional_thresholds(scores, labels, np.full(n_classes, rest))
    directional = directional_thresholds(
        scores, labels, estimate._limit_law(), share * alpha, delta
    )
    thresholds = np.minimum(by_class, directional)
    warn_infinite(calibration, thresholds, None, alpha, None)
    return label_shift_result(
        calibration,
        thresholds,
        guarantees.combined(estimate, alpha, delta, rest),
        alpha,
        None if estimate.singular else estimate.label_weight,
        estimate,
        robust="combined",
    )


def _warn(
    calibration: CalibrationScores, law: LimitLaw, thresholds: FloatArray, alpha: float
) -> None:
    """Warn of weights that are not identified, or of too few rows."""
    unknown = np.flatnonzero(~law.told & (calibration.counts > 0))
    if unknown.size:
        named = name_classes(calibration.classes, unknown)
        warn_user(
            f"the weight of {named} is not identified, so that every set will hold "
            "every label. label_conditional_conformal needs no weights.",
            IdentificationWarning,
        )
    else:
        warn_infinite(calibration, thresholds, None, alpha, None)
