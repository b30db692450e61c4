"""A report on a classifier and its target."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, RandomState
from distfreeuq._base.arrays import describe, read_only
from distfreeuq._base.files.replacement import target_of
from distfreeuq._base.progress import progress_bar
from distfreeuq._numerics.row_blocks import refuse_blocks
from distfreeuq.assessment import assess
from distfreeuq.conformal.chosen_sets import ClaimKind, prediction_sets
from distfreeuq.conformal.scores.nested_score import ScoreLike
from distfreeuq.exceptions import DistFreeWarning
from distfreeuq.label_shift.maximum_likelihood import mlls
from distfreeuq.monitoring import target_performance
from distfreeuq.reporting.data import ReportData, read_report_data
from distfreeuq.reporting.results import Report
from distfreeuq.reporting.sections import Findings, all_sections
from distfreeuq.reporting.summary import as_html

TITLE = "A classifier on its target"
_STEPS = 6


_INSTEAD = (
    "Give arrays of a sample. mlls, prediction_sets and assess take rows in blocks."
)


def report(
    probs: ArrayLike,
    labels: ArrayLike,
    probs_target: ArrayLike,
    *,
    labels_target: ArrayLike | None = None,
    alpha: float = 0.1,
    claim: ClaimKind = "finite-sample",
    confidence: float | None = None,
    score: ScoreLike = "aps",
    never_empty: bool = False,
    classes: ArrayLike | None = None,
    rng: RandomState = None,
    title: str = TITLE,
    path: str | PathLike[str] | None = None,
    progress: bool = False,
) -> Report:
    """Make one page of all that can be said of a classifier's unlabelled target.

    Parameters
    ----------
    probs : array_like (n, K), or (n,) for the probability of class 1
        A classifier's probabilities on source rows that it was not fitted on.
    labels : array_like (n,)
        Integers 0..K-1, or names listed in `classes`.
    probs_target : array_like (m, K)
        The same classifier's probabilities on target rows. The index of a DataFrame
        names the rows in what is written.
    labels_target : array_like (m,), optional
        Labels of target rows, chosen at random; None or NaN where they are not known.
        Those that are known narrow the weights and the expected performance, and count
        the coverage of the sets, which are made without them.
    alpha : float, default 0.1
        Miscoverage level of the prediction sets.
    claim, confidence, score, never_empty
        What is to be promised, as in `prediction_sets`.
    classes : sequence, optional
        Class names by column.
    rng : seed, Generator or None
        For randomised scores. With an integer the same rows give the same page.
    title : str
    path : str or path-like, optional
        Where to write the page. An existing file is replaced once the new one is whole.
    progress : bool, default False
        Show a bar.

    Returns
    -------
    Report
        ``.html`` is the page, ``.to_frame()`` has sets and probabilities of the target
        rows, ``.to_dict()`` all of it for programs; the results themselves are fields.

    Notes
    -----
    The report is about label shift: class proportions may differ between source and
    target, what rows of a class look like may not. It tests equal proportions, and has
    the weights by `mlls`, the sets of `prediction_sets` for that estimate with the
    reason of its choice, probabilities by ``mlls(...).adapt``, `target_performance`,
    and `assess` of the source rows. Every sentence is one that these results print.
    Their warnings are printed there, not raised.

    Examples
    --------
    >>> import distfreeuq as dfu
    >>> toy = dfu.scenarios.three_gaussians()
    >>> x, labels = toy.sample(500, "source", rng=0)
    >>> probs, target = toy.posterior(x), toy.posterior(toy.sample(200, "target")[0])
    >>> made = dfu.report(probs, labels, target, rng=0)
    >>> [section.title for section in made.sections[:3]]
    ['In short', 'Warnings', 'Has anything moved?']
    >>> made.to_frame().columns[:3].tolist()
    ['prediction', 'set', 'size']
    """
    args = Arguments("report")
    refuse_blocks(
        args, {"probs": probs, "labels": labels, "probs_target": probs_target}, _INSTEAD
    )
    if not isinstance(title, str) or not title.strip():
        args.invalid("title", "a text", describe(title))
    shown = args.flag(progress, "progress")
    if path is not None:
        target_of(path, caller="report")  # before any work is done
    data = read_report_data(args, probs, labels, probs_target, labels_target, classes)
    options = {
        "alpha": alpha,
        "claim": claim,
        "confidence": confidence,
        "score": score,
        "never_empty": never_empty,
    }
    made = make_report(data, options, rng, title, shown)
    if path is not None:
        made.write(path)
    return made


def make_report(
    data: ReportData,
    options: dict[str, Any],
    rng: RandomState,
    title: str,
    shown: bool,
    facts: Sequence[tuple[str, str]] = (),
) -> Report:
    """Return the report; `facts` are of the files that the rows were read from."""
    with progress_bar(shown=shown, desc="report", total=_STEPS) as bar:
        found = _find(data, options, rng, bar.update)
        sections = tuple(all_sections(found, facts))
        page = as_html(title, sections)
        bar.update()
    return Report(
        title=title,
        sections=sections,
        shift=found.shift,
        fit=found.fit,
        sets=found.sets,
        probs=found.probs,
        performance=found.performance,
        assessment=found.assessment,
        coverage=found.coverage,
        warnings=found.warnings,
        html=page,
        rows=data.rows,
    )


def _find(
    data: ReportData,
    options: dict[str, Any],
    rng: RandomState,
    update: Callable[[], Any],
) -> Findings:
    """Return the results, and what they warned of."""
    names: Any = data.classes
    of = data.samples
    labels = data.names[of.labels]
    source = of.probs, labels
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        some = data.some_labels()
        shift = mlls(*source, of.probs_target, labels_target=some, classes=names)
        update()
        unseen = shift
        if shift.labelled is not None:  # the labels are to count the sets' coverage
            unseen = mlls(*source, of.probs_target, classes=names)
        fit = prediction_sets(*source, unseen, classes=names, rng=rng, **options)
        sets = fit.predict(of.probs_target)
        update()
        adapted = of.probs_target
        if shift.solution is not None:
            adapted = shift.adapt(of.probs_target)
        performance = target_performance(
            *source, of.probs_target, shift=shift, labels_target=some, classes=names
        )
        update()
        assessment = assess(*source, classes=names, rng=0)
        update()
        coverage = None
        if data.known.any():
            coverage = sets[data.known].evaluate(data.names[data.labels_target])
        update()
    return Findings(
        data=data,
        shift=shift,
        fit=fit,
        sets=sets,
        probs=read_only(np.asarray(adapted)),
        performance=performance,
        assessment=assessment,
        coverage=coverage,
        warnings=_texts(caught),
    )


def _texts(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return the package's own warnings, each once; others are raised again."""
    texts = []
    for one in caught:
        if issubclass(one.category, DistFreeWarning):
            texts.append(str(one.message))
        else:
            warnings.warn_explicit(
                one.message, one.category, one.filename, one.lineno, source=one.source
            )
    return tuple(dict.fromkeys(texts))
