"""The report: sections made of results, and the page that shows them."""

from __future__ import annotations

import html as markup
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from distfreeuq._base import layout
from distfreeuq._base.array_types import FloatMatrix
from distfreeuq._base.files.replacement import replace_file, target_of
from distfreeuq._base.layout import Page

if TYPE_CHECKING:
    import pandas as pd

    from distfreeuq.assessment.results import AssessmentResult
    from distfreeuq.conformal.chosen_sets import ChosenConformalResult
    from distfreeuq.conformal.coverage import CoverageResult
    from distfreeuq.conformal.sets import PredictionSets
    from distfreeuq.label_shift.results import LabelShiftResult
    from distfreeuq.monitoring.performance.results import PerformanceResult


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    name : str
        Its name in links and in JSON.
    title : str
    pages : tuple of Page
        What results print: facts, tables and notes.
    figure : str
        An SVG image, or nothing.
    caption : str
        What the figure shows, or why there is none.
    code : str
        Text to be copied, such as BibTeX.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> made = dfu.report(probs, labels, probs[:20], rng=0)
    >>> made.sections[0].title
    'In short'
    """

    name: str
    title: str
    pages: tuple[Page, ...]
    figure: str = ""
    caption: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """A page on a classifier and its target: what `report` returns.

    Attributes
    ----------
    title : str
    sections : tuple of Section
        All that is printed, in order.
    shift : LabelShiftResult
        The estimated weights, by `mlls`.
    fit : ChosenConformalResult
        The procedure of the prediction sets, and why it was chosen.
    sets : PredictionSets
        Of the target rows.
    probs : ndarray (m, K)
        The target rows' probabilities, recalibrated and adapted to its proportions.
    performance : PerformanceResult
    assessment : AssessmentResult
        Of the source rows.
    coverage : CoverageResult or None
        Of the sets, counted on target rows whose labels are known.
    warnings : tuple of str
        What the procedures warned of.
    html : str
        The page: one file, which loads nothing from elsewhere.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> probs, labels = [[0.8, 0.2], [0.3, 0.7]] * 30, [0, 1] * 30
    >>> made = dfu.report(probs, labels, probs[:20], rng=0)
    >>> made
    <Report n=60 m=20 K=2, 9 sections>
    >>> made.html.startswith("<!doctype html>")
    True
    """

    title: str
    sections: tuple[Section, ...]
    shift: LabelShiftResult
    fit: ChosenConformalResult
    sets: PredictionSets
    probs: FloatMatrix
    performance: PerformanceResult
    assessment: AssessmentResult
    coverage: CoverageResult | None
    warnings: tuple[str, ...]
    html: str
    rows: Any = field(default=None)

    def __repr__(self) -> str:
        """Return one line."""
        n, m, k = self.shift.n, self.shift.m, len(self.shift.classes)
        return f"<Report n={n} m={m} K={k}, {len(self.sections)} sections>"

    def __str__(self) -> str:
        """Return all sections as text."""
        parts = []
        for section in self.sections:
            parts += [layout.as_text(page) for page in section.pages]
            parts += [section.code] if section.code else []
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        # a frame of its own, so that its style does not touch the notebook's
        page = markup.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0">'
            "</iframe>"
        )

    @property
    def bibtex(self) -> str:
        """BibTeX entries of the package, the methods, and all that the report cites."""
        return next(part.code for part in self.sections if part.name == "cite")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per target row: prediction, set, its size, probabilities.

        The index is that of `probs_target`, or the rows' numbers. Labels in a set are
        separated by semicolons or, where class names have them, by another sign.
        """
        from distfreeuq.reporting.target_rows import target_frame

        return target_frame(self.sets, self.probs, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it: texts, numbers, lists.

        Missing numbers are None, infinite ones the texts "inf" and "-inf".
        """
        from distfreeuq.reporting.json_document import as_document

        return as_document(self)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            An existing file is replaced once the new one is whole.
        """
        target = target_of(path, caller="Report.write")
        content = self.html.encode("utf-8")
        replace_file(target, lambda file: _write(file, content))


def _write(file: Any, content: bytes) -> None:
    file.write(content)
