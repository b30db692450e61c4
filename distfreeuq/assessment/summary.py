"""The printed assessment of one classifier, and the comparison of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, interval, number
from distfreeuq.assessment.measures import BIASED
from distfreeuq.metrics.titles import TITLES

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.assessment.results import AssessmentResult, ComparisonResult

_CLASS_HEADERS = ("rows", "predicted", "confidence", "accuracy", "ECE", "class-wise")


def summarize_assessment(result: AssessmentResult) -> Summary:
    """Return metrics, classes, the test, and what it guarantees."""
    return printing.summarise(
        "Assessment of probabilities",
        _facts(result),
        [_metric_table(result), _class_table(result)],
        [*_notes(result), *printing.guarantee_notes(result.guarantee)],
    )


def _facts(result: AssessmentResult) -> list[tuple[str, str]]:
    facts = [
        ("Rows", str(result.n)),
        ("Classes", str(len(result.classes))),
        ("Bins", str(result.reliability.n_bins)),
    ]
    if result.ess < result.n:
        facts.append(("Effective sample size", f"{result.ess:.1f}"))
    if result.test is not None:
        facts += [
            ("Test of calibration, p-value", f"{result.test.p_value:.4g}"),
            ("ECE if calibrated, mean", f"{result.test.null_mean:.4f}"),
        ]
    return facts


def _metric_table(result: AssessmentResult) -> Table:
    headers = ["metric", "estimate"]
    if result.n_boot:
        level = f"{100 * result.confidence:g}%"
        headers += ["bias-corrected", f"{level} interval"]
    rows = []
    for name, *numbers in result.to_frame().itertuples(index=False):
        estimate, corrected, low, high = (float(value) for value in numbers)
        row = [TITLES[name], number(estimate)]
        if result.n_boot:
            row += [number(corrected) if name in BIASED else ""]
            row += [interval(low, high)]
        rows.append(row)
    return Table(headers, rows)


def _class_table(result: AssessmentResult) -> Table:
    rows = [
        [class_name(name), f"{values[0]:.6g}", f"{values[1]:.6g}"]
        + [number(value) if np.isfinite(value) else "-" for value in values[2:]]
        for name, values in zip(result.classes, result.by_class.tolist(), strict=False)
    ]
    return Table(["class", *_CLASS_HEADERS], rows)


def _notes(result: AssessmentResult) -> list[tuple[str, str]]:
    notes = []
    if result.n_boot:
        notes.append(
            (
                "Intervals",
                f"{result.n_boot} bootstrap samples of rows, each interval by "
                "itself, asymptotic. Calibration errors are biased upwards; their "
                "intervals are the basic ones, which take the bias out.",
            )
        )
    if result.near_zero:
        trust = "part of it is noise. "
        if result.n_boot:
            trust = "no interval of a calibration error can be trusted here. "
        advice = "Rely on the test." if result.test else "Ask for the test, n_sim."
        notes.append(
            (
                "Note",
                f"the ECE is not far above the {result.noise:.4f} that noise alone "
                f"gives a calibrated classifier in this sample: {trust}{advice}",
            )
        )
    return notes


def summarize_comparison(result: ComparisonResult) -> Summary:
    """Return metrics by classifier, then the differences to the first."""
    names = [class_name(name) for name in result.names]
    pairs = zip(result.metrics, result.estimates.T, strict=True)
    estimates = [
        [TITLES[metric], *(number(value) for value in column)]
        for metric, column in pairs
    ]
    tables = [Table(["metric", *names], estimates)]
    notes = []
    if result.n_boot:
        tables.append(_difference_table(result, names))
        notes = [
            (
                "Intervals",
                f"{result.n_boot} bootstrap samples of rows, the same for all "
                "classifiers; basic intervals, each by itself, asymptotic.",
            )
        ]
    if result.n_boot and result.near_zero:
        near = " and of ".join(class_name(name) for name in result.near_zero)
        notes.append(
            (
                "Note",
                f"the ECE of {near} is not far above what noise alone gives a "
                "calibrated classifier in this sample: there no interval of a "
                "difference in calibration error can be trusted. Those of Brier "
                "score and likelihood can; assess tests calibration.",
            )
        )
    return printing.summarise(
        "Comparison of classifiers",
        [("Rows", str(result.n)), ("Classifiers", str(len(names)))],
        tables,
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _difference_table(result: ComparisonResult, names: list[str]) -> Table:
    level = f"{100 * result.confidence:g}% interval"
    rows = [
        [
            f"{names[c]}: {TITLES[metric]}",
            number(result.differences[c, j]),
            interval(result.low[c, j], result.high[c, j]),
        ]
        for c in range(1, len(names))
        for j, metric in enumerate(result.metrics)
    ]
    return Table([f"less {names[0]}", "difference", level], rows)
