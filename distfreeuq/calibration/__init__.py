"""Calibration of probabilities: scaled logits, isotonic regression, by groups."""

from distfreeuq.calibration.classwise_temperature import (
    ClasswiseTemperatureResult,
    classwise_temperature_scaling,
)
from distfreeuq.calibration.groupwise import groupwise_calibration
from distfreeuq.calibration.groupwise_results import GroupwiseResult
from distfreeuq.calibration.isotonic import IsotonicResult, isotonic_calibration
from distfreeuq.calibration.logits import to_logits
from distfreeuq.calibration.own_maps.own_calibrators import OwnCalibrationResult
from distfreeuq.calibration.platt import PlattResult, platt_scaling
from distfreeuq.calibration.probability_maps.beta_curves import (
    BetaResult,
    beta_calibration,
)
from distfreeuq.calibration.probability_maps.binned_map import BinnedResult
from distfreeuq.calibration.probability_maps.dirichlet_maps import (
    DirichletResult,
    dirichlet_scaling,
)
from distfreeuq.calibration.probability_maps.venn_prediction import (
    VennAbersResult,
    venn_abers,
)
from distfreeuq.calibration.results import CalibrationResult
from distfreeuq.calibration.scaled_bins.map_in_bins import scaling_binning
from distfreeuq.calibration.scaled_bins.results import ScalingBinningResult
from distfreeuq.calibration.temperature import TemperatureResult, temperature_scaling
from distfreeuq.calibration.tied.class_bundling import ClassBundles, class_bundles
from distfreeuq.calibration.vector import VectorResult, vector_scaling

__all__ = [
    "BetaResult",
    "BinnedResult",
    "CalibrationResult",
    "ClassBundles",
    "ClasswiseTemperatureResult",
    "DirichletResult",
    "GroupwiseResult",
    "IsotonicResult",
    "OwnCalibrationResult",
    "PlattResult",
    "ScalingBinningResult",
    "TemperatureResult",
    "VectorResult",
    "VennAbersResult",
    "beta_calibration",
    "class_bundles",
    "classwise_temperature_scaling",
    "dirichlet_scaling",
    "groupwise_calibration",
    "isotonic_calibration",
    "platt_scaling",
    "scaling_binning",
    "temperature_scaling",
    "to_logits",
    "vector_scaling",
    "venn_abers",
]
