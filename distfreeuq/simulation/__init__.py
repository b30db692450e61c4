"""Simulation studies: many replicates of anything, seeded one by one, and resumable."""

from distfreeuq.simulation.results import SimulationResult
from distfreeuq.simulation.runner import simulate

__all__ = [
    "SimulationResult",
    "simulate",
]
