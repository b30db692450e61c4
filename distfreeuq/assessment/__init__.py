"""How good are the probabilities, and how sure are we: all metrics at once."""

from distfreeuq.assessment.calibration_results import CalibrationComparisonResult
from distfreeuq.assessment.exact_test import CalibrationTest
from distfreeuq.assessment.one_classifier import assess
from distfreeuq.assessment.results import AssessmentResult
from distfreeuq.assessment.several_calibrations import compare_calibrations
from distfreeuq.assessment.several_classifiers import ComparisonResult, compare

__all__ = [
    "AssessmentResult",
    "CalibrationComparisonResult",
    "CalibrationTest",
    "ComparisonResult",
    "assess",
    "compare",
    "compare_calibrations",
]
