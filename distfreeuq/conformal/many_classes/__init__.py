"""Prediction sets for many and rare classes: between one threshold and one for each."""

from distfreeuq.conformal.many_classes.clustered_sets import (
    ClusteredConformalResult,
    clustered_conformal,
)
from distfreeuq.conformal.many_classes.interpolated_sets import (
    InterpolatedConformalResult,
    interpolated_conformal,
)
from distfreeuq.conformal.many_classes.rank_calibrated_sets import (
    RankCalibratedConformalResult,
    rank_calibrated_conformal,
)

__all__ = [
    "ClusteredConformalResult",
    "InterpolatedConformalResult",
    "RankCalibratedConformalResult",
    "clustered_conformal",
    "interpolated_conformal",
    "rank_calibrated_conformal",
]
