"""Data generating processes with everything known, for simulations."""

from distfreeuq.scenarios.covariance_shift import (
    GaussianCovariateShift,
    covariance_shift_gaussians,
)
from distfreeuq.scenarios.gaussian import (
    GaussianLabelShift,
    binary_gaussians,
    three_gaussians,
)
from distfreeuq.scenarios.label_shift import LabelShiftScenario
from distfreeuq.scenarios.scenario import Scenario

__all__ = [
    "GaussianCovariateShift",
    "GaussianLabelShift",
    "LabelShiftScenario",
    "Scenario",
    "binary_gaussians",
    "covariance_shift_gaussians",
    "three_gaussians",
]
