"""The printed table of sets by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, number

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.conformal.by_group.results import GroupedConformalResult
    from distfreeuq.conformal.results import ConformalResult


def summarize_grouped(result: GroupedConformalResult) -> Summary:
    """Return a row per group: rows, thresholds, and how many classes are always in."""
    one = result.fits[0]
    rows = [
        [class_name(name), str(n), _thresholds(fit), _always(fit)]
        for name, n, fit in zip(result.names, result.counts, result.fits, strict=True)
    ]
    facts = [
        ("Score", one.score.describe(one.randomized)),
        ("Miscoverage alpha", one._alpha_text()),
        ("Calibration rows", str(result.n)),
        ("Groups", str(len(result.names))),
        ("Classes", str(len(one.classes))),
        ("Never empty", "yes" if one.never_empty else "no"),
    ]
    headers = ["group", "n", "threshold", "classes always in the set"]
    return printing.summarize(
        result.title,
        facts,
        [Table(headers, rows)],
        printing.guarantee_notes(result.guarantee),
    )


def _thresholds(fit: ConformalResult) -> str:
    """Return the threshold, or the smallest and the largest finite one."""
    finite = fit.thresholds[np.isfinite(fit.thresholds)]
    if not finite.size:
        return "inf"
    low, high = number(float(finite.min())), number(float(finite.max()))
    return low if low == high else f"{low} to {high}"


def _always(fit: ConformalResult) -> str:
    return str(int(np.isinf(fit.thresholds).sum()))
