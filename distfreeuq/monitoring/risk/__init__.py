"""Labels that come late: the risk of a stream, and the coverage of its sets."""

from distfreeuq.monitoring.risk.results import RiskMonitor
from distfreeuq.monitoring.risk.risk_tracking import risk_monitor

__all__ = ["RiskMonitor", "risk_monitor"]
