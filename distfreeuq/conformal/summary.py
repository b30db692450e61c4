"""The printed tables of conformal fits, prediction sets and measured coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from distfreeuq._base import printing
from distfreeuq._base.printing import Table, class_name, interval, lower, number

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from distfreeuq.conformal.coverage import CoverageResult
    from distfreeuq.conformal.results import ConformalResult
    from distfreeuq.conformal.sets import PredictionSets


def summarize_conformal(
    result: ConformalResult, choice: Sequence[tuple[str, str]] = ()
) -> Summary:
    """Return a row per class, the facts above it, the guarantees below.

    `choice` says which procedure was chosen and why, if one was.
    """
    frame = result.to_frame()
    names = list(frame.columns[1:])
    rows = [
        [
            class_name(row[0]),
            *(_cell(name, x) for name, x in zip(names, row[1:], strict=True)),
        ]
        for row in frame.itertuples(index=False)
    ]
    headers = {"always": "always in the set"}
    table = Table([headers.get(name, name) for name in frame.columns], rows)
    facts = [
        ("Score", result.score.describe(result.randomized)),
        *_uniforms(result),
        ("Miscoverage alpha", result._alpha_text()),
        ("Never empty", "yes" if result.never_empty else "no"),
        ("Calibration rows", str(result.n)),
        ("Classes", str(len(result.classes))),
    ]
    notes = printing.guarantee_notes(result.guarantee)
    notes[1:1] = [("Also", also.statement) for also in result.further]
    notes[:0] = choice
    advice = result._advice()
    if advice is not None and not choice:
        notes.append(("Instead", advice))
    if result.scores is None:
        notes.append(("Rows", _LEFT_OUT))
    notes += _ties(result)
    return printing.summarize(result.title, facts + result._facts(), [table], notes)


def _uniforms(result: ConformalResult) -> list[tuple[str, str]]:
    """Return where the uniforms of randomised scores come from."""
    if not result.randomized:
        return []
    key = result.row_key
    if key is None:
        return [("Uniforms", "drawn")]
    return [("Uniforms", "hash of each id" if key.by_id else "hash of each row")]


def _ties(result: ConformalResult) -> list[tuple[str, str]]:
    """Return how many calibration rows tie because the same rows have one uniform."""
    key = result.row_key
    if key is None or key.by_id or result.scores is None:
        return []
    _, counts = np.unique(result.scores, return_counts=True)
    n_tied = int(counts[counts > 1].sum())
    if n_tied == 0:
        return []
    told = (
        f"{n_tied} calibration rows share their scores with others, so that sets may "
        "be larger than they need be. ids= gives repeated rows uniforms of their own."
    )
    return [("Note", told)]


_LEFT_OUT = (
    "left out when this was saved: p-values, other levels and a figure of the scores "
    "need them; sets do not."
)


def summarize_sets(sets: PredictionSets) -> Summary:
    """Return how large the sets are, and each class's share of them."""
    n, n_classes = sets.mask.shape
    facts = [
        ("Rows", str(n)),
        ("Classes", str(n_classes)),
        ("Nominal coverage", _nominal(sets.nominal)),
        ("Mean set size", number(float(sets.sizes.mean()), 3) if n else "-"),
        ("Empty sets", str(int((sets.sizes == 0).sum()))),
        ("Sets of one label", str(int((sets.sizes == 1).sum()))),
    ]
    counts = sets.mask.sum(axis=0)
    rows = [
        [class_name(name), str(count), number(count / n) if n else "-"]
        for name, count in zip(sets.classes, counts, strict=True)
    ]
    return printing.summarize(
        "Prediction sets",
        facts,
        [Table(["class", "sets with it", "share of rows"], rows)],
        printing.guarantee_notes(sets.guarantee),
    )


def summarize_coverage(result: CoverageResult) -> Summary:
    """Return the coverage of all rows above that of each class and each set size."""
    level = f"{100 * result.level:g}%"
    facts = [
        ("Rows", str(result.n)),
        *([] if result.blocks is None else [("Blocks", str(result.blocks))]),
        ("Coverage", number(result.coverage)),
        (f"{level} interval", interval(*result.interval)),
        ("Nominal coverage", _nominal(result.nominal)),
        ("Mean set size", number(result.mean_size, 3)),
        ("Empty sets", str(result.n_empty)),
        ("Macro-coverage", _or_dash(result.macro_coverage)),
        ("Classes below nominal", _or_dash(result.share_below)),
    ]
    frame = result.to_frame()

    def rows(stratum: str) -> list[list[str]]:
        part = frame[frame["stratum"] == stratum]
        columns = (part[name].tolist() for name in part.columns[1:7])
        return [
            [class_name(value), str(n)]
            + ([number(share), interval(low, high)] if n else ["-", "-"])
            for value, n, _, share, low, high in zip(*columns, strict=True)
        ]

    headers = ["n", "coverage", f"{level} interval"]
    return printing.summarize(
        "Coverage of prediction sets",
        facts,
        [
            Table(["true class", *headers], rows("class")),
            Table(["set size", *headers], rows("size")),
            Table(["group", *headers], rows("group")),
        ],
        printing.guarantee_notes(result.guarantee),
    )


def _cell(name: str, value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if name.endswith(">=") and isinstance(value, float):
        return lower(value)
    return number(value) if isinstance(value, float) else str(value)


def _or_dash(share: float) -> str:
    return "-" if np.isnan(share) else number(share)


def _nominal(coverage: float | None) -> str:
    return "not known" if coverage is None else lower(coverage)
