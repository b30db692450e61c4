"""Figures: the only package that knows matplotlib.

Every function takes `ax` and returns it; without one it makes a new figure that belongs
to nobody's pyplot state, so that ``fit.plot().figure.savefig("fit.png")`` works anywhere.
"""

from distfreeuq.plots.binning import reliability_bins
from distfreeuq.plots.calibration import (
    calibration_parameters,
    isotonic_curves,
    reliability_change,
)
from distfreeuq.plots.conformal import (
    calibration_scores,
    class_coverage,
    coverage_by_method,
    set_sizes,
)
from distfreeuq.plots.label_shift import label_shift_weights
from distfreeuq.plots.simulation import coverage_histogram, excess_risk
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    LINES,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    new_axes,
)

__all__ = [
    "BLUE",
    "CYCLE",
    "GREEN",
    "GREY",
    "LINES",
    "ORANGE",
    "PURPLE",
    "RED",
    "SKY",
    "calibration_parameters",
    "calibration_scores",
    "class_coverage",
    "coverage_by_method",
    "coverage_histogram",
    "excess_risk",
    "isotonic_curves",
    "label_shift_weights",
    "new_axes",
    "reliability_bins",
    "reliability_change",
    "set_sizes",
]
