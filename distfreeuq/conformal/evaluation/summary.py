"""The printed table of several methods' coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, interval, lower, number
from distfreeuq.conformal.evaluation.results import (
    how_it_holds,
    promised_coverage,
    worst_class,
)
from distfreeuq.guarantees import NoGuarantee

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.conformal.evaluation.results import CoverageTable

_READS = (
    "a promise holds where what it needs does: sets without a correction promise "
    "nothing of rows that have shifted."
)


def summarize_coverage_table(result: CoverageTable) -> Summary:
    """Return a line per method; below, what each promise is and what it needs."""
    first = result.achieved[0]
    level = f"{100 * first.level:g}%"
    facts = [("Rows", str(first.n)), ("Classes", str(len(first.classes)))]
    if first.blocks is not None:
        facts.append(("Blocks", str(first.blocks)))
    rows = [
        [
            name,
            number(one.coverage, 3) if one.n else "-",
            interval(float(one.interval[0]), float(one.interval[1]), digits=3),
            number(one.mean_size, 2) if one.n else "-",
            number(worst_class(one), 3) if one.n else "-",
            _promise(promised_coverage(claim)),
            how_it_holds(claim),
        ]
        for name, one, claim in zip(
            result.methods, result.achieved, result.promised, strict=True
        )
    ]
    headers = ["method", "coverage", f"{level} interval", "size", "worst class"]
    table = Table([*headers, "promised", "holds"], rows)
    promises = [
        (
            f"{name}: nothing, as {claim.reason}"
            if isinstance(claim, NoGuarantee)
            else f"{name}: {claim.statement} It needs: {claim.assumptions[0]}; ..."
        )
        for name, claim in zip(result.methods, result.promised, strict=True)
    ]
    notes = [("Reads", _READS), *(("Promised", promise) for promise in promises)]
    notes += printing.guarantee_notes(result.guarantee)
    title = "Coverage of several methods' prediction sets"
    return printing.summarize(title, facts, [table], notes)


def _promise(coverage: float) -> str:
    return "-" if np.isnan(coverage) else lower(coverage, 3)
