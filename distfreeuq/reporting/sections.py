"""The sections of a report, each made of what a result prints.

A section selects facts, tables and notes of summaries, and states nothing of its own:
what is guaranteed, and what it needs, is worded where it is proved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base.layout import Note, Page, Table
from distfreeuq._base.printing import class_name, guarantee_notes, number
from distfreeuq._version import __version__
from distfreeuq.label_shift.linear_solution import invertibility
from distfreeuq.references import (
    ALEXANDARI_2020,
    ANGELOPOULOS_2021,
    HUANG_2024,
    LABELLED_AT_RANDOM,
    ROMANO_2020,
    SADINLE_2019,
    SAERENS_2002,
    cited,
)
from distfreeuq.reporting import guarantees
from distfreeuq.reporting.data import ReportData
from distfreeuq.reporting.inline_figures import inline_svg
from distfreeuq.reporting.results import Section
from distfreeuq.reporting.target_rows import separator

if TYPE_CHECKING:
    from distfreeuq._base.array_types import FloatMatrix
    from distfreeuq.assessment.results import AssessmentResult
    from distfreeuq.conformal.chosen_sets import ChosenConformalResult
    from distfreeuq.conformal.coverage import CoverageResult
    from distfreeuq.conformal.sets import PredictionSets
    from distfreeuq.label_shift.results import LabelShiftResult
    from distfreeuq.monitoring.performance.results import PerformanceResult
    from distfreeuq.results import Result

LEVEL = 0.05
"""At which tests are said to reject."""

MOST_DRAWN = 40
"""Classes, beyond which a figure with a line for each is not drawn."""

# What of an estimate's summary is about tests, not about weights.
_TESTS = ("No-shift test", "Label shift", "Warning")
_P_VALUES = ("Equal class proportions", "Label shift")

# What the words of a section mean, for readers who meet them for the first time.
_WORDS = {
    "overview": (
        "the accuracy is the share of rows whose label is guessed right. A prediction "
        "set is the list of labels that are kept for a row: in the guarantee, C(X) is "
        "this list, Y the row's true label, and P the probability over all rows that "
        "are drawn, the labelled ones too."
    ),
    "tests": (
        "a small p-value says that so large a difference is rare where nothing has "
        "moved."
    ),
    "shift": (
        "a class of weight 2 has twice the share in the target that it has in the "
        "source."
    ),
    "sets": "a prediction set is the list of labels that are kept for a row.",
    "performance": (
        "the column 'source' is counted on labelled rows; 'target' is estimated "
        "without the target's labels."
    ),
    "labelled performance": (
        "the column 'source' is counted on the source rows; 'target' is estimated from "
        "them, the predictions for the target rows, and the labels that some of these "
        "have."
    ),
    "source": (
        "calibrated means that of the rows with confidence .8 four in five are guessed "
        "right. The test is of the confidence in the predicted class, all classes "
        "together. Weights need probabilities that are right for every class, which is "
        "what is tested there."
    ),
}

_WITHOUT_LABELS = (
    "made without the labels of target rows, so that these can judge them. Estimated "
    "weights are those from predictions alone, and differ from the ones above."
)

_HARDLY_TOLD = (
    "the classifier hardly tells some classes apart: the target's class proportions, "
    "weights and probabilities made with them may be far off, as wide intervals say."
)

_NOT_CALIBRATED = (
    "the classifier's probabilities are not calibrated, nor does the recalibration on "
    "the source rows make them so: estimated proportions, weights and probabilities "
    "made with them may be off. Intervals and prediction sets need no calibration."
)
_REFUTED = 0.01
"""The level at which calibration is said to be refuted."""

_OF_SCORES = {
    "aps": ROMANO_2020,
    "lac": SADINLE_2019,
    "raps": ANGELOPOULOS_2021,
    "saps": HUANG_2024,
}
"""Who scores are from."""

OWN_BIBTEX = f"""@software{{distfreeuq,
  author = {{{{The distfreeuq developers}}}},
  title = {{distfreeuq: distribution-free uncertainty quantification for classifiers
    under dataset shift}},
  version = {{{__version__}}},
}}"""

_COUNTED = f"{LABELLED_AT_RANDOM}."


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The results that a report is made of."""

    data: ReportData
    shift: LabelShiftResult
    fit: ChosenConformalResult
    sets: PredictionSets
    probs: FloatMatrix
    performance: PerformanceResult
    assessment: AssessmentResult
    coverage: CoverageResult | None
    warnings: tuple[str, ...]


def all_sections(found: Findings, facts: Sequence[tuple[str, str]]) -> list[Section]:
    """Return the sections in the order of the page; `facts` are of the files read."""
    parts = [
        warnings_section(found),
        tests_section(found.shift),
        weights_section(found.shift),
        sets_section(found.fit, found.sets, judged=found.shift.labelled is not None),
        *coverage_sections(found.coverage),
        probabilities_section(found),
        performance_section(
            found.performance, labelled=found.data.some_labels() is not None
        ),
        source_section(found),
    ]
    parts.insert(0, overview_section(parts, facts))
    code = citations(parts, methods_of(found))
    notes = [("Theory page", "is part of this package's documentation.")]
    page = Page("How to cite", (), (), notes)
    return [*parts, Section("cite", "How to cite", (page,), code=code)]


