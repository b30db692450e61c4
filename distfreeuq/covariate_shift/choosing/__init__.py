"""Calibrations chosen by importance-weighted cross-validation."""

from distfreeuq.covariate_shift.choosing.results import CalibrationChoiceResult
from distfreeuq.covariate_shift.choosing.weighted_cross_validation import (
    choose_calibration,
)

__all__ = ["CalibrationChoiceResult", "choose_calibration"]
