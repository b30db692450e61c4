"""Samples from which weights are estimated, and tables of counts in place of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import (
    BoolArray,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.scenarios.scenario import Domain

Pair = tuple[FloatMatrix, IntArray, FloatMatrix]
"""Source probabilities (n, K) and labels (n,), target probabilities (m, K)."""

Change = Callable[[FloatMatrix], FloatMatrix]
"""What a classifier makes of the source's Bayes posterior."""


def pairs(
    generator: np.random.Generator,
    n_draws: int,
    *,
    scenario: str = "three-gaussians",
    n: int,
    m: int,
    change: Change | None = None,
    domain: Domain = "target",
) -> Iterator[Pair]:
    """Yield samples of both domains, with the source's Bayes rule or a change of it."""
    known = scenarios.get(scenario)
    x, labels = known.sample((n_draws, n), "source", rng=generator)
    probs = known.posterior(x)
    target = known.posterior(known.sample((n_draws, m), domain, rng=generator)[0])
    if change is not None:
        probs, target = change(probs), change(target)
    yield from zip(probs, labels, target, strict=True)


def true_weight(scenario: str) -> FloatArray:
    """Return q(y) / p(y) of a scenario, shape (K,)."""
    return scenarios.get(scenario).label_weight


def overconfident(probs: FloatMatrix) -> FloatMatrix:
    """Return probabilities that need BCTS: too sharp, and biased to the first class."""
    bias = np.linspace(2.0, 0.6, probs.shape[-1])
    changed: FloatMatrix = probs**1.7 * bias
    changed /= changed.sum(axis=-1, keepdims=True)
    return changed


def uneven(probs: FloatMatrix) -> FloatMatrix:
    """Return probabilities that no temperature and bias calibrate.

    They are the sharper, the likelier the first class is, and flat where it is not.
    """
    power = 0.3 + 2.5 * probs[..., :1]
    changed: FloatMatrix = np.maximum(probs, 1e-12) ** power
    changed /= changed.sum(axis=-1, keepdims=True)
    return changed


_CENTERS = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.0 * np.sqrt(3.0)]])


def gaussian_pairs(
    generator: np.random.Generator,
    n_draws: int,
    *,
    priors: tuple[tuple[float, ...], tuple[float, ...]],
    n: int,
    m: int,
    change: Change | None = None,
) -> Iterator[Pair]:
    """Yield samples of three Gaussians with these class proportions of both domains."""
    source = np.array(priors[0])
    for _ in range(n_draws):
        probs, drawn = [], []
        for prior, size in zip(priors, (n, m), strict=True):
            labels = generator.choice(3, p=prior, size=size)
            x = _CENTERS[labels] + 2.0 * generator.standard_normal((size, 2))
            scores = x @ _CENTERS.T / 4.0 - (_CENTERS**2).sum(axis=1) / 8.0
            f = source * np.exp(scores - scores.max(axis=1, keepdims=True))
            f /= f.sum(axis=1, keepdims=True)
            probs.append(f if change is None else change(f))
            drawn.append(labels)
        yield probs[0], drawn[0], probs[1]


# ----------------------------------------------------------- counts of hard predictions

SOURCE = np.array([0.1, 0.6, 0.3])
TARGET = np.array([0.3, 0.2, 0.5])
WEIGHT = TARGET / SOURCE
GOOD = np.array([[0.8, 0.05, 0.1], [0.1, 0.9, 0.1], [0.1, 0.05, 0.8]])
"""P(predicted i | class j)."""
SINGULAR = np.array([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8], [0.0, 0.0, 0.0]])


def of_accuracy(accuracy: float) -> FloatMatrix:
    """Return P(predicted i | class j) of three classes, wrong ones equally likely."""
    wrong = 0.5 * (1.0 - accuracy)
    conditional: FloatMatrix = np.full((3, 3), wrong) + (accuracy - wrong) * np.eye(3)
    return conditional


def confusions(
    generator: np.random.Generator,
    n_draws: int,
    *,
    conditional: FloatMatrix = GOOD,
    n: int,
    m: int,
    target: FloatArray = TARGET,
) -> Iterator[Confusion]:
    """Yield confusion matrices and target counts: all that hard predictions leave."""
    k = SOURCE.size
    joint = generator.multinomial(n, (conditional * SOURCE).ravel(), size=n_draws)
    predicted = generator.multinomial(m, conditional @ target, size=n_draws)
    for cells, counts in zip(joint, predicted, strict=True):
        yield of_counts(cells.reshape(k, k), counts)


def of_counts(
    joint: IntMatrix | FloatMatrix, target: IntArray | FloatArray
) -> Confusion:
    """Return the confusion matrix of counted predictions."""
    n, m = int(joint.sum()), int(target.sum())
    # whole numbers, which need not be floats
    return Confusion(joint, target, n, m, False)  # type: ignore[arg-type]


def within(ends: FloatMatrix, weight: FloatArray) -> BoolArray:
    """Return which intervals (K, 2) hold their weight, shape (K,)."""
    held: BoolArray = (ends[:, 0] <= weight) & (weight <= ends[:, 1])
    return held


def by_class(held: list[BoolArray]) -> dict[str, BoolArray]:
    """Return the events that the intervals of each class hold its weight."""
    table = np.array(held)
    return {f"holds weight {k}": table[:, k] for k in range(table.shape[1])}
