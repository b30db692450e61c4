"""The printed assessment of one classifier, and the comparison of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.array_types import FloatArray
from distfreeuq._base.printing import Note, Table, class_name, interval, number
from distfreeuq.assessment.interval_rules import (
    ERRORS,
    MIN_EVENTS,
    NEAR_ZERO,
    WITHOUT_INTERVAL,
)
from distfreeuq.assessment.measures import BIASED
from distfreeuq.guarantees import Guarantee, at_most
from distfreeuq.metrics.titles import TITLES

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.assessment.results import (
        AssessmentResult,
        CalibrationTest,
        ComparisonResult,
    )

_CLASS_HEADERS = ("rows", "predicted", "confidence", "accuracy", "ECE", "class-wise")
_DASH = "-"


def summarize_assessment(result: AssessmentResult) -> Summary:
    """Return metrics, classes, the test, and what it guarantees."""
    return printing.summarize(
        "Assessment of probabilities",
        _facts(result),
        [_metric_table(result), _class_table(result), _group_table(result)],
        [*_notes(result), *printing.guarantee_notes(result.guarantee)],
    )


def _facts(result: AssessmentResult) -> list[tuple[str, str]]:
    facts = [
        ("Rows", str(result.n)),
        ("Classes", str(len(result.classes))),
        ("Bins", str(result.reliability.n_bins)),
    ]
    if not math.isnan(result.smooth_ece):
        facts.append(("Smooth ECE, without bins", f"{result.smooth_ece:.4f}"))
    if result.ess < result.n:
        facts.append(("Effective sample size", f"{result.ess:.1f}"))
    if result.test is not None:
        given = isinstance(result.guarantee, Guarantee)
        facts += [
            ("Test of calibration, p-value", _p_value(result.test) if given else _DASH),
            ("ECE if calibrated, mean", f"{result.test.null_mean:.4f}"),
        ]
    return facts


def _p_value(test: CalibrationTest) -> str:
    """Return the p-value; more simulations might lower it if none was as large."""
    if test.p_value > 1.0 / (test.n_sim + 1):
        return f"{test.p_value:.4g}"
    # a bound is rounded up, here in its fourth digit
    zeros = -math.floor(math.log10(test.p_value)) - 1
    return f"<= {at_most(test.p_value, 4 + zeros)}"


def _metric_table(result: AssessmentResult) -> Table:
    headers = ["metric", "estimate"]
    if result.n_boot:
        level = f"{100 * result.level:g}%"
        headers += ["bias-corrected", f"{level} interval"]
    rows = []
    for name, *numbers in result.to_frame().itertuples(index=False):
        estimate, corrected, low, high = (float(value) for value in numbers)
        row = [TITLES[name], number(estimate)]
        if result.n_boot:
            no_interval = name in WITHOUT_INTERVAL
            no_bias = no_interval and name != "classwise_ece"
            shown = "" if name not in BIASED else _DASH
            row += [shown if no_bias or not shown else _or_dash(corrected)]
            row += [_DASH if no_interval else interval(low, high)]
        rows.append(row)
    return Table(headers, rows)


def _or_dash(value: float) -> str:
    return _DASH if np.isnan(value) else number(value)


def _class_table(result: AssessmentResult) -> Table:
    rows = [
        [class_name(name), f"{values[0]:.6g}", f"{values[1]:.6g}"]
        + [number(value) if np.isfinite(value) else _DASH for value in values[2:]]
        for name, values in zip(result.classes, result.by_class.tolist(), strict=False)
    ]
    return Table(["class", *_CLASS_HEADERS], rows)


def _group_table(result: AssessmentResult) -> Table:
    rows = [
        [class_name(name), f"{values[0]:.6g}"]
        + [number(value) if np.isfinite(value) else _DASH for value in values[1:]]
        for name, values in zip(result.groups, result.by_group.tolist(), strict=True)
    ]
    headers = ["group", "rows", "confidence", "accuracy", "ECE", "ECE by noise alone"]
    return Table(headers, rows)


def _notes(result: AssessmentResult) -> list[Note]:
    notes = []
    if result.n_boot:
        exact = " With unequal weights intervals may cover less than they say."
        if result.ess == result.n:
            exact = f" That of {TITLES[result.metrics[0]]} is exact (Clopper-Pearson)."
        notes.append(
            (
                "Intervals",
                f"{result.n_boot} bootstrap samples of rows, each interval by itself, "
                "approximate. Calibration errors are biased upwards; their intervals "
                f"are about the corrected values.{exact}",
            )
        )
        low = np.where(np.isfinite(result.estimates), result.low, 0.0)
        missing = _missing(result.metrics, low)
        none = _no_intervals(result.metrics)
        if missing - ERRORS:
            none += [_FEW]
        elif result.near_zero and missing & ERRORS:
            none += ["for other calibration errors, because the ECE is so small here"]
        elif missing:
            none += ["for the over-confident ECE, because it is so small here"]
        none += _infinite(result.estimates)
        notes.append(("No interval", "; ".join(none) + "."))
    if result.near_zero:
        notes.append(("Note", _small_error(result)))
    if "max_ece" in result.metrics and len(result.by_class):
        notes += _thin_classes(result)
    return notes


_FEW = (
    f"for scores and errors with fewer than {MIN_EVENTS} wrong rows (or right ones; "
    "effective ones with weights), because intervals from so few cover too seldom"
)


def _no_intervals(metrics: Sequence[str]) -> list[str]:
    """Return the sentence about metrics that never have one."""
    titles = [TITLES[name] for name in metrics if name in WITHOUT_INTERVAL]
    if not titles:
        return []
    these = ", ".join(titles)
    return [f"for {these}, because bootstrap intervals of these cover too seldom"]


def _missing(metrics: Sequence[str], low: FloatArray) -> frozenset[str]:
    """Return the metrics without interval that could have one."""
    pairs = zip(metrics, np.isnan(low).tolist(), strict=True)
    return frozenset(name for name, missing in pairs if missing) - WITHOUT_INTERVAL


def _small_error(result: AssessmentResult) -> str:
    """Return what an ECE near that of noise alone allows to say."""
    times = result["ece"] / result.noise if result.noise > 0.0 else 0.0
    much = (
        f"the ECE is {times:.2g} times the {result.noise:.4f} that a calibrated "
        "classifier has on average in a sample like this: part of it is noise"
    )
    if result.n_boot:
        much += f", and below {NEAR_ZERO:g} times no interval of it is known to cover"
    if result.test is None:
        return f"{much}. Ask for the test, n_sim."
    if not isinstance(result.guarantee, Guarantee):
        return f"{much}."
    return f"{much}. The test tells whether all of it may be."


def _thin_classes(result: AssessmentResult) -> list[Note]:
    """Say so if the largest ECE of a class rests on few predicted rows."""
    errors = result.by_class[:, 4]
    worst = int(np.nanargmax(errors))
    rows = float(result.by_class[worst, 1])
    if result.ess < result.n or rows >= MIN_EVENTS:
        return []
    name = class_name(result.classes[worst])
    many = "one row" if rows == 1 else f"{rows:.0f} rows"
    return [("max-ECE", f"that of {name}, which is predicted in {many} only.")]


def _infinite(values: FloatArray) -> list[str]:
    if np.isfinite(values).all():
        return []
    return ["for infinite likelihoods: some label was given probability zero"]


def summarize_comparison(result: ComparisonResult) -> Summary:
    """Return metrics by classifier, then the differences to the first."""
    names = [class_name(name) for name in result.names]
    pairs = zip(result.metrics, result.estimates.T, strict=True)
    estimates = [
        [TITLES[metric], *(number(value) for value in column)]
        for metric, column in pairs
    ]
    tables = [Table(["metric", *names], estimates)]
    notes: list[Note] = []
    if result.n_boot:
        tables.append(_difference_table(result, names))
        notes = [
            (
                "Intervals",
                f"{result.n_boot} bootstrap samples of rows, the same for all "
                "classifiers; basic intervals, each by itself, approximate.",
            ),
            *_comparison_notes(result),
        ]
    return printing.summarize(
        "Comparison of classifiers",
        [("Rows", str(result.n)), ("Classifiers", str(len(names)))],
        tables,
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _comparison_notes(result: ComparisonResult) -> list[Note]:
    """Say which intervals there are not, and why."""
    finite = np.isfinite(result.differences)
    missing: frozenset[str] = frozenset()
    for low, some in zip(result.low[1:], finite[1:], strict=True):
        missing |= _missing(result.metrics, np.where(some, low, 0.0))
    reasons = _no_intervals(result.metrics)
    if missing - ERRORS - {"accuracy", "frequency"}:
        reasons.append(_FEW)
    if "accuracy" in missing:
        reasons.append(
            f"for accuracy, where fewer than {MIN_EVENTS} rows are right for one "
            "classifier and wrong for the other, or wrong for either"
        )
    if "frequency" in missing:
        reasons.append("for the frequency of class 1, which is the same for all")
    notes: list[Note] = []
    if missing == {"overconfident_ece"}:
        reasons.append("for the over-confident ECE, because one of them is so small")
    elif missing & ERRORS and result.near_zero:
        near = " and of ".join(class_name(name) for name in result.near_zero)
        reasons.append(
            f"for calibration errors where either ECE is below {NEAR_ZERO:g} times "
            f"what noise alone gives a calibrated classifier, as that of {near} is"
        )
        notes = [("Note", "assess tests calibration, also where the ECE is small.")]
    reasons += _infinite(result.estimates)
    return [("No interval", "; ".join(reasons) + "."), *notes] if reasons else notes


def _difference_table(result: ComparisonResult, names: list[str]) -> Table:
    level = f"{100 * result.level:g}% interval"
    rows = [
        [
            f"{names[c]}: {TITLES[metric]}",
            _or_dash(result.differences[c, j]),
            _DASH
            if metric in WITHOUT_INTERVAL
            else interval(float(result.low[c, j]), float(result.high[c, j])),
        ]
        for c in range(1, len(names))
        for j, metric in enumerate(result.metrics)
    ]
    return Table([f"less {names[0]}", "difference", level], rows)
