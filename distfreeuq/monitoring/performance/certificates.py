"""Intervals of a mean loss over the target that hold at every sample size.

For every function h of the output, label shift says (theory page, 10.3)

    E_Q l = E_Q h + sum_j q_j E_P[l - h | Y = j].

Given q and h the right side is estimated by one weighted sum of independent bounded
rows, and one exponential inequality bounds its error: no union over classes. The true q
is a fixed number, so that the bound may be maximised over all q below caps that hold
with high probability, at no price for the choice. h is fitted on other rows, such that
the means of l - h hardly differ between classes and q hardly matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import (
    BoolArray,
    BoolMatrix,
    FloatArray,
    FloatMatrix,
    IntArray,
)
from distfreeuq._numerics.blas import on_one_blas_thread
from distfreeuq.label_shift.inference.proportion_caps import PriorCaps, counted_caps
from distfreeuq.monitoring.performance.exponential_bound import (
    bernstein_exponents,
    two_sided_log_term,
)
from distfreeuq.monitoring.performance.indicator_functions import class_means, one_hot

FIT_EVERY = 3
"""One row in so many fits h; the others bound."""

# The part of delta that the caps of the class proportions take.
_CAPS_SHARE = 0.2

# Penalties of h's coefficients that are tried on the rows that fit, after h = 0.
_PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)

# Each class's centre and spread are mixed with those of all classes, as so many rows.
_PSEUDO_ROWS = 10.0

# How near to its pole an exponent may come, as planned; caps may turn out twice as
# large as planned then.
_NEAR_POLE = 0.8
_CAPS_MAY_GROW = 2.0
_SPEEDS = 30


def every_third(n: int) -> BoolArray:
    """Return which of n rows fit h."""
    return every_third_from(np.arange(n))


def every_third_of_class(labels: IntArray) -> BoolArray:
    """Return which rows fit h: every third of each class, in the order given."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    out = np.empty(labels.size, dtype=np.bool_)
    out[order] = every_third_from(np.arange(labels.size) - starts)
    return out


def every_third_from(position: IntArray) -> BoolArray:
    """Return which positions are those of rows that fit h."""
    return np.asarray(position % FIT_EVERY == FIT_EVERY - 1)


