"""Data generating processes with everything known, for simulations."""

from distfreeuq.scenarios.adversarial import (
    AtomicLabelShift,
    absent_class,
    atoms,
    fifty_classes,
    heavy_imbalance,
    perfect_classifier,
    ties_everywhere,
    useless_classifier,
    wide_weights,
)
from distfreeuq.scenarios.catalogue import get, names, register, unregister
from distfreeuq.scenarios.covariance_shift import (
    GaussianCovariateShift,
    covariance_shift_gaussians,
)
from distfreeuq.scenarios.finite import FiniteScenario
from distfreeuq.scenarios.gaussian import (
    GaussianLabelShift,
    binary_gaussians,
    three_gaussians,
)
from distfreeuq.scenarios.label_shift_scenario import LabelShiftScenario
from distfreeuq.scenarios.miscalibrated import label_noise, rare_feature
from distfreeuq.scenarios.scenario import Scenario

__all__ = [
    "AtomicLabelShift",
    "FiniteScenario",
    "GaussianCovariateShift",
    "GaussianLabelShift",
    "LabelShiftScenario",
    "Scenario",
    "absent_class",
    "atoms",
    "binary_gaussians",
    "covariance_shift_gaussians",
    "fifty_classes",
    "get",
    "heavy_imbalance",
    "label_noise",
    "names",
    "perfect_classifier",
    "rare_feature",
    "register",
    "three_gaussians",
    "ties_everywhere",
    "unregister",
    "useless_classifier",
    "wide_weights",
]
