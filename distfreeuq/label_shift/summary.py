"""The printed table of a label-shift estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, interval, number

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.label_shift.results import LabelShiftResult

_TITLES = {
    "BBSE": "Label shift by black-box shift estimation (BBSE)",
    "soft BBSE": "Label shift by black-box shift estimation (soft BBSE)",
    "RLLS": "Label shift by regularised learning (RLLS)",
    "soft RLLS": "Label shift by regularised learning (soft RLLS)",
    "MLLS": "Label shift by maximum likelihood (MLLS)",
    "known": "Label shift with known priors",
}

_INTERVALS = {
    "asymptotic": "each by itself, asymptotic (delta method)",
    "finite-sample": "all at once, in finite samples (the weights are not identified)",
}


def summarize_label_shift(result: LabelShiftResult) -> Summary:
    """Return a row per class, the facts above it, notes and guarantee below."""
    method = result._table_method()
    notes = [("Note", note) for note in result.notes]
    headers = ["class", "source prior", "target prior", "weight", "std. err."]
    frame = result.to_frame()
    columns = ["source_prior", "target_prior", "weight", "std_err"]
    rows = [
        [
            class_name(name),
            *(_or_dash(value) for value in estimates),
            interval(low, high),
        ]
        for name, estimates, (low, high) in zip(
            result.classes,
            frame[columns].to_numpy(),
            frame[["low", "high"]].to_numpy(),
            strict=True,
        )
    ]
    if not result.known:
        notes.insert(0, ("Intervals", f"{_INTERVALS[method]}."))
    return printing.summarise(
        _TITLES[result.method],
        _facts(result),
        [Table([*headers, "95% interval"], rows)],
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _facts(result: LabelShiftResult) -> list[tuple[str, str]]:
    identified = result.solution is not None
    facts = [("Classes", str(len(result.classes)))]
    kappa = number(result.kappa, 2) if identified else "-"
    if result.known:
        return [*facts, ("Largest / smallest weight", kappa)]
    ess = f"{result.ess:.1f}" if identified else "-"
    facts += [
        ("Source rows n", str(result.n)),
        ("Target rows m", str(result.m)),
        ("Effective sample size", ess),
        ("Largest / smallest weight", kappa),
        ("Condition number", number(result.condition_number, 2)),
        ("No-shift test, p-value", _p_value(result.test().p_value)),
    ]
    if result.regularization is not None:
        facts.append(("Regularisation", f"{result.regularization:.4g}"))
    if result.method == "MLLS":
        facts.append(("Source prior from", result.prior_from))
    if result.calibration is not None:
        slope = result.calibration.slope
        facts.append(("BCTS temperature", number(1.0 / slope if slope else np.inf)))
    return facts


def _or_dash(value: float) -> str:
    return "-" if np.isnan(value) else number(value)


def _p_value(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
