"""Prediction sets by group: every group of rows calibrated by itself."""

from distfreeuq.conformal.by_group.results import GroupedConformalResult

__all__ = ["GroupedConformalResult"]
