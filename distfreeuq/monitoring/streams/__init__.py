"""Streams of rows, watched with alarms that are false with a stated probability."""

from distfreeuq.monitoring.streams.results import ShiftMonitor
from distfreeuq.monitoring.streams.shift_monitoring import shift_monitor

__all__ = ["ShiftMonitor", "shift_monitor"]
