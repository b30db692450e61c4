"""One page on a classifier and its target, for readers who write no code."""

from distfreeuq.reporting.results import Report, Section
from distfreeuq.reporting.written_report import report

__all__ = ["Report", "Section", "report"]
