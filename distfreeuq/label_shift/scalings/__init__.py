"""Calibrations of the source, fitted before the likelihood is maximised."""

from __future__ import annotations

from distfreeuq._base.array_types import FloatMatrix, IntArray
from distfreeuq.label_shift.scalings.bcts import BiasCorrectedTemperature, fit_bcts
from distfreeuq.label_shift.scalings.log_scaling import LogScaling, fit_log_scaling

Scaling = BiasCorrectedTemperature | LogScaling

SCALINGS = ("bcts", "ts", "vs", "nbvs")
"""Names of the calibrations that MLLS may use."""


def fit_scaling(name: str, probs: FloatMatrix, labels: IntArray) -> Scaling:
    """Fit the calibration of that name to the source."""
    if name == "bcts":
        return fit_bcts(probs, labels)
    return fit_log_scaling(name, probs, labels)


__all__ = [
    "SCALINGS",
    "BiasCorrectedTemperature",
    "LogScaling",
    "Scaling",
    "fit_scaling",
]
