"""What happens after deployment: performance without labels, streams watched."""

from distfreeuq.monitoring.performance import PerformanceResult, target_performance
from distfreeuq.monitoring.risk import RiskMonitor, risk_monitor
from distfreeuq.monitoring.streams import ShiftMonitor, shift_monitor

__all__ = [
    "PerformanceResult",
    "RiskMonitor",
    "ShiftMonitor",
    "risk_monitor",
    "shift_monitor",
    "target_performance",
]
