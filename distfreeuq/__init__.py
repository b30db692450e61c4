"""Distribution-free uncertainty quantification for classifiers under dataset shift."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from distfreeuq import bounds
from distfreeuq._base.containers.returned_kind import in_kind
from distfreeuq._base.persistence import also_look_in as _also_look_in
from distfreeuq._numerics.num_threads import get_num_threads, set_num_threads
from distfreeuq._numerics.quantiles import weighted_quantile
from distfreeuq._version import __version__
from distfreeuq.conformal import (
    APS,
    LAC,
    PAS,
    RAPS,
    SAPS,
    ChosenConformalResult,
    ClusteredConformalResult,
    ConformalResult,
    CovariateShiftConformalResult,
    CoverageResult,
    CoverageTable,
    CrossConformalResult,
    DaskPredictionSets,
    GroupedConformalResult,
    InterpolatedConformalResult,
    LabelConditionalConformalResult,
    LabelShiftConformalResult,
    Margin,
    PlanResult,
    PredictionSets,
    Rank,
    RankCalibratedConformalResult,
    SplitConformalResult,
    clustered_conformal,
    conformal_thresholds,
    covariate_shift_conformal,
    coverage_table,
    cross_conformal,
    interpolated_conformal,
    label_conditional_conformal,
    label_shift_conformal,
    nested_scores,
    plan,
    prediction_sets,
    rank_calibrated_conformal,
    split_conformal,
)
from distfreeuq.density_ratios import DensityRatioResult, density_ratio
from distfreeuq.exceptions import (
    DistFreeError,
    DistFreeWarning,
    EmptyBinWarning,
    FitAtBoundWarning,
    IdentificationWarning,
    InputError,
    LikelyMistakeWarning,
    RowsOnEdgesWarning,
    SmallCalibrationWarning,
    SupportWarning,
    TrainingStoppedWarning,
    UnseenGroupWarning,
)
from distfreeuq.guarantees import Guarantee, NoGuarantee
from distfreeuq.label_shift import (
    Box,
    GoodnessOfFitTest,
    LabelShiftResult,
    Polytope,
    ShiftTest,
    bbse,
    label_weights,
    mlls,
    rlls,
)
from distfreeuq.results import load

__all__ = [
    "APS",
    "LAC",
    "PAS",
    "RAPS",
    "SAPS",
    "AssessmentResult",
    "BetaResult",
    "BinnedResult",
    "BinningResult",
    "Box",
    "CalibrationChoiceResult",
    "CalibrationComparisonResult",
    "CalibrationResult",
    "CalibrationTest",
    "CanonicalBinning",
    "ChosenConformalResult",
    "ClassBundles",
    "ClasswiseBinning",
    "ClasswiseTemperatureResult",
    "ClusteredConformalResult",
    "ComparisonResult",
    "ConformalResult",
    "CovariateShiftCalibrationResult",
    "CovariateShiftConformalResult",
    "CoverageResult",
    "CoverageTable",
    "CrossConformalResult",
    "DaskPredictionSets",
    "DecisionCalibrationResult",
    "DecisionEvaluation",
    "DensityRatioResult",
    "DirichletResult",
    "DistFreeError",
    "DistFreeWarning",
    "EmptyBinWarning",
    "FeatureMapResult",
    "FitAtBoundWarning",
    "GoodnessOfFitTest",
    "GroupedConformalResult",
    "GroupwiseResult",
    "Guarantee",
    "IdentificationWarning",
    "InputError",
    "InterpolatedConformalResult",
    "IsotonicResult",
    "LabelConditionalConformalResult",
    "LabelShiftConformalResult",
    "LabelShiftResult",
    "LikelyMistakeWarning",
    "Margin",
    "NoGuarantee",
    "OwnCalibrationResult",
    "PerformanceResult",
    "PlanResult",
    "PlattResult",
    "Polytope",
    "PredictionSets",
    "Rank",
    "RankCalibratedConformalResult",
    "ReliabilityBand",
    "ReliabilityTable",
    "Report",
    "RiskMonitor",
    "RowsOnEdgesWarning",
    "ScalingBinningResult",
    "ShiftMonitor",
    "ShiftTest",
    "SimulationResult",
    "SmallCalibrationWarning",
    "SplitConformalResult",
    "SupportWarning",
    "Tally",
    "TemperatureResult",
    "TopLabelBinning",
    "TrainingStoppedWarning",
    "UnseenGroupWarning",
    "VectorResult",
    "VennAbersResult",
    "__version__",
    "assess",
    "bbse",
    "beta_calibration",
    "bounds",
    "choose_calibration",
    "class_bundles",
    "classwise_temperature_scaling",
    "clustered_conformal",
    "compare",
    "compare_calibrations",
    "conformal_thresholds",
    "covariate_shift_calibration",
    "covariate_shift_conformal",
    "coverage_table",
    "cross_conformal",
    "decision_calibration",
    "density_ratio",
    "dirichlet_scaling",
    "get_num_threads",
    "groupwise_calibration",
    "histogram_binning",
    "in_kind",
    "indistinguishable_features",
    "interpolated_conformal",
    "isotonic_calibration",
    "label_conditional_conformal",
    "label_shift_conformal",
    "label_weights",
    "load",
    "metrics",
    "mlls",
    "nested_scores",
    "plan",
    "platt_scaling",
    "plots",
    "prediction_sets",
    "rank_calibrated_conformal",
    "report",
    "risk_monitor",
    "rlls",
    "scaling_binning",
    "scenarios",
    "set_num_threads",
    "shift_monitor",
    "simulate",
    "split_conformal",
    "tally",
    "target_performance",
    "temperature_scaling",
    "theorems",
    "to_logits",
    "vector_scaling",
    "venn_abers",
    "weighted_quantile",
]


# Rooms that few programs need are imported when one of their names is asked for; each
# has its classes registered then, and `load` looks in them last.
_LATER = {
    "distfreeuq.assessment": (
        "AssessmentResult",
        "CalibrationComparisonResult",
        "CalibrationTest",
        "ComparisonResult",
        "assess",
        "compare",
        "compare_calibrations",
    ),
    "distfreeuq.binning": (
        "BinningResult",
        "CanonicalBinning",
        "ClasswiseBinning",
        "TopLabelBinning",
        "histogram_binning",
    ),
    "distfreeuq.calibration": (
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
    ),
    "distfreeuq.covariate_shift": (
        "CalibrationChoiceResult",
        "CovariateShiftCalibrationResult",
        "DecisionCalibrationResult",
        "DecisionEvaluation",
        "choose_calibration",
        "covariate_shift_calibration",
        "decision_calibration",
    ),
    "distfreeuq.feature_learning": (
        "FeatureMapResult",
        "indistinguishable_features",
    ),
    "distfreeuq.monitoring": (
        "PerformanceResult",
        "RiskMonitor",
        "ShiftMonitor",
        "risk_monitor",
        "shift_monitor",
        "target_performance",
    ),
    "distfreeuq.reporting": (
        "Report",
        "report",
    ),
    "distfreeuq.simulation": (
        "SimulationResult",
        "simulate",
    ),
    "distfreeuq.tallies": (
        "Tally",
        "tally",
    ),
    "distfreeuq.metrics": ("ReliabilityBand", "ReliabilityTable"),
    "distfreeuq.plots": (),
    "distfreeuq.scenarios": (),
    "distfreeuq.theorems": (),
}
_HOMES = {name: room for room, names in _LATER.items() for name in names}
for _room in _LATER:
    _also_look_in(_room)

if TYPE_CHECKING:
    from distfreeuq import estimators as estimators
    from distfreeuq import metrics, plots, scenarios, theorems
    from distfreeuq.assessment import (
        AssessmentResult,
        CalibrationComparisonResult,
        CalibrationTest,
        ComparisonResult,
        assess,
        compare,
        compare_calibrations,
    )
    from distfreeuq.binning import (
        BinningResult,
        CanonicalBinning,
        ClasswiseBinning,
        TopLabelBinning,
        histogram_binning,
    )
    from distfreeuq.calibration import (
        BetaResult,
        BinnedResult,
        CalibrationResult,
        ClassBundles,
        ClasswiseTemperatureResult,
        DirichletResult,
        GroupwiseResult,
        IsotonicResult,
        OwnCalibrationResult,
        PlattResult,
        ScalingBinningResult,
        TemperatureResult,
        VectorResult,
        VennAbersResult,
        beta_calibration,
        class_bundles,
        classwise_temperature_scaling,
        dirichlet_scaling,
        groupwise_calibration,
        isotonic_calibration,
        platt_scaling,
        scaling_binning,
        temperature_scaling,
        to_logits,
        vector_scaling,
        venn_abers,
    )
    from distfreeuq.covariate_shift import (
        CalibrationChoiceResult,
        CovariateShiftCalibrationResult,
        DecisionCalibrationResult,
        DecisionEvaluation,
        choose_calibration,
        covariate_shift_calibration,
        decision_calibration,
    )
    from distfreeuq.feature_learning import FeatureMapResult, indistinguishable_features
    from distfreeuq.metrics import ReliabilityBand, ReliabilityTable
    from distfreeuq.monitoring import (
        PerformanceResult,
        RiskMonitor,
        ShiftMonitor,
        risk_monitor,
        shift_monitor,
        target_performance,
    )
    from distfreeuq.reporting import Report, report
    from distfreeuq.simulation import SimulationResult, simulate
    from distfreeuq.tallies import Tally, tally
else:

    def __getattr__(name: str) -> _Any:
        """Import what is not needed for sets and weights when it is asked for."""
        if name in _HOMES:
            found = getattr(_import_module(_HOMES[name]), name)
        elif f"distfreeuq.{name}" in _LATER or name == "estimators":
            found = _import_module(f"distfreeuq.{name}")
        else:
            raise AttributeError(f"module 'distfreeuq' has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """Return all names, those that are imported when asked for included."""
    return sorted({*globals(), *__all__})
