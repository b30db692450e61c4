"""Distribution-free uncertainty quantification for classifiers under dataset shift."""

from importlib import import_module
from typing import Any

from distfreeuq import bounds, metrics, scenarios
from distfreeuq._version import __version__
from distfreeuq.assessment.assess import assess
from distfreeuq.assessment.calibration_comparison import CalibrationComparisonResult
from distfreeuq.assessment.compare import ComparisonResult, compare
from distfreeuq.assessment.compare_calibrations import compare_calibrations
from distfreeuq.assessment.result import AssessmentResult
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.result import BinningResult
from distfreeuq.calibration.classwise_temperature import (
    ClasswiseTemperatureResult,
    classwise_temperature_scaling,
)
from distfreeuq.calibration.groupwise import groupwise_calibration
from distfreeuq.calibration.groupwise_result import GroupwiseResult
from distfreeuq.calibration.isotonic import IsotonicResult, isotonic_calibration
from distfreeuq.calibration.logits import to_logits
from distfreeuq.calibration.platt import PlattResult, platt_scaling
from distfreeuq.calibration.temperature import TemperatureResult, temperature_scaling
from distfreeuq.calibration.vector import VectorResult, vector_scaling
from distfreeuq.conformal.covariate_shift import covariate_shift_conformal
from distfreeuq.conformal.coverage import CoverageResult
from distfreeuq.conformal.label_conditional import label_conditional_conformal
from distfreeuq.conformal.label_shift import label_shift_conformal
from distfreeuq.conformal.result import ConformalResult
from distfreeuq.conformal.scores import (
    APS,
    LAC,
    RAPS,
    SAPS,
    Margin,
    Rank,
    nested_scores,
)
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.split import split_conformal
from distfreeuq.conformal.thresholds import conformal_thresholds
from distfreeuq.covariate_shift.calibration import covariate_shift_calibration
from distfreeuq.covariate_shift.calibration_result import (
    CovariateShiftCalibrationResult,
)
from distfreeuq.covariate_shift.density_ratio import density_ratio
from distfreeuq.covariate_shift.feature_learning import indistinguishable_features
from distfreeuq.covariate_shift.feature_map import FeatureMapResult
from distfreeuq.covariate_shift.result import DensityRatioResult
from distfreeuq.exceptions import (
    DistFreeError,
    DistFreeWarning,
    EmptyBinWarning,
    FitAtBoundWarning,
    IdentificationWarning,
    InputError,
    SmallCalibrationWarning,
    SupportWarning,
    TrainingStoppedWarning,
    UnseenGroupWarning,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.black_box import bbse, rlls
from distfreeuq.label_shift.known import label_weights
from distfreeuq.label_shift.mlls import mlls
from distfreeuq.label_shift.regions import Box, Polytope
from distfreeuq.label_shift.result import LabelShiftResult
from distfreeuq.quantiles import weighted_quantile
from distfreeuq.results import load
from distfreeuq.simulation.result import SimulationResult
from distfreeuq.simulation.simulate import simulate
from distfreeuq.threads import get_num_threads, set_num_threads

__all__ = [
    "APS",
    "LAC",
    "RAPS",
    "SAPS",
    "AssessmentResult",
    "BinningResult",
    "Box",
    "CalibrationComparisonResult",
    "ClasswiseTemperatureResult",
    "ComparisonResult",
    "ConformalResult",
    "CovariateShiftCalibrationResult",
    "CoverageResult",
    "DensityRatioResult",
    "DistFreeError",
    "DistFreeWarning",
    "EmptyBinWarning",
    "FeatureMapResult",
    "FitAtBoundWarning",
    "GroupwiseResult",
    "Guarantee",
    "IdentificationWarning",
    "InputError",
    "IsotonicResult",
    "LabelShiftResult",
    "Margin",
    "NoGuarantee",
    "PlattResult",
    "Polytope",
    "PredictionSets",
    "Rank",
    "SimulationResult",
    "SmallCalibrationWarning",
    "SupportWarning",
    "TemperatureResult",
    "TrainingStoppedWarning",
    "UnseenGroupWarning",
    "VectorResult",
    "__version__",
    "assess",
    "bbse",
    "bounds",
    "classwise_temperature_scaling",
    "compare",
    "compare_calibrations",
    "conformal_thresholds",
    "covariate_shift_calibration",
    "covariate_shift_conformal",
    "density_ratio",
    "get_num_threads",
    "groupwise_calibration",
    "histogram_binning",
    "indistinguishable_features",
    "isotonic_calibration",
    "label_conditional_conformal",
    "label_shift_conformal",
    "label_weights",
    "load",
    "metrics",
    "mlls",
    "nested_scores",
    "platt_scaling",
    "rlls",
    "scenarios",
    "set_num_threads",
    "simulate",
    "split_conformal",
    "temperature_scaling",
    "to_logits",
    "vector_scaling",
    "weighted_quantile",
]


def __getattr__(name: str) -> Any:
    """Import figures and theorems when they are asked for: few programs need them."""
    if name in ("plots", "theorems"):
        return import_module(f"distfreeuq.{name}")
    raise AttributeError(f"module 'distfreeuq' has no attribute {name!r}")
