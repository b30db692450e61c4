"""The confidence that a given classifier's own decision is right."""

from distfreeuq.covariate_shift.decisions.decision_confidence import (
    decision_calibration,
)
from distfreeuq.covariate_shift.decisions.results import (
    DecisionCalibrationResult,
    DecisionEvaluation,
)

__all__ = [
    "DecisionCalibrationResult",
    "DecisionEvaluation",
    "decision_calibration",
]
