"""Figures: the only package that knows matplotlib.

Every function takes `ax` and returns it. Without one it makes a new figure:
``fit.plot().figure.savefig("fit.png")`` works anywhere. If pyplot has been imported,
the figure is pyplot's, so that ``plt.savefig`` and ``plt.show`` know it, or pyplot's
current Axes if nothing is drawn on them yet; pyplot is not imported here.
"""

from distfreeuq.plots.assessment_figures import (
    calibration_comparison,
    metric_comparison,
    reliability_diagram,
)
from distfreeuq.plots.binning_figures import reliability_bins
from distfreeuq.plots.calibration_figures import (
    calibration_parameters,
    isotonic_curves,
    reliability_change,
)
from distfreeuq.plots.comparison_figures import (
    class_comparison,
    reliability_band,
    reliability_curves,
)
from distfreeuq.plots.conformal_figures import (
    calibration_scores,
    class_coverage,
    coverage_against_alpha,
    coverage_against_rows,
    coverage_by_method,
    fold_scores,
    grouped_scores,
    prediction_regions,
    set_sizes,
)
from distfreeuq.plots.feature_figures import feature_learning_losses
from distfreeuq.plots.label_shift_figures import label_shift_weights
from distfreeuq.plots.monitor_figures import monitor_wealth, running_risk
from distfreeuq.plots.performance_figures import performance_intervals
from distfreeuq.plots.simulation_figures import (
    bounds_against_n,
    coverage_histogram,
    excess_risk,
    loss_curves,
    replicate_histogram,
)
from distfreeuq.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GREEN,
    LINES,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    new_axes,
)
from distfreeuq.plots.tally_figures import tallied_rows
from distfreeuq.plots.theorem_figures import search_designs, theorem_checks
from distfreeuq.plots.weight_figures import (
    density_ratio_weights,
    importance_weights,
    weights_over_runs,
)

__all__ = [
    "BLUE",
    "CYCLE",
    "GRAY",
    "GREEN",
    "LINES",
    "ORANGE",
    "PURPLE",
    "RED",
    "SKY",
    "bounds_against_n",
    "calibration_comparison",
    "calibration_parameters",
    "calibration_scores",
    "class_comparison",
    "class_coverage",
    "coverage_against_alpha",
    "coverage_against_rows",
    "coverage_by_method",
    "coverage_histogram",
    "density_ratio_weights",
    "excess_risk",
    "feature_learning_losses",
    "fold_scores",
    "grouped_scores",
    "importance_weights",
    "isotonic_curves",
    "label_shift_weights",
    "loss_curves",
    "metric_comparison",
    "monitor_wealth",
    "new_axes",
    "performance_intervals",
    "prediction_regions",
    "reliability_band",
    "reliability_bins",
    "reliability_change",
    "reliability_curves",
    "reliability_diagram",
    "replicate_histogram",
    "running_risk",
    "search_designs",
    "set_sizes",
    "tallied_rows",
    "theorem_checks",
    "weights_over_runs",
]
