"""Rows of the table for functions as they are used together, and for the command."""

import copy
from typing import Any

import numpy as np

import distfreeuq as dfu
from tests.fuzz import fitted, kinds
from tests.fuzz.entry import Entry
from tests.fuzz.hostile import odd_value, spoiled
from tests.fuzz.judge import difference
from tests.fuzz.kinds import Argument, choice, in_its_own_way, optional, same
from tests.fuzz.report_files import (
    reading_command,
    report_command,
    report_file,
    report_words,
)
from tests.fuzz.samples import HOSTILE, VALID, Sample
from tests.fuzz.table_blocks import BLOCKS


def watched_stream(
    probs: Any,
    labels: Any,
    rows: Any,
    features: Any,
    new_features: Any,
    *,
    score: Any,
    alpha: Any,
    bets: Any,
    cuts: Any,
    classes: Any,
    rng: Any,
) -> Any:
    """Watch rows at once and in pieces, between which the monitor is on file."""
    if isinstance(score, str):  # which are of predictions alone
        features = new_features = None
    begun = dfu.shift_monitor(
        probs, labels, score=score, alpha=alpha, features=features, bets=bets,
        classes=classes, rng=rng,
    )  # fmt: skip
    whole = copy.deepcopy(begun)
    try:
        whole.update(rows, features=new_features)
    except dfu.InputError:
        _same(begun, whole, "refused rows changed the monitor")
        raise
    pieces = copy.deepcopy(begun)
    ends = [*cuts, len(rows)] if len(cuts) else range(1, len(rows) + 1)
    first = 0
    for last in ends:
        some = None if new_features is None else new_features[first:last]
        pieces.update(rows[first:last], features=some)
        first = last
        if pieces.score.function is None and last in (ends[0], ends[-1]):
            pieces = _stored(pieces)
    _same(whole, pieces, "pieces give another monitor than the whole")
    _same(_counted(whole), _counted(pieces), "pieces have other class proportions")
    return whole


def tally_of_text(text: Any) -> Any:
    """Read a tally's text."""
    return dfu.Tally.from_json(text)


def performance_of_estimate(
    probs: Any, labels: Any, probs_target: Any, *, fit: Any, metrics: Any, classes: Any
) -> Any:
    """Estimate the shift from rows, then performance from the same rows."""
    shift = getattr(dfu, fit)(probs, labels, probs_target, classes=classes)
    return dfu.target_performance(
        probs, labels, probs_target, shift=shift, metrics=metrics, classes=classes
    )


def _stored(monitor: Any) -> Any:
    path = fitted.folder() / "monitor.npz"
    monitor.save(path)
    return dfu.load(path)


def _counted(monitor: Any) -> Any:
    try:
        return monitor.target_prior
    except dfu.InputError:
        return None


def _same(one: Any, other: Any, said: str) -> None:
    place = difference(one, other)
    if place is not None:
        raise AssertionError(f"{said}: {place}")


def _spoiled_at_times(s: Sample, array: Any) -> Any:
    spoil = s.spirit == HOSTILE and s.r.random() < 0.3
    return spoiled(array, s.r) if spoil else array


@in_its_own_way
def rows_of_stream(s: Sample) -> Argument:
    return same(_spoiled_at_times(s, s.probs(s.m)))


@in_its_own_way
def features_of_stream(s: Sample) -> Argument:
    rows = s.features(s.m, 0.5) if s.r.random() < 0.5 else None
    return same(None if rows is None else _spoiled_at_times(s, rows))


@in_its_own_way
def cuts(s: Sample) -> Argument:
    """Return where pieces end, or nothing: every row is one."""
    return same(sorted(s.r.randint(0, s.m) for _ in range(s.r.choice((0, 0, 1, 3)))))


@in_its_own_way
def text_of_tally(s: Sample) -> Argument:
    """Return a tally's text, or one with a few pieces that are another's."""
    text = fitted.tally(s).to_json()
    if s.spirit == HOSTILE and s.r.random() < 0.3:
        return same(odd_value(s.r))
    if s.spirit != VALID:
        for _ in range(s.r.choice((1, 1, 3))):
            start = s.r.randrange(len(text))
            piece = s.r.choice(PIECES_OF_JSON)
            text = text[:start] + piece + text[start + s.r.randint(0, 9) :]
    return same(text)


@in_its_own_way
def estimator(s: Sample) -> Argument:
    return same(s.r.choice(("bbse", "rlls", "mlls")))


def _column(features: Any) -> Any:
    return np.asarray(features)[:, 0]


PIECES_OF_JSON = (
    "", "0", "-1", "1e999", "NaN", "null", "true", '"', "{", "}", "[", "]" * 9, ",",
    "[" * 10**5, "9" * 5000, "\ud800", "\0", '"\\ud800"', '"dtype": "O"', "\\",
)  # fmt: skip


COMBINED: dict[str, Entry] = {
    **BLOCKS,
    "watched stream": Entry(
        0.5,
        {
            "labels": optional(kinds.labels),
            "rows": rows_of_stream,
            "features": lambda s: same(s.features(s.n) if s.r.random() < 0.5 else None),
            "new_features": features_of_stream,
            "score": choice(
                "confidence", "class", "class-confidence", "aps", 0, _column
            ),
            "bets": choice("power", ["slope", "histogram"], ("class",), "all"),
            "cuts": cuts,
        },
        call=watched_stream,
        refuses="new_features are the features of update",
    ),
    "tally of a text": Entry(
        0.2,
        {"text": text_of_tally},
        call=tally_of_text,
    ),
    "performance of an estimate": Entry(
        0.1,
        {
            "fit": estimator,
            "metrics": fitted.performance_metrics,
        },
        call=performance_of_estimate,
        heavy=True,
    ),
    "report command": Entry(
        0.01,
        {
            "source": report_file("source"),
            "target": report_file("target"),
            "words": report_words,
        },
        call=report_command,
        heavy=True,
    ),
    "report command, reading": Entry(
        0.4,
        {
            "source": report_file("source"),
            "target": report_file("target"),
            "words": report_words,
        },
        call=reading_command,
        heavy=True,
    ),
}
