"""Distribution-free uncertainty quantification for classifiers under dataset shift."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from distfreeuq import bounds, metrics, scenarios
from distfreeuq._base.persistence import also_look_in as _also_look_in
from distfreeuq._numerics.quantiles import weighted_quantile
from distfreeuq._numerics.threads import get_num_threads, set_num_threads
from distfreeuq._version import __version__
from distfreeuq.assessment.calibration_results import CalibrationComparisonResult
from distfreeuq.assessment.one_classifier import assess
from distfreeuq.assessment.results import AssessmentResult
from distfreeuq.assessment.several_calibrations import compare_calibrations
from distfreeuq.assessment.several_classifiers import ComparisonResult, compare
from distfreeuq.binning.histogram import histogram_binning
from distfreeuq.binning.results import BinningResult
from distfreeuq.calibration.classwise_temperature import (
    ClasswiseTemperatureResult,
    classwise_temperature_scaling,
)
from distfreeuq.calibration.groupwise import groupwise_calibration
from distfreeuq.calibration.groupwise_results import GroupwiseResult
from distfreeuq.calibration.isotonic import IsotonicResult, isotonic_calibration
from distfreeuq.calibration.logits import to_logits
from distfreeuq.calibration.platt import PlattResult, platt_scaling
from distfreeuq.calibration.temperature import TemperatureResult, temperature_scaling
from distfreeuq.calibration.vector import VectorResult, vector_scaling
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.coverage import CoverageResult
from distfreeuq.conformal.label_conditional_sets import label_conditional_conformal
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.nonconformity import (
    APS,
    LAC,
    RAPS,
    SAPS,
    Margin,
    Rank,
    nested_scores,
)
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.split_sets import split_conformal
from distfreeuq.conformal.thresholds import conformal_thresholds
from distfreeuq.covariate_shift.results import (
    CovariateShiftCalibrationResult,
)
from distfreeuq.covariate_shift.weighted_calibration import covariate_shift_calibration
from distfreeuq.density_ratios.estimation import density_ratio
from distfreeuq.density_ratios.results import DensityRatioResult
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
from distfreeuq.feature_learning.learning import indistinguishable_features
from distfreeuq.feature_learning.results import FeatureMapResult
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift.confusion_estimators import bbse, rlls
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.known_priors import label_weights
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.label_shift.results import LabelShiftResult
from distfreeuq.results import load
from distfreeuq.simulation.results import SimulationResult
from distfreeuq.simulation.runner import simulate

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
    "plots",
    "rlls",
    "scenarios",
    "set_num_threads",
    "simulate",
    "split_conformal",
    "temperature_scaling",
    "theorems",
    "to_logits",
    "vector_scaling",
    "weighted_quantile",
]


_also_look_in("distfreeuq.theorems")

if TYPE_CHECKING:
    from distfreeuq import plots, theorems
else:

    def __getattr__(name: str) -> _Any:
        """Import figures and theorems when they are asked for: few programs do."""
        if name in ("plots", "theorems"):
            return _import_module(f"distfreeuq.{name}")
        raise AttributeError(f"module 'distfreeuq' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names, those that are imported when asked for included."""
    return sorted({*globals(), *__all__})
