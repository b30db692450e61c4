"""Label shift: how often each class occurs in the target, with honest uncertainty."""

from distfreeuq.label_shift.confusion_estimators import bbse, rlls
from distfreeuq.label_shift.inference.goodness_of_fit import GoodnessOfFitTest
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.inference.shift_test import ShiftTest
from distfreeuq.label_shift.known_priors import label_weights
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.label_shift.results import LabelShiftResult

__all__ = [
    "Box",
    "GoodnessOfFitTest",
    "LabelShiftResult",
    "Polytope",
    "ShiftTest",
    "bbse",
    "label_weights",
    "mlls",
    "rlls",
]