def citations(sections: Iterable[Section], methods: Iterable[str] = ()) -> str:
    """Return BibTeX entries of this package, the methods and what the sections name."""
    text = "\n".join(
        [
            *(
                note
                for part in sections
                for page in part.pages
                for _, note in page.notes
            ),
            *methods,
        ]
    )
    return "\n\n".join([OWN_BIBTEX, *(one.bibtex for one in cited(text))])


def methods_of(found: Findings) -> list[str]:
    """Return who the estimator, its calibration and the score are from."""
    shift = found.shift
    names = [SAERENS_2002]
    if shift.calibration is not None:
        names.append(ALEXANDARI_2020)
    own = _OF_SCORES.get(found.fit.fit.score.name)
    return names if own is None else [*names, own]


def overview_section(
    parts: Sequence[Section], facts: Sequence[tuple[str, str]]
) -> Section:
    """Return the chief numbers of the other sections, and the sets' guarantee."""
    pages = {part.name: part.pages for part in parts}
    chosen, sizes = pages["sets"]
    first = pages["performance"][0].tables[0]
    line = dict(zip(first.headers, first.rows[0], strict=True))
    metric = line.pop("metric")
    numbers = [
        *_pick(pages["shift"][0].facts, ("Source rows n", "Target rows m", "Classes")),
        *pages["tests"][0].facts,
        *((f"{metric}: {name}".capitalize(), value) for name, value in line.items()),
        *_pick(sizes.facts, ("Mean set size", "Sets of one label", "Empty sets")),
        *facts,
    ]
    notes = [
        ("In words", _WORDS["overview"]),
        *((name, text) for name, text in pages["warnings"][0].notes),
        *((name, text) for name, text in pages["tests"][0].notes if name == "Verdict"),
        *_select(chosen.notes, ("Chosen", "Because", "Guarantee", "Needs", "By")),
    ]
    return Section("overview", "In short", (Page("In short", numbers, (), notes),))


def warnings_section(found: Findings) -> Section:
    """Return what the procedures warned of, and label shift if it is refuted."""
    notes = list(_select(found.shift.summary().page.notes, ("Warning",)))
    confusion = found.shift.confusion
    if confusion is not None and invertibility(confusion).weak:
        notes.append(("Warning", _HARDLY_TOLD))
    test = found.shift.calibration_test
    if test is not None and test.p_value <= _REFUTED:
        notes.append(("Warning", _NOT_CALIBRATED))
    notes += [("Warning", text) for text in found.warnings]
    page = Page("Warnings", (), (), notes or [("Warnings", "none were given.")])
    return Section("warnings", "Warnings", (page,))


def tests_section(shift: LabelShiftResult) -> Section:
    """Return the tests of an estimate: what they ask, p-values, verdicts."""
    page = shift.summary().page
    facts = _pick(page.facts, _P_VALUES)
    notes = [
        _in_words("tests"),
        *_select(page.notes, _TESTS),
        *(("Verdict", text) for text in _verdicts(shift)),
    ]
    title = "Has anything moved?"
    return Section("tests", title, (Page("Tests", facts, (), notes),))


def _verdicts(shift: LabelShiftResult) -> list[str]:
    """Return what the tests say at their level: of equal proportions, and of fit."""
    rejected = f"rejected at the level {LEVEL:g}"
    equal = f"equal class proportions: {rejected}."
    if shift.test().p_value > LEVEL:
        equal = (
            f"equal class proportions: not {rejected}, which does not show that they "
            "are equal."
        )
    if shift.output_cells is None or not shift.goodness_of_fit().testable:
        return [equal, "label shift: not tested."]
    if shift.goodness_of_fit().p_value > LEVEL:
        return [equal, f"label shift: not {rejected}, which does not show it."]
    return [equal, f"label shift: {rejected}; what follows takes it for granted."]


def weights_section(shift: LabelShiftResult) -> Section:
    """Return the class proportions and weights with their intervals."""
    page = shift.summary().page
    kept = replace(
        page,
        facts=_drop(page.facts, _P_VALUES),
        notes=[_in_words("shift"), *_drop(page.notes, _TESTS)],
    )
    return _drawn("shift", "How far have class proportions moved?", shift, kept)


