"""Performance of a classifier on target rows without labels."""

from distfreeuq.monitoring.performance.results import PerformanceResult
from distfreeuq.monitoring.performance.unlabelled_target import target_performance

__all__ = ["PerformanceResult", "target_performance"]
