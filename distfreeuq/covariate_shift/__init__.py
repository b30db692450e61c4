"""Calibration under covariate shift: weighted, and with learnt features."""

from distfreeuq.covariate_shift.choosing import (
    CalibrationChoiceResult,
    choose_calibration,
)
from distfreeuq.covariate_shift.decisions import (
    DecisionCalibrationResult,
    DecisionEvaluation,
    decision_calibration,
)
from distfreeuq.covariate_shift.results import CovariateShiftCalibrationResult
from distfreeuq.covariate_shift.weighted_calibration import covariate_shift_calibration

__all__ = [
    "CalibrationChoiceResult",
    "CovariateShiftCalibrationResult",
    "DecisionCalibrationResult",
    "DecisionEvaluation",
    "choose_calibration",
    "covariate_shift_calibration",
    "decision_calibration",
]
