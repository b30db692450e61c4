"""The printed tables of decisions' confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, lower, number, upper
from distfreeuq.guarantees import at_most

if TYPE_CHECKING:
    from distfreeuq._base.printing import GuaranteeSummary
    from distfreeuq.covariate_shift.decisions.results import (
        DecisionCalibrationResult,
        DecisionEvaluation,
    )

_LOSSES = {"brier": "Squared error", "nll": "Log loss"}
_TRIVIAL = 0.25
"""Squared calibration error that a confidence of one half never exceeds."""


def summarize_decisions(fit: DecisionCalibrationResult) -> GuaranteeSummary:
    """Return losses, the temperature and what holds."""
    name = _LOSSES[fit.loss]
    facts = [
        ("Calibration rows", str(fit.n)),
        ("Classes", str(len(fit.classes))),
        ("Decisions right", number(fit.accuracy)),
        ("Mean confidence before", number(fit.confidence_before)),
        ("Mean confidence after", number(fit.confidence_after)),
        (f"{name} before", number(fit.loss_before)),
        (f"{name} after", number(fit.loss_after)),
    ]
    if fit.weights_of != "none":
        facts.append(("Effective sample size", number(fit.effective_n, 1)))
        facts.append(("Weights", fit.weights_of))
    if fit.offset > 0.0:
        facts.append(("Added to weights", f"{fit.offset:g}"))
    if fit.error_bound is not None:
        facts.append(("Squared calibration error", f"<= {at_most(fit.error_bound)}"))
    row = fit.to_frame().iloc[0]
    cells = ["-"] * 5
    if np.isfinite(row["std_err"]):
        cells = [
            number(row["std_err"]),
            number(row["z"], 3),
            f"{row['p_value']:.3f}",
            lower(row["low"]),
            upper(row["high"]),
        ]
    table = Table(
        ["", "coef", "std err", "z (T=1)", "P>|z|", "[0.025", "0.975]"],
        [["temperature", number(fit.temperature), *cells]],
    )
    notes = []
    if fit.weights_of != "none":
        text = "they count as fixed"
        if np.isfinite(fit.std_err):
            text += ": the standard error leaves out how they were found"
        text += "."
        notes.append(("Weights", text))
    if fit.n_temperatures:
        text = (
            f"the temperature is one of {fit.n_temperatures} that were fixed in "
            "advance, so that a bound holds for whichever is chosen. The best of all "
            "may be a step away, so that there is no standard error."
        )
        notes.append(("Note", text))
    if fit.at_bound is not None:
        which = {"low": "largest", "high": "smallest"}[fit.at_bound]
        text = f"the {which} temperature allowed: no optimum inside the bounds."
        notes.append(("Note", text))
    return printing.summarize(
        "Confidence in a classifier's decisions, by a temperature",
        facts,
        [table],
        [*notes, *_bound_notes(fit.error_bound), *_holds(fit)],
    )


def summarize_evaluation(result: DecisionEvaluation) -> GuaranteeSummary:
    """Return errors, the bins of the reliability table, and what holds."""
    own = result.reliability.summary().page
    facts = [
        *own.facts,
        ("Mean squared error", number(result.squared_error)),
    ]
    if result.is_weighted:
        facts.append(("Effective sample size", number(result.effective_n, 1)))
    if result.error_bound is not None:
        bound = f"<= {at_most(result.error_bound)}"
        facts.append(("Squared calibration error", bound))
    intervals = [note for note in own.notes if note[0] == "Guarantee"]
    return printing.summarize(
        "Confidence in decisions, on other rows",
        facts,
        list(own.tables),
        [
            *(("Intervals", text) for _, text in intervals),
            *_bound_notes(result.error_bound),
            *_holds(result),
        ],
    )


def _bound_notes(bound: float | None) -> list[tuple[str, str]]:
    """Say what the bound says little of."""
    if bound is None:
        return []
    text = (
        "the squared error is calibration error and the outcomes' own variance; the "
        "bound is of the sum, and cannot fall below the variance."
    )
    if bound >= _TRIVIAL:
        text += (
            " At 0.25 or more it says less than is known of a confidence that is 0.5 "
            "everywhere."
        )
    return [("Bound", text)]


def _holds(
    result: DecisionCalibrationResult | DecisionEvaluation,
) -> list[tuple[str, str]]:
    return list(printing.guarantee_notes(result.guarantee))
