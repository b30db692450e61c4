"""The printed table of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, number

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.simulation.results import SimulationResult

_HEADERS = ("quantity", "n", "mean", "MC error", "sd", "5%", "median", "95%")


def summarize_simulation(result: SimulationResult) -> Summary:
    """Return means, Monte Carlo errors and quantiles, and what was simulated."""
    described = result.describe((0.05, 0.5, 0.95))
    rows = [
        (class_name(row[0]), str(row[1]), *map(number, row[2:]))
        for row in described.itertuples(index=False, name=None)
    ]
    facts = [
        ("Procedure", class_name(result.procedure)),
        ("Replicates", str(result.n_rep)),
        ("Seed", str(result.seed)),
        *((class_name(name), text) for name, text in result.parameters),
    ]
    notes = [
        ("Scenario", f"{result.scenario}."),
        *printing.guarantee_notes(result.guarantee),
    ]
    return printing.summarize("Simulation", facts, [Table(_HEADERS, rows)], notes)