def sets_section(
    fit: ChosenConformalResult, sets: PredictionSets, *, judged: bool = False
) -> Section:
    """Return the procedure, why it was chosen, its guarantee, and the sets.

    The sets are `judged` where labels of target rows are to count their coverage.
    """
    sizes = sets.summary().page
    between = separator(sets.classes).strip()
    facts = [*sizes.facts, ("Sign between labels in the file", between)]
    page = fit.summary().page
    made = [("Made", _WITHOUT_LABELS)] if judged else []
    page = replace(page, notes=[_in_words("sets"), *made, *page.notes])
    pages = (page, replace(sizes, facts=facts, notes=()))
    figure = inline_svg(sets.plot, "sets")
    caption = "Sizes of the target rows' prediction sets."
    return Section("sets", "Prediction sets", pages, figure, caption)


def coverage_sections(coverage: CoverageResult | None) -> list[Section]:
    """Return the coverage counted on labelled target rows, if there are any."""
    if coverage is None:
        return []
    page = coverage.summary().page
    page = replace(
        page,
        notes=[
            (name, f"{text.removesuffix('.')}; {_COUNTED}" if name == "Needs" else text)
            for name, text in page.notes
        ],
    )
    title = "Coverage counted on labelled target rows"
    if len(coverage.classes) > MOST_DRAWN:
        return [_drawn("coverage", title, coverage, page)]
    figure = inline_svg(lambda: coverage.plot(kind="classes"), "coverage")
    return [Section("coverage", title, (page,), figure)]


def probabilities_section(found: Findings) -> Section:
    """Return what the written probabilities are, and their means."""
    shift, own = found.shift, found.data.samples.probs_target
    made = "the classifier's own."
    claim = guarantees.UNCHANGED
    if shift.solution is not None:
        claim = guarantees.ADAPTED
        first = "the classifier's"
        if shift.calibration is not None:
            first += f", recalibrated on the source rows ({shift.calibration.name})"
        made = f"{first}, times the weights of the classes, divided by the sum."
    means = zip(own.mean(axis=0), found.probs.mean(axis=0), strict=True)
    predicted = np.bincount(found.probs.argmax(axis=1), minlength=own.shape[1])
    rows = [
        [class_name(name), number(float(before)), number(float(after)), str(count)]
        for name, (before, after), count in zip(
            shift.classes, means, predicted.tolist(), strict=True
        )
    ]
    headers = ["class", "mean, classifier", "mean, written", "rows predicted so"]
    notes = [("Probabilities", made), *guarantee_notes(claim)]
    table = Table(headers, rows)
    page = Page("Probabilities of the target rows", (), (table,), notes)
    return Section("probabilities", "Calibrated probabilities", (page,))


def performance_section(
    result: PerformanceResult, *, labelled: bool = False
) -> Section:
    """Return the expected performance; of many classes only averages are drawn."""
    page = result.summary().page
    words = "labelled performance" if labelled else "performance"
    page = replace(page, notes=[_in_words(words), *page.notes])
    whole = np.flatnonzero(result.row_class < 0)
    shown = result
    caption = ""
    if len(result.metrics) > MOST_DRAWN:
        shown = _rows_of(result, whole)
        caption = "Numbers of single classes are in the table."
    title = "How good is the classifier on the target?"
    return _drawn("performance", title, shown, page, caption)


def _rows_of(result: PerformanceResult, some: Iterable[int]) -> PerformanceResult:
    rows = np.array(list(some), dtype=np.int64)
    return replace(
        result,
        metrics=tuple(result.metrics[i] for i in rows),
        **{
            name: getattr(result, name)[rows]
            for name in (
                *("row_class", "row_predicted", "row_group", "source", "estimates"),
                *("low", "high", "certified_low", "certified_high"),
            )
        },
    )


def source_section(found: Findings) -> Section:
    """Return what the classifier achieved on the source rows."""
    page = found.assessment.summary().page
    page = replace(page, notes=[_in_words("source"), *page.notes])
    return _drawn("source", "The classifier on the source", found.assessment, page)


def _drawn(
    name: str, title: str, result: Result, page: Page, caption: str = ""
) -> Section:
    """Return a section with the result's own figure, unless it had too many lines."""
    n_lines = len(getattr(result, "classes", ())) if name != "performance" else 0
    if n_lines > MOST_DRAWN and name != "source":
        why = f"No figure: {n_lines} classes are more than {MOST_DRAWN}."
        return Section(name, title, (page,), caption=why)
    return Section(name, title, (page,), inline_svg(result.plot, name), caption)


def _in_words(name: str) -> Note:
    return ("In words", _WORDS[name])


# ------------------------------------------------------- parts of what summaries print


def _pick(
    facts: Iterable[tuple[str, str]], names: Collection[str]
) -> list[tuple[str, str]]:
    """Return the facts of these names, or of names that begin so."""
    return [fact for fact in facts if fact[0].startswith(tuple(names))]


def _drop(
    facts: Iterable[tuple[str, str]], names: Collection[str]
) -> list[tuple[str, str]]:
    return [fact for fact in facts if not fact[0].startswith(tuple(names))]


def _select(notes: Iterable[Note], names: Collection[str]) -> list[Note]:
    return [note for note in notes if note[0] in names]
