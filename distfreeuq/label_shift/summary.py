"""The printed table of a label-shift estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.class_labels import name_classes
from distfreeuq._base.printing import Table, class_name, interval, number
from distfreeuq.label_shift.scalings import LogScaling

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.label_shift.inference.hausman_test import HausmanTest
    from distfreeuq.label_shift.inference.shift_test import ShiftTest
    from distfreeuq.label_shift.results import LabelShiftResult
    from distfreeuq.label_shift.scalings import Scaling

_TITLES = {
    "BBSE": "Label shift by black-box shift estimation (BBSE)",
    "soft BBSE": "Label shift by black-box shift estimation (soft BBSE)",
    "RLLS": "Label shift by regularised learning (RLLS)",
    "soft RLLS": "Label shift by regularised learning (soft RLLS)",
    "MLLS": "Label shift by maximum likelihood (MLLS)",
    "known": "Label shift with known priors",
}

_INTERVALS = {
    "asymptotic": "each by itself, asymptotic (score intervals)",
    "finite-sample": "all at once, in finite samples (the weights are not identified)",
}


_LIKELIHOOD = (
    "by maximum likelihood, which needs calibrated probabilities. The standard errors "
    "and intervals are those of moment equations, which do not."
)
_NO_SHIFT = (
    "of equal class proportions, by the predictions; a Monte Carlo test, exact at "
    "every sample size on average over its draws. Other drift may cause a small "
    "p-value too, and is not seen where it leaves the predictions' frequencies as they "
    "are."
)
_LABELS = (
    "of some target rows, taken to be chosen at random: {}each class's share of them "
    "is combined with the {} from the other target rows, with estimated weights of "
    "least variance. The tests and the condition number do not use them."
)
_IN_LIKELIHOOD = "the likelihood has them; for standard errors and intervals "
_LEFT_OUT = (
    "not kept (read in blocks, or left out when saved): the bootstrap, other draws of "
    "the no-shift test and some sets that allow for the weights' errors need them."
)
# The level at which a summary warns.
_REFUTED = 0.01

_MIXTURE = (
    "a test of fit, whatever the proportions: that the target's predicted classes and "
    "confidences are a mixture of those of the source's classes; asymptotic. A small "
    "p-value refutes label shift, and with it all that is below; a large one does not "
    "show it."
)


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
        notes.insert(0, ("Intervals", f"{_INTERVALS[method]}{_unseen(result)}."))
        notes.insert(1, ("No-shift test", _NO_SHIFT))
        notes.insert(2, ("Label shift", _what_fits(result)))
        if result.output_cells is not None:
            notes += _refuted(result.goodness_of_fit().p_value)
    if result._lacks_rows:
        notes.append(("Rows", _LEFT_OUT))
    if result.method == "MLLS":
        notes.insert(0, ("Weights", _LIKELIHOOD))
    if result.labelled is not None:
        what = "", "estimate"
        if result.method == "MLLS":
            what = _IN_LIKELIHOOD, "moment estimate"
        notes.insert(0, ("Labels", _LABELS.format(*what)))
    return printing.summarize(
        _TITLES[result.method],
        _facts(result),
        [Table([*headers, "95% interval"], rows)],
        [*notes, *printing.guarantee_notes(result.guarantee)],
    )


def _unseen(result: LabelShiftResult) -> str:
    """Return what asymptotic intervals know of classes without rows: nothing."""
    absent = np.flatnonzero(result.source_counts == 0)
    if result._table_method() == "finite-sample" or not absent.size:
        return ""
    named = name_classes(result.classes, absent)
    return f"; nothing is taken for granted of {named}, of which there is no source row"


def _labelled(result: LabelShiftResult) -> list[tuple[str, str]]:
    """Return how many target rows have labels, if any has."""
    if result.labelled is None:
        return []
    return [("Labelled target rows", str(result.labelled.r))]


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
        *_labelled(result),
        ("Effective sample size", ess),
        ("Largest / smallest weight", kappa),
        ("Condition number", number(result.condition_number, 2)),
        ("Equal class proportions", _p_value(result.test())),
        ("Label shift", _fits(result)),
    ]
    if result.regularization is not None:
        facts.append(("Regularisation", f"{result.regularization:.4g}"))
    if result.method == "MLLS":
        facts.append(("Source prior from", result.prior_from))
    if result.calibration is not None:
        facts.append(_scales(result.calibration))
    if result.calibration_test is not None:
        fitted = result.calibration
        after = "" if fitted is None else f" after {fitted.name}"
        facts.append((f"Calibration{after}", _p_value(result.calibration_test)))
    return facts


def _scales(fitted: Scaling) -> tuple[str, str]:
    """Return the temperature, or the least and the largest of those of the classes."""
    if isinstance(fitted, LogScaling) and fitted.kind != "ts":
        own = fitted.scale[fitted.present]
        return f"{fitted.name} scales", f"{number(own.min())} to {number(own.max())}"
    slope = fitted.slope
    return f"{fitted.name} temperature", number(1.0 / slope if slope else np.inf)


def _fits(result: LabelShiftResult) -> str:
    """Return the p-value of the goodness of fit, or that there is none."""
    if result.output_cells is None:
        return "not tested"
    test = result.goodness_of_fit()
    if not test.testable:
        return "too few cells"
    return "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"


def _refuted(p_value: float) -> list[tuple[str, str]]:
    """Return a warning if label shift is refuted at the level 0.01."""
    if p_value > _REFUTED:
        return []
    text = (
        f"label shift is refuted at the level {_REFUTED:g}: the target is no mixture "
        "of the source's classes, and neither weights nor intervals mean much."
    )
    return [("Warning", text)]


def _what_fits(result: LabelShiftResult) -> str:
    """Return what the test of fit tells, and what it takes for granted."""
    if result.output_cells is None:
        return "none: no counts by predicted class and confidence are kept."
    absent = np.flatnonzero(result.source_counts == 0)
    given = ""
    if absent.size:
        named = name_classes(result.classes, absent)
        given = f" It takes for granted that the target has no row of {named}."
    return _MIXTURE + given


def _or_dash(value: float) -> str:
    return "-" if np.isnan(value) else number(value)


def _p_value(test: ShiftTest | HausmanTest) -> str:
    """Return the p-value; at the smallest that its draws allow, as a bound."""
    if test.p_value <= test.floor:
        return f"p <= {test.floor:.3g}"
    return "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
