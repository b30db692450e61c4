"""Density ratios: how much likelier each x is in the target than in the source."""

from distfreeuq.density_ratios.estimation import density_ratio
from distfreeuq.density_ratios.results import DensityRatioResult

__all__ = [
    "DensityRatioResult",
    "density_ratio",
]
