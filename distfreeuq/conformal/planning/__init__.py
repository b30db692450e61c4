"""How many calibration rows are needed, before there are any."""

from distfreeuq.conformal.planning.results import PlanResult
from distfreeuq.conformal.planning.sample_size import plan

__all__ = ["PlanResult", "plan"]
