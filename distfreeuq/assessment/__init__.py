"""How good are the probabilities, and how sure are we: all metrics at once."""

from distfreeuq.assessment.calibration_results import CalibrationComparisonResult
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.assessment.classifier_comparison import compare
from distfreeuq.assessment.results import (
    AssessmentResult,
    CalibrationTest,
    ComparisonResult,
)
from distfreeuq.assessment.several_calibrations import compare_calibrations

__all__ = [
    "AssessmentResult",
    "CalibrationComparisonResult",
    "CalibrationTest",
    "ComparisonResult",
    "assess",
    "compare",
    "compare_calibrations",
]
