"""Calibrations of the source, fitted before the likelihood is maximised."""

from __future__ import annotations

from distfreeuq._numerics.passes.class_rows import AnyRows
from distfreeuq.label_shift.scalings.bcts import BiasCorrectedTemperature, fit_bcts_to
from distfreeuq.label_shift.scalings.log_scaling import LogScaling, fit_log_scaling_to

Scaling = BiasCorrectedTemperature | LogScaling

SCALINGS = ("bcts", "ts", "vs", "nbvs")
"""Names of the calibrations that MLLS may use."""


def fit_scaling(name: str, rows: AnyRows) -> Scaling:
    """Fit the calibration of that name to the source's rows."""
    if name == "bcts":
        return fit_bcts_to(rows)
    return fit_log_scaling_to(name, rows)


__all__ = [
    "SCALINGS",
    "BiasCorrectedTemperature",
    "LogScaling",
    "Scaling",
    "fit_scaling",
]
