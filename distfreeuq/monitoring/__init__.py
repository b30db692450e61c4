"""What happens after deployment: performance without labels, streams watched."""

from distfreeuq.monitoring.performance import PerformanceResult, target_performance
from distfreeuq.monitoring.streams import ShiftMonitor, shift_monitor

__all__ = ["PerformanceResult", "ShiftMonitor", "shift_monitor", "target_performance"]
