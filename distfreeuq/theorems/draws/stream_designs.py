"""Designs of streams: rows in every order they may come in, means after every row.

Given a multiset of scores, every order of exchangeable rows is equally likely, and a
p-value is uniform on an interval between multiples of 1/t: probabilities of p-values
are finite sums. So are those of totals of binary rows, row after row.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from scipy import stats

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix
from distfreeuq.monitoring.risk.risk_tracking import risk_monitor
from distfreeuq.monitoring.running_means import log_evidence_above
from distfreeuq.monitoring.streams.line_p_values import join_line
from distfreeuq.monitoring.streams.shift_monitoring import shift_monitor
from distfreeuq.monitoring.streams.wealth import FAMILIES, first_wealth
from distfreeuq.theorems.draws.set_designs import ROUNDING
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.designs import Design

_CELLS = 8


def random_cells(generator: np.random.Generator, n: int) -> tuple[int, ...]:
    """Return scores by cell: all different, with atoms, or constant."""
    kind = generator.integers(3)
    if kind == 0:
        return tuple(int(cell) for cell in generator.permutation(_CELLS)[:n])
    several = 1 if kind == 1 else int(generator.integers(2, 4))
    return tuple(int(cell) for cell in generator.integers(several, size=n))


# ----------------------------------------------------------------------------- p-values


def all_small(
    *, scores: tuple[int, ...], n_source: int, levels: FloatArray, fixed: bool = False
) -> float:
    """Return P(p_1 <= a_1, p_2 <= a_2, ...) over the orders of the rows.

    Broken: p-values of rows that do not join the line, which stays `fixed`.
    """
    orders = set(permutations(scores))
    total = 0.0
    for order in orders:
        cells = np.array(order, dtype=np.int32)
        line = np.bincount(cells[:n_source], minlength=_CELLS)
        low, high = (_p_values(line, cells[n_source:], u, fixed) for u in (0.25, 0.75))
        width = 2.0 * (high - low)
        shares = (levels - (low - 0.25 * width)) / width
        total += float(np.prod(np.clip(shares, 0.0, 1.0)))
    return total / len(orders)


def _p_values(line: Any, cells: Any, u: float, fixed: bool) -> FloatArray:
    uniforms = np.full(cells.size, u)
    if not fixed:
        return join_line(line, cells, uniforms)[1]
    singly = np.split(cells, cells.size)
    return np.concatenate([join_line(line, one, uniforms[:1])[1] for one in singly])


def line_designs(generator: np.random.Generator, *, fixed: bool = False) -> Design:
    """Return up to six rows, and one side of the probability of small p-values."""
    n = int(generator.integers(2, 7))
    n_source = int(generator.integers(1, n))
    settings: dict[str, Any] = {
        "scores": random_cells(generator, n),
        "n_source": n_source,
        "levels": np.round(generator.uniform(0.05, 0.95, n - n_source), 3),
    }
    exact = float(np.prod(settings["levels"]))
    claim = Claim("all small", at_most=min(1.0, exact + ROUNDING))
    if generator.random() < 0.5:
        claim = Claim("all small", at_least=max(0.0, exact - ROUNDING))
    return Design(
        settings, claim, probability=partial(all_small, fixed=fixed, **settings)
    )


# ------------------------------------------------------------------------------- alarms


def ever_alarmed(
    generator: np.random.Generator,
    n_draws: int,
    *,
    values: FloatArray,
    masses: FloatArray,
    n_source: int,
    n_stream: int,
    bets: tuple[str, ...],
    alpha: float,
    fixed: bool = False,
) -> dict[str, BoolArray]:
    """Watch rows that never move; without values, they are normal.

    Broken: bets on p-values against the source alone, with `fixed`.
    """
    n = n_source + n_stream
    probs: FloatMatrix = np.full((n, 2), 0.5)
    alarms = np.empty(n_draws, dtype=np.bool_)
    for i in range(n_draws):
        rows = generator.normal(size=n)
        if values.size:
            rows = generator.choice(values, size=n, p=masses)
        source, stream = rows[:n_source], rows[n_source:]
        if fixed:
            above = (source > stream[:, None]).sum(axis=1)
            tied = 1 + (source == stream[:, None]).sum(axis=1)
            p = (above + generator.random(n_stream) * tied) / (n_source + 1)
            capital = first_wealth(bets, 2).after(p, 1.0 - p, 0)[1]
            alarms[i] = capital.max() >= -math.log(alpha)
            continue
        monitor = shift_monitor(
            probs[:n_source],
            score=0,
            features=source[:, None],
            alpha=alpha,
            bets=bets,
            rng=generator,
        )
        stop = int(generator.integers(n_stream + 1))
        for part in (stream[:stop], stream[stop:]):
            monitor.update(probs[: part.size], features=part[:, None])
        alarms[i] = monitor.alarm
    return {"alarm": alarms}


def alarm_designs(generator: np.random.Generator, *, fixed: bool = False) -> Design:
    """Return a law with atoms or without, a source, a stream and some of the bets."""
    values = np.round(generator.normal(size=int(generator.integers(0, 5))), 2)
    chosen = generator.random(len(FAMILIES)) < 0.5
    bets = tuple(name for name, one in zip(FAMILIES, chosen, strict=True) if one)
    settings: dict[str, Any] = {
        "values": values,
        "masses": generator.dirichlet(np.ones(values.size)) if values.size else values,
        "n_source": int(generator.choice([1, 5, 30])),
        "n_stream": int(generator.choice([20, 100, 300])),
        "bets": bets or FAMILIES,
        "alpha": float(generator.choice([0.05, 0.2, 0.5])),
    }
    return Design(
        settings,
        Claim("alarm", at_most=settings["alpha"]),
        draw=partial(ever_alarmed, fixed=fixed, **settings),
    )


# -------------------------------------------------------------------------------- means


def ever_outside(
    *, first: float, second: float, change: int, n: int, alpha: float, factor: float = 1
) -> float:
    """Return P(the running mean of binary rows is outside after any of n rows).

    The mean is `first` in `change` rows, and `second` in those that come after them.
    Broken: evidence times `factor`.
    """
    inside, outside = np.ones(1), 0.0
    most = -math.log(0.5 * alpha * factor)
    for rows in range(1, n + 1):
        mean = first if rows <= change else second
        average = (min(rows, change) * first + max(rows - change, 0) * second) / rows
        inside = np.append(inside * (1.0 - mean), 0.0) + np.append(0.0, inside * mean)
        totals = np.arange(rows + 1.0)
        above = log_evidence_above(totals, 0.0, rows, average, True)
        below = log_evidence_above(rows - totals, 0.0, rows, 1.0 - average, True)
        beyond = np.maximum(above, below) >= most
        outside += float(inside[beyond].sum())
        inside[beyond] = 0.0
    return outside


def mean_designs(generator: np.random.Generator, *, factor: float = 1.0) -> Design:
    """Return means, also such near an end, a time of change and up to 400 rows."""
    n = int(generator.choice([5, 50, 400]))
    settings: dict[str, Any] = {
        "first": float(np.round(generator.beta(0.5, 0.5), 4)),
        "second": float(np.round(generator.beta(0.5, 0.5), 4)),
        "change": int(generator.integers(n + 1)),
        "n": n,
        "alpha": float(np.round(generator.uniform(0.01, 0.9), 3)),
    }
    return Design(
        settings,
        Claim("outside", at_most=min(1.0, settings["alpha"] + ROUNDING)),
        probability=partial(ever_outside, factor=factor, **settings),
    )


# ------------------------------------------------------------------------------- risks


def limit_of_source(errors: int, rows: int, tolerance: float, alpha: float) -> float:
    """Return what a monitor lets the running risk be, after errors of the source."""
    labels = np.zeros(rows, dtype=np.int64)
    predicted = (np.arange(rows) < errors) * 1
    monitor = risk_monitor(predicted, labels, tolerance=tolerance, alpha=alpha)
    return float(monitor.limit)


def ever_risky(
    *,
    risk: float,
    first: float,
    change: int,
    rows: int,
    n: int,
    tolerance: float,
    alpha: float,
    bounded: bool = True,
) -> float:
    """Return P(alarm) though the running risk is never above risk + tolerance.

    It is `first` in `change` rows of the stream, and then as large as it may be for the
    mean to keep that limit at the end. Errors of both samples are summed over. Broken:
    the stream is compared with the source's share of errors, which is not `bounded`.
    """
    most = risk + tolerance
    second = min(1.0, (n * most - change * first) / (n - change))
    alarms = 0.0
    masses = stats.binom.pmf(np.arange(rows + 1), rows, risk)
    for errors in np.flatnonzero(masses > 1e-10).tolist():
        limit = errors / rows + tolerance
        if bounded:
            limit = limit_of_source(errors, rows, tolerance, alpha)
        if limit < 1.0:
            found = _ever_above(limit, first, second, change, n, 0.5 * alpha)
            alarms += float(masses[errors]) * found
    return alarms


def _ever_above(
    limit: float, first: float, second: float, change: int, n: int, alpha: float
) -> float:
    """Return P(there is ever evidence that the running mean is above the limit)."""
    inside, outside = np.ones(1), 0.0
    for row in range(1, n + 1):
        mean = first if row <= change else second
        inside = np.append(inside * (1.0 - mean), 0.0) + np.append(0.0, inside * mean)
        evidence = log_evidence_above(np.arange(row + 1.0), 0.0, row, limit, True)
        beyond = evidence >= -math.log(alpha)
        outside += float(inside[beyond].sum())
        inside[beyond] = 0.0
    return outside


def risk_designs(generator: np.random.Generator, *, bounded: bool = True) -> Design:
    """Return a source of few rows, and a stream whose risk may rise late."""
    n = int(generator.choice([5, 30, 120]))
    risk = float(np.round(generator.beta(0.5, 1.0), 4))
    tolerance = float(generator.choice([0.0, 0.0, 0.05]))
    tolerance = min(tolerance, 1.0 - risk)
    settings: dict[str, Any] = {
        "risk": risk,
        "first": float((risk + tolerance) * generator.choice([0.0, 0.5, 1.0])),
        "change": int(generator.integers(n)),
        "rows": int(generator.choice([1, 5, 25])),
        "n": n,
        "tolerance": tolerance,
        "alpha": float(np.round(generator.uniform(0.01, 0.9), 3)),
    }
    return Design(
        settings,
        Claim("alarm", at_most=settings["alpha"]),
        probability=partial(ever_risky, bounded=bounded, **settings),
    )
