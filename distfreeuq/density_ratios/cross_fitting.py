"""Cross-fitting: no row is weighted by a fit that has seen it.

Rows of both samples are dealt into folds; in each round some fit a discriminator, one
fold its temperature, and one fold is weighted. The outcome is a `RatioEstimate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import special

from distfreeuq._base.array_types import BoolArray, FloatArray, FloatMatrix, IntArray

_TOLERANCE = 1e-10
_MAX_STEPS = 200


class RatioModel(Protocol):
    """A fitted density ratio."""

    def ratio(self, x: FloatMatrix) -> FloatArray:
        """Return q(x)/p(x) as estimated, shape (n,), non-negative."""


class RatioEstimate(NamedTuple):
    """A ratio for new rows, and the given rows' own by fits that have not seen them.

    Attributes
    ----------
    model : RatioModel
        Fitted on all rows. That of kernel mean matching has no ratio.
    source_ratio : ndarray (n_source,)
    target_ratio : ndarray (n_target,)
    notes : tuple of str
        What a reader of the numbers should know.
    """

    model: Any
    source_ratio: FloatArray
    target_ratio: FloatArray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """One round of cross-fitting, as masks over the pooled rows (n,).

    Attributes
    ----------
    fit : ndarray (n,)
        Rows that the model is fitted on.
    calibrate : ndarray (n,)
        Rows that its temperature is fitted on; none of them where there is none.
    held_out : ndarray (n,)
        Rows that it weights, none of which it has seen.
    """

    fit: BoolArray
    calibrate: BoolArray
    held_out: BoolArray


@dataclass(frozen=True, slots=True)
class Folds:
    """A fold number for every pooled row, as many of each sample in each as can be."""

    number: IntArray
    n_folds: int

    def rounds(self, calibrate: bool) -> Iterator[Fold]:
        """Yield the rounds: each fold is held out once, the next one calibrates."""
        for k in range(self.n_folds):
            held_out = self.number == k
            following = self.number == (k + 1) % self.n_folds
            if not calibrate:
                following = np.zeros_like(held_out)
            yield Fold(~(held_out | following), following, held_out)


def deal(n_source: int, n_target: int, n_folds: int, rng: np.random.Generator) -> Folds:
    """Deal the rows of each sample into folds at random."""
    number = [rng.permutation(n) % n_folds for n in (n_source, n_target)]
    return Folds(np.concatenate(number), n_folds)


def fit_inverse_temperature(source: FloatArray, target: FloatArray) -> float:
    """Return the factor of log-ratios that makes a discriminator calibrated.

    Minimises the log loss of telling held-out source rows from target rows, both
    samples given the same total weight (as Park et al. 2020 do), over factors from 0
    (the log-ratios tell nothing: all weights equal) upwards. Labels are smoothed as
    Platt's are, so that samples which are told apart perfectly have a finite optimum;
    both alike, by the smaller sample, so that one log-ratio for all rows tells nothing.

    Parameters
    ----------
    source, target : ndarray (n,), (m,)
        Log-ratios, finite.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.density_ratios.cross_fitting import fit_inverse_temperature
    >>> x = np.random.default_rng(0).normal(size=(2, 4000))  # true log-ratio x - 1/2
    >>> twice = 2.0 * (x[0] - 0.5), 2.0 * (x[1] + 1.0 - 0.5)
    >>> round(fit_inverse_temperature(*twice), 1)
    0.5
    """
    values = np.concatenate([source, -target])  # large is wrong
    sizes = (source.size, target.size)
    pull = np.repeat([0.5 / n for n in sizes], sizes) * values
    smoothed = 1.0 / (min(sizes) + 2)

    def slope(beta: float) -> tuple[float, float]:
        """Return the loss's first derivative, which is increasing, and the second."""
        wrong = special.expit(beta * values)
        first = (pull * (wrong - smoothed)).sum()
        second = (pull * values * wrong * (1.0 - wrong)).sum()
        return float(first), float(second)

    return _root(slope) if slope(0.0)[0] < 0.0 else 0.0


_FACTORS = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 61)])
"""Of log-ratios of median size one: where the search of a squared error begins."""


def least_squares_inverse_temperature(source: FloatArray, target: FloatArray) -> float:
    """Return the factor of log-ratios of the smallest squared error.

    As `fit_inverse_temperature`, for the squared error of P(target | x) that Park et
    al. (2020) minimise. It may have several minima: the smallest on a grid is refined.

    Parameters
    ----------
    source, target : ndarray (n,), (m,)
        Log-ratios, finite.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.density_ratios.cross_fitting import (
    ...     least_squares_inverse_temperature,
    ... )
    >>> x = np.random.default_rng(0).normal(size=(2, 4000))  # true log-ratio x - 1/2
    >>> twice = 2.0 * (x[0] - 0.5), 2.0 * (x[1] + 1.0 - 0.5)
    >>> round(least_squares_inverse_temperature(*twice), 1)
    0.5
    """
    from scipy import optimize

    values = np.concatenate([source, -target])  # large is wrong
    sizes = (source.size, target.size)
    share = np.repeat([0.5 / n for n in sizes], sizes)
    smoothed = 1.0 / (min(sizes) + 2)
    size = float(np.median(np.abs(values)))
    if size == 0.0:
        size = float(np.abs(values).max())
    if size == 0.0:
        return 0.0

    def error(factor: float) -> float:
        """Return the mean of (P(wrong) - label)^2, for labels that are smoothed."""
        wrong = special.expit(factor / size * values)
        return float((share * (wrong - smoothed) ** 2).sum())

    errors = [error(factor) for factor in _FACTORS]
    best = int(np.argmin(errors))
    if best == 0:
        return 0.0
    ends = _FACTORS[best - 1], _FACTORS[min(best + 1, _FACTORS.size - 1)]
    found = optimize.minimize_scalar(
        error, bounds=ends, method="bounded", options={"xatol": 1e-8 * ends[1]}
    )
    return float(found.x) / size


def _root(slope: Callable[[float], tuple[float, float]]) -> float:
    """Return where an increasing function vanishes: Newton's steps, kept in brackets.

    It is negative at zero.
    """
    low, high, beta = 0.0, np.inf, 1.0
    for _ in range(_MAX_STEPS):
        value, derivative = slope(beta)
        low, high = (low, beta) if value > 0.0 else (beta, high)
        step = beta - value / derivative if derivative > 0.0 else np.nan
        if not low <= step <= high:
            step = 2.0 * beta if np.isinf(high) else 0.5 * (low + high)
        if abs(step - beta) <= _TOLERANCE * beta:
            return step
        beta = step
    return beta
