"""The theorems behind `shift_monitor`: exact p-values, and few false alarms."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.monitoring.streams.line_p_values import join_line
from distfreeuq.monitoring.streams.shift_monitoring import shift_monitor
from distfreeuq.monitoring.streams.wealth import FAMILIES, first_wealth
from distfreeuq.references import (
    SCORE_ELSEWHERE,
    STREAM_EXCHANGEABLE,
    VILLE_1939,
    VOVK_2003,
)
from distfreeuq.theorems.draws import stream_designs
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import Experiment, Theorem

ALPHA = 0.1
SOURCE, STREAM = 30, 250
FAMILY = "streams"
KINDS = ("continuous", "discrete", "constant")


def scores(generator: np.random.Generator, kind: str, n: int) -> FloatArray:
    """Return scores of one law: without ties, with many, or all alike."""
    if kind == "continuous":
        return generator.normal(size=n)
    if kind == "discrete":
        return generator.choice(3, size=n, p=[0.6, 0.3, 0.1]).astype(float)
    return np.zeros(n)


# ----------------------------------------------------------------------------- p-values


def p_values(
    generator: np.random.Generator, n_draws: int, *, kind: str, defect: str = ""
) -> dict[str, BoolArray]:
    """Return events of the p-values of three rows that join four others."""
    found = np.empty((n_draws, 3))
    for i in range(n_draws):
        cells = np.searchsorted(_EDGES, scores(generator, kind, 7)).astype(np.int32)
        uniforms = generator.random(3)
        if defect == "no ties broken":
            uniforms[:] = 1.0 - 2.0**-53
        line = np.bincount(cells[:4], minlength=_EDGES.size + 1)
        if defect == "fixed sample":
            each = [join_line(line, cells[j : j + 1], uniforms[:1]) for j in (4, 5, 6)]
            found[i] = [p[0] for _, p, _ in each]
        else:
            found[i] = join_line(line, cells[4:], uniforms)[1]
    first, second, third = found.T
    return {
        "first": first <= 0.3,
        "last": third <= 0.7,
        "two": (first <= 0.4) & (third <= 0.4),
        "three": (first > 0.5) & (second > 0.5) & (third > 0.5),
    }


_EDGES = np.linspace(-3.0, 3.0, 255)

UNIFORM = (
    Claim("first", equals=0.3, tolerance=0.03),
    Claim("last", equals=0.7, tolerance=0.03),
    Claim("two", equals=0.16, tolerance=0.03),
    Claim("three", equals=0.125, tolerance=0.03),
)

P_VALUES = Theorem(
    name="stream-p-values",
    title="P-values of a growing line are independent and uniform",
    reference=f"{VOVK_2003}: p-values (theory page, 11.1)",
    statement=(
        "The p-values of rows that join a line of exchangeable rows one by one are "
        "independent and uniform on (0, 1), with ties or without."
    ),
    assumptions=(STREAM_EXCHANGEABLE, SCORE_ELSEWHERE),
    family=FAMILY,
    experiments=tuple(
        Experiment(f"{kind} scores", partial(p_values, kind=kind), UNIFORM, 2000)
        for kind in KINDS
    ),
    controls=(
        Experiment(
            "against a fixed sample",
            partial(p_values, kind="continuous", defect="fixed sample"),
            UNIFORM,
            2000,
        ),
        Experiment(
            "ties not broken",
            partial(p_values, kind="discrete", defect="no ties broken"),
            UNIFORM,
            2000,
        ),
    ),
    designs=stream_designs.line_designs,
)


# ------------------------------------------------------------------------------- alarms


def watched(
    generator: np.random.Generator, n_draws: int, *, kind: str, sort: bool = False
) -> dict[str, BoolArray]:
    """Return whether a monitor of rows that never move ever raised an alarm.

    With `sort` each batch is turned round, an order chosen without looking.
    """
    alarms = np.empty(n_draws, dtype=np.bool_)
    probs: FloatMatrix = np.full((SOURCE + STREAM, 2), 0.5)
    for i in range(n_draws):
        features = scores(generator, kind, SOURCE + STREAM)[:, None]
        monitor = shift_monitor(
            probs[:SOURCE],
            score=0,
            features=features[:SOURCE],
            alpha=ALPHA,
            rng=generator,
        )
        batch = features[SOURCE:][::-1] if sort else features[SOURCE:]
        alarms[i] = monitor.update(probs[SOURCE:], features=batch).alarm
    return {"alarm": alarms}


def trapped(
    generator: np.random.Generator, n_draws: int, *, trap: str
) -> dict[str, BoolArray]:
    """Return whether capital ever reached 1/alpha where something is broken."""
    bets = {"fixed": _fixed_sample, "scores": _seen_scores, "hash": _hashed_ties}[trap]
    reached = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        reached[i] = bets(generator) >= -math.log(ALPHA)
    return {"alarm": reached}


def _largest(p: FloatArray, q: FloatArray) -> float:
    return float(first_wealth(FAMILIES, 2).after(p, q, 0)[1].max())


def _fixed_sample(generator: np.random.Generator) -> float:
    """Return the largest capital on p-values against the source rows alone."""
    source, stream = generator.random(SOURCE), generator.random(STREAM)
    above = (source > stream[:, None]).sum(axis=1)
    p = (above + generator.random(STREAM)) / (SOURCE + 1)
    return _largest(p, 1.0 - p)


def _seen_scores(generator: np.random.Generator) -> float:
    """Return the largest capital of bets on the gaps between past scores.

    A new uniform score falls into a gap with the probability of its length, and its
    p-value is then in the gap's own of t equal intervals.
    """
    line = np.sort(generator.random(SOURCE))
    capital, largest = 0.0, 0.0
    for score in generator.random(50):
        place = np.searchsorted(line, score)
        gaps = np.diff(line, prepend=0.0, append=1.0)
        capital += math.log(gaps.size * gaps[place])
        largest = max(largest, capital)
        line = np.insert(line, place, score)
    return largest


def _hashed_ties(generator: np.random.Generator) -> float:
    """Return the largest capital where equal rows break their ties in the same way."""
    cells = generator.choice(3, size=SOURCE + STREAM, p=[0.6, 0.3, 0.1])
    line = np.bincount(cells[:SOURCE], minlength=3)
    rest = cells[SOURCE:].astype(np.int32)
    _, p, q = join_line(line, rest, generator.random(3)[rest])
    return _largest(p, q)


RARE = (Claim("alarm", at_most=ALPHA, tolerance=0.03),)

ALARMS = Theorem(
    name="stream-alarms",
    title="A monitor ever raises a false alarm with probability at most alpha",
    reference=f"{VILLE_1939}: bets on them (theory page, 11.2)",
    statement="P(the e-value ever reaches 1/alpha) <= alpha while nothing has moved.",
    assumptions=(STREAM_EXCHANGEABLE, SCORE_ELSEWHERE),
    family=FAMILY,
    experiments=(
        *(
            Experiment(f"{kind} scores", partial(watched, kind=kind), RARE, 500)
            for kind in KINDS
        ),
        Experiment(
            "batches turned round",
            partial(watched, kind="continuous", sort=True),
            RARE,
            500,
        ),
    ),
    controls=(
        Experiment(
            "p-values against a fixed sample", partial(trapped, trap="fixed"), RARE, 500
        ),
        Experiment(
            "bets that see past scores", partial(trapped, trap="scores"), RARE, 500
        ),
        Experiment(
            "ties broken by a hash of the row", partial(trapped, trap="hash"), RARE, 500
        ),
    ),
    designs=stream_designs.alarm_designs,
)

THEOREMS = (P_VALUES, ALARMS)
