"""Prediction sets by conformal prediction."""

from distfreeuq.conformal.by_group import GroupedConformalResult
from distfreeuq.conformal.chosen_sets import ChosenConformalResult, prediction_sets
from distfreeuq.conformal.covariate_shift_sets import covariate_shift_conformal
from distfreeuq.conformal.coverage import CoverageResult
from distfreeuq.conformal.cross_fitted import CrossConformalResult, cross_conformal
from distfreeuq.conformal.evaluation.results import CoverageTable
from distfreeuq.conformal.evaluation.several_sets import coverage_table
from distfreeuq.conformal.in_blocks.dask_sets import DaskPredictionSets
from distfreeuq.conformal.label_conditional_sets import (
    LabelConditionalConformalResult,
    label_conditional_conformal,
)
from distfreeuq.conformal.label_shift_sets import label_shift_conformal
from distfreeuq.conformal.many_classes import (
    ClusteredConformalResult,
    InterpolatedConformalResult,
    RankCalibratedConformalResult,
    clustered_conformal,
    interpolated_conformal,
    rank_calibrated_conformal,
)
from distfreeuq.conformal.nonconformity import (
    APS,
    LAC,
    RAPS,
    SAPS,
    Margin,
    Rank,
    nested_scores,
)
from distfreeuq.conformal.planning import PlanResult, plan
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.scores.prevalence_adjusted import PAS
from distfreeuq.conformal.sets import PredictionSets
from distfreeuq.conformal.split_sets import SplitConformalResult, split_conformal
from distfreeuq.conformal.thresholds import conformal_thresholds
from distfreeuq.conformal.under_covariate_shift.covariate_shift_fits import (
    CovariateShiftConformalResult,
)
from distfreeuq.conformal.under_label_shift.results import LabelShiftConformalResult

__all__ = [
    "APS",
    "LAC",
    "PAS",
    "RAPS",
    "SAPS",
    "ChosenConformalResult",
    "ClusteredConformalResult",
    "ConformalResult",
    "CovariateShiftConformalResult",
    "CoverageResult",
    "CoverageTable",
    "CrossConformalResult",
    "DaskPredictionSets",
    "GroupedConformalResult",
    "InterpolatedConformalResult",
    "LabelConditionalConformalResult",
    "LabelShiftConformalResult",
    "Margin",
    "PlanResult",
    "PredictionSets",
    "Rank",
    "RankCalibratedConformalResult",
    "SplitConformalResult",
    "clustered_conformal",
    "conformal_thresholds",
    "covariate_shift_conformal",
    "coverage_table",
    "cross_conformal",
    "interpolated_conformal",
    "label_conditional_conformal",
    "label_shift_conformal",
    "nested_scores",
    "plan",
    "prediction_sets",
    "rank_calibrated_conformal",
    "split_conformal",
]