@dataclass(frozen=True, slots=True)
class Strata:
    """Sums over the rows: a stratum for each class, and the target's rows as the last.

    Attributes
    ----------
    counts, means : ndarray (K + 1,)
        Rows, and the means of l - h, of h in the last.
    squares : ndarray (K + 1,)
        Sums of squares around the centres.
    centers : ndarray (K + 1,)
        Numbers fixed without these rows.
    low, high : ndarray (K + 1,)
        What the values cannot exceed.
    """

    counts: FloatArray
    means: FloatArray
    squares: FloatArray
    centers: FloatArray
    low: FloatArray
    high: FloatArray

    def reach(self, side: int) -> FloatArray:
        """Return how far values may lie beyond their centre, above it for side 1."""
        return self.high - self.centers if side > 0 else self.centers - self.low

    def end(self, caps: FloatArray, side: int, plan: Plan, log_term: float) -> float:
        """Return a bound from above (side 1) or below (-1) for all q <= caps.

        The exponents are convex in q and zero at zero: each is below its chord up to
        the cap, and the worst q is that of a knapsack. Of classes that are not used no
        more is said than that l - h is bounded.
        """
        speeds, used = np.array([[plan.speed]]), plan.used[None]
        return float(self.ends(caps, side, speeds, used, log_term)[0])

    def ends(
        self,
        caps: FloatArray,
        side: int,
        speeds: FloatMatrix,
        used: BoolMatrix,
        log_term: float,
    ) -> FloatArray:
        """Return the same, (S,), for speeds (S, 1) and the classes (S, K) they use."""
        shares = np.append(caps, 1.0)
        parts = bernstein_exponents(
            shares, self.counts, self.squares, self.reach(side), speeds
        )
        per_share = parts[:, :-1] / np.where(caps > 0.0, caps, 1.0)
        worst = self.high[:-1] if side > 0 else -self.low[:-1]
        bound = side * self.means[:-1] + per_share / speeds
        value = np.where(used, bound, worst)
        rest = side * float(self.means[-1]) + (log_term + parts[:, -1]) / speeds[:, 0]
        return side * (PriorCaps(caps).largest_of_rows(value) + rest)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an end needs that is fixed without the rows that bound.

    Attributes
    ----------
    speed : float
        lambda of the exponential inequality.
    used : ndarray (K,)
        Classes whose rows are used.
    """

    speed: float
    used: BoolArray


def best_plan(
    strata: Strata, caps: FloatArray, side: int, log_term: float
) -> tuple[float, Plan]:
    """Return the smallest end that these sums lead to, and the plan that gives it."""
    rows = np.maximum(strata.counts, 1.0)
    load = strata.reach(side) / rows
    planned = np.minimum(_CAPS_MAY_GROW * caps, 1.0) * load[:-1]
    have = strata.counts[:-1] > 0
    loads = np.append(planned[have], load[-1])
    largest = float(loads.max())
    if largest <= 0.0:
        plan = Plan(1.0, have)
        return side * strata.end(caps, side, plan, log_term), plan
    fastest = _NEAR_POLE / max(float(load[-1]), 1e-3 * largest)
    speeds = np.geomspace(1e-2 * _NEAR_POLE / largest, fastest, _SPEEDS)[:, None]
    used = have & (planned * speeds <= _NEAR_POLE)
    values = side * strata.ends(caps, side, speeds, used, log_term)
    best = int(np.argmin(values))
    if math.isinf(values[best]):
        return math.inf, Plan(_NEAR_POLE / largest, have)
    return float(values[best]), Plan(float(speeds[best, 0]), used[best])


@dataclass(frozen=True, slots=True)
class ShiftRows:
    """Rows of both samples as certificates need them, each with its part.

    Attributes
    ----------
    labels : ndarray (n,)
    fits, fits_target : ndarray (n,) and (m,) of bool
        Which rows fit h.
    outputs : tuple of (ndarray (n, D), ndarray (m, D))
        Functions of the output, rows on the simplex, of which h is a combination.
    caps, planned_caps : ndarray (K,)
        Of the target's class proportions: from all rows, and what the rows that fit
        would have if they were all.
    log_term : float
        ln(2 / the part of delta that the exponential inequality has).
    """

    labels: IntArray
    fits: BoolArray
    fits_target: BoolArray
    outputs: tuple[tuple[FloatMatrix, FloatMatrix], ...]
    caps: FloatArray
    planned_caps: FloatArray
    log_term: float

    @property
    def n_classes(self) -> int:
        """K."""
        return self.caps.size


def shift_rows(
    probs: FloatMatrix,
    labels: IntArray,
    probs_target: FloatMatrix,
    predicted: IntArray,
    predicted_target: IntArray,
    delta: float,
) -> ShiftRows:
    """Return the rows with the caps that hold with probability 1 - a part of delta."""
    k = probs.shape[1]
    fits, fits_target = every_third_of_class(labels), every_third(predicted_target.size)
    spent = _CAPS_SHARE * delta
    return ShiftRows(
        labels,
        fits,
        fits_target,
        (
            (one_hot(predicted, k), one_hot(predicted_target, k)),
            (_on_simplex(probs), _on_simplex(probs_target)),
        ),
        _caps(predicted, labels, predicted_target, k, 1, spent),
        _caps(
            predicted[fits],
            labels[fits],
            predicted_target[fits_target],
            k,
            FIT_EVERY,
            spent,
        ),
        two_sided_log_term(delta - spent),
    )


def _on_simplex(probs: FloatMatrix) -> FloatMatrix:
    """Return rows that sum to one to the last digit: h then keeps to its range."""
    rows = np.asarray(probs, dtype=np.float64)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _caps(
    predicted: IntArray,
    labels: IntArray,
    predicted_target: IntArray,
    n_classes: int,
    times: int,
    delta: float,
) -> FloatArray:
    """Return caps of the proportions, as if each row had occurred so many times."""
    if not (predicted.size and predicted_target.size):
        return np.ones(n_classes)
    counts, right, target = (
        times * np.bincount(rows, minlength=n_classes).astype(np.float64)
        for rows in (labels, labels[predicted == labels], predicted_target)
    )
    m = times * predicted_target.size
    return counted_caps(counts, right, target, m, delta).high


@on_one_blas_thread
def certified_interval(
    losses: FloatArray, low: float, high: float, rows: ShiftRows
) -> tuple[float, float]:
    """Return ends that hold E_Q l with probability 1 - delta, at every sample size.

    Parameters
    ----------
    losses : ndarray (n,)
        In the source rows.
    low, high : float
        What no loss exceeds.
    rows : ShiftRows
    """
    best, chosen = math.inf, None
    first = True
    for source, target in rows.outputs:
        for coefficients in _candidates(losses, source, rows, none=first):
            carried = Carried(losses, source, target, coefficients, low, high)
            guess = carried.planned(rows)
            ends = [
                best_plan(guess, rows.planned_caps, side, rows.log_term)
                for side in (1, -1)
            ]
            width = ends[0][0] + ends[1][0]
            if chosen is None or width < best:
                best, chosen = width, (carried, ends[0][1], ends[1][1])
        first = False
    assert chosen is not None
    carried, above, below = chosen
    strata = carried.strata(rows)
    return (
        max(low, strata.end(rows.caps, -1, below, rows.log_term)),
        min(high, strata.end(rows.caps, 1, above, rows.log_term)),
    )


def _candidates(
    losses: FloatArray, source: FloatMatrix, rows: ShiftRows, *, none: bool
) -> list[FloatArray]:
    """Return coefficients of h: zeros, then ridge solutions of E[h | Y] = E[l | Y]."""
    fit = rows.fits
    n_functions = source.shape[1]
    out: list[FloatArray] = [np.zeros(n_functions)] if none else []
    # of the classes that have rows alone: of many, few may have some
    _, labels = np.unique(rows.labels[fit], return_inverse=True)
    if not labels.size:
        return out
    n_here = int(labels.max()) + 1
    _, design = class_means(source[fit], labels, n_here)
    _, wanted = class_means(losses[fit][:, None], labels, n_here)
    center = float(wanted.mean())
    few = n_here < n_functions  # the same solution from a system by pairs of classes
    gram = (design @ design.T if few else design.T @ design) / n_here
    sought = wanted[:, 0] - center
    moment = sought / n_here if few else design.T @ sought / n_here
    for penalty in _PENALTIES:
        ridge = gram + penalty / n_functions * np.eye(len(gram))
        solved = np.linalg.solve(ridge, moment)
        out.append(center + (design.T @ solved if few else solved))
    return out


@dataclass(frozen=True, slots=True)
class Carried:
    """A loss with its h: l - h in the source rows, h in those of the target."""

    losses: FloatArray
    source: FloatMatrix
    target: FloatMatrix
    coefficients: FloatArray
    low: float
    high: float

    def _ends(self, n_classes: int) -> tuple[FloatArray, FloatArray]:
        least, most = float(self.coefficients.min()), float(self.coefficients.max())
        return (
            np.append(np.full(n_classes, self.low - most), least),
            np.append(np.full(n_classes, self.high - least), most),
        )

    def planned(self, rows: ShiftRows) -> Strata:
        """Return what the rows that fit let one expect of those that bound."""
        k, fit = rows.n_classes, rows.fits
        labels = rows.labels[fit]
        z = self.losses[fit] - self.source[fit] @ self.coefficients
        h = self.target[rows.fits_target] @ self.coefficients
        low, high = self._ends(k)
        centers, spreads = _centers_and_spreads(z, h, labels, k, low, high)
        counts = _counts(rows)
        return Strata(counts, centers, counts * spreads, centers, low, high)

    def strata(self, rows: ShiftRows) -> Strata:
        """Return the sums over the rows that bound."""
        k = rows.n_classes
        centers = self.planned(rows).centers
        labels = rows.labels[~rows.fits]
        z = self.losses[~rows.fits] - self.source[~rows.fits] @ self.coefficients
        h = self.target[~rows.fits_target] @ self.coefficients
        counts = _counts(rows)
        sums = np.append(np.bincount(labels, weights=z, minlength=k), h.sum())
        away = np.square(z - centers[labels])
        squares = np.append(
            np.bincount(labels, weights=away, minlength=k),
            np.square(h - centers[-1]).sum(),
        )
        low, high = self._ends(k)
        return Strata(
            counts, sums / np.maximum(counts, 1.0), squares, centers, low, high
        )


def _counts(rows: ShiftRows) -> FloatArray:
    """Return how many rows bound, by stratum."""
    of_class = np.bincount(rows.labels[~rows.fits], minlength=rows.n_classes)
    return np.append(of_class, (~rows.fits_target).sum()).astype(np.float64)


def _centers_and_spreads(
    z: FloatArray,
    h: FloatArray,
    labels: IntArray,
    n_classes: int,
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return means and mean squares by stratum, those of classes mixed with all's."""
    counts = np.bincount(labels, minlength=n_classes)
    pooled = float(z.mean()) if z.size else float(low[0] + high[0]) / 2.0
    sums = np.bincount(labels, weights=z, minlength=n_classes)
    of_class = (sums + _PSEUDO_ROWS * pooled) / (counts + _PSEUDO_ROWS)
    of_target = float(h.mean()) if h.size else float(low[-1] + high[-1]) / 2.0
    centers = np.clip(np.append(of_class, of_target), low, high)
    away = np.square(z - centers[labels])
    # one more row, as far off as half the range, so that no spread is zero
    wide = np.square(high - low) / 4.0
    all_classes = (float(away.sum()) + wide[0]) / (z.size + 1.0)
    squares = np.bincount(labels, weights=away, minlength=n_classes)
    spread = (squares + _PSEUDO_ROWS * all_classes) / (counts + _PSEUDO_ROWS)
    of_h = (float(np.square(h - centers[-1]).sum()) + wide[-1]) / (h.size + 1.0)
    return centers, np.append(spread, of_h)


def known_prior_interval(
    losses: FloatArray,
    low: float,
    high: float,
    labels: IntArray,
    prior: FloatArray,
    delta: float,
) -> tuple[float, float]:
    """Return ends of sum_j q_j E_P[l | Y = j] for proportions q that are given."""
    k = prior.size
    fits = every_third_of_class(labels)
    nothing = np.zeros((0, 1))
    rows = ShiftRows(
        labels,
        fits,
        np.zeros(0, dtype=np.bool_),
        (),
        prior,
        prior,
        two_sided_log_term(delta),
    )
    carried = Carried(
        losses, np.zeros((labels.size, 1)), nothing, np.zeros(1), low, high
    )
    guess, strata = carried.planned(rows), carried.strata(rows)
    ends = []
    for side in (-1, 1):
        _, plan = best_plan(guess, prior, side, rows.log_term)
        ends.append(strata.end(prior, side, plan, rows.log_term))
    assert strata.counts.size == k + 1
    return max(low, ends[0]), min(high, ends[1])
