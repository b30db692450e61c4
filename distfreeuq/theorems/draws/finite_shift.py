"""Covariate shift on finitely many points, where every expectation is a sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray

SAME = 1e-9
"""Relative difference that counts as rounding."""


@dataclass(frozen=True, slots=True)
class FiniteShift:
    """Points 0, 1, ... with their probabilities, labels and forecasts.

    Attributes
    ----------
    p, q : tuple of float
        Probabilities of the points in source and target.
    positive : tuple of float
        P(Y = 1 | x), in both.
    forecast : tuple of float
        What a classifier says that P(Y = 1 | x) is.
    """

    p: tuple[float, ...] = (0.5, 0.3, 0.2)
    q: tuple[float, ...] = (0.2, 0.2, 0.6)
    positive: tuple[float, ...] = (0.1, 0.5, 0.3)
    forecast: tuple[float, ...] = (0.1, 0.5, 0.9)

    @property
    def ratio(self) -> FloatArray:
        """The points' q / p, 0 where p is zero."""
        p, q = np.array(self.p), np.array(self.q)
        return np.asarray(np.divide(q, p, out=np.zeros_like(p), where=p > 0.0))

    @property
    def logits(self) -> FloatArray:
        """Log-odds of the forecasts."""
        forecast = np.array(self.forecast)
        log_odds: FloatArray = np.log(forecast / (1.0 - forecast))
        return log_odds

    def losses(self, forecast: FloatArray | None = None) -> FloatArray:
        """Return E[(forecast - y)^2 | x] of the points."""
        f = np.array(self.forecast) if forecast is None else forecast
        one = np.array(self.positive)
        loss: FloatArray = one * (1.0 - f) ** 2 + (1.0 - one) * f**2
        return loss

    def rows(
        self, generator: np.random.Generator, size: int, law: tuple[float, ...]
    ) -> tuple[IntArray, IntArray]:
        """Return points (size,) drawn by `law`, `p` or `q`, and labels (size,)."""
        points = np.searchsorted(np.cumsum(law)[:-1], generator.random(size), "right")
        labels = generator.random(size) < np.array(self.positive)[points]
        return points, labels.astype(np.int64)

    def squared_error(self, points: IntArray, labels: IntArray) -> FloatArray:
        """Return (forecast - y)^2 of rows."""
        return np.square(np.array(self.forecast)[points] - labels)


@dataclass(frozen=True, slots=True)
class RandomLaws:
    """Probabilities p and q with q = 0 where p = 0, and losses in [0, loss_bound].

    Shares of whole numbers, so that no ratio drowns in rounding. Losses are often at
    their bound, where inequalities are tight.
    """

    p: FloatArray
    q: FloatArray
    ratio: FloatArray
    losses: FloatArray
    loss_bound: float

    @classmethod
    def draw(cls, generator: np.random.Generator) -> RandomLaws:
        """Return random laws on two to six points."""
        size = int(generator.integers(2, 7))
        p = generator.integers(0, 20, size=size).astype(np.float64)
        p[0] += 1.0
        q = np.where(p > 0.0, generator.integers(0, 20, size=size), 0.0)
        q[0] += 1.0
        p, q = p / p.sum(), q / q.sum()
        loss_bound = float(generator.choice([0.3, 1.0, 7.0]))
        kind = generator.integers(3)
        share = generator.random(size)
        if kind == 1:
            share = (share < 0.5).astype(np.float64)
        elif kind == 2:
            share = np.ones(size)
        ratio = np.divide(q, p, out=np.zeros_like(q), where=p > 0.0)
        return cls(p, q, ratio, loss_bound * share, loss_bound)


def merged(values: FloatArray, groups: IntArray) -> FloatArray:
    """Return the sums of values (m,) over groups of points, (number of groups,)."""
    return np.bincount(groups, weights=values).astype(np.float64)


def as_probs(positive: FloatArray) -> FloatMatrix:
    """Return the probabilities of both labels, (n, 2)."""
    return np.column_stack([1.0 - positive, positive])
