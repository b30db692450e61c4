"""Calibration of probabilities: scaled logits, isotonic regression, by groups."""

from distfreeuq.calibration.classwise_temperature import (
    ClasswiseTemperatureResult,
    classwise_temperature_scaling,
)
from distfreeuq.calibration.groupwise import groupwise_calibration
from distfreeuq.calibration.groupwise_results import GroupwiseResult
from distfreeuq.calibration.isotonic import IsotonicResult, isotonic_calibration
from distfreeuq.calibration.logits import to_logits
from distfreeuq.calibration.platt import PlattResult, platt_scaling
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.temperature import TemperatureResult, temperature_scaling
from distfreeuq.calibration.vector import VectorResult, vector_scaling

__all__ = [
    "CalibrationResult",
    "ClasswiseTemperatureResult",
    "GroupwiseResult",
    "IsotonicResult",
    "PlattResult",
    "TemperatureResult",
    "VectorResult",
    "classwise_temperature_scaling",
    "groupwise_calibration",
    "isotonic_calibration",
    "platt_scaling",
    "temperature_scaling",
    "to_logits",
    "vector_scaling",
]
