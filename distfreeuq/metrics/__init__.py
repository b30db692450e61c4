"""How good probabilities are: calibration errors and proper scores, weighted or not.

All take ``(probs, labels)``; `reliability` takes confidences and whether they held.
"""

from distfreeuq.metrics.band_results import ReliabilityBand
from distfreeuq.metrics.brier_decomposed import brier_decomposition
from distfreeuq.metrics.calibration_error import (
    average_ece,
    classwise_ece,
    debiased_ece,
    ece,
    max_ece,
    overconfident_ece,
)
from distfreeuq.metrics.monotone_bands import isotonic_band
from distfreeuq.metrics.proper_scores import accuracy, brier_score, mean_confidence, nll
from distfreeuq.metrics.reliability_table import reliability
from distfreeuq.metrics.results import (
    BrierDecomposition,
    L2ErrorInterval,
    ReliabilityTable,
)
from distfreeuq.metrics.smooth_error import smooth_ece
from distfreeuq.metrics.squared_intervals import l2_ece_interval

__all__ = [
    "BrierDecomposition",
    "L2ErrorInterval",
    "ReliabilityBand",
    "ReliabilityTable",
    "accuracy",
    "average_ece",
    "brier_decomposition",
    "brier_score",
    "classwise_ece",
    "debiased_ece",
    "ece",
    "isotonic_band",
    "l2_ece_interval",
    "max_ece",
    "mean_confidence",
    "nll",
    "overconfident_ece",
    "reliability",
    "smooth_ece",
]
