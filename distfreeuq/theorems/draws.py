"""Many calibration sets at once, each with one test row of its own.

What experiments on prediction sets have in common: rows, their scores by the package's
own kernels, and whether thresholds cover the test row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from distfreeuq._typing import BoolArray, FloatArray, FloatMatrix, IntArray, IntMatrix
from distfreeuq.conformal.scores import NestedScore, true_label_scores
from distfreeuq.scenarios import three_gaussians

Rows = Callable[[np.random.Generator, int], tuple[FloatMatrix, IntArray]]
"""``rows(generator, n)``: a classifier's probabilities (n, K) and true labels (n,)."""


@dataclass(frozen=True, slots=True)
class ScoredDraws:
    """R calibration sets of n rows with one test row each.

    Attributes
    ----------
    scores, labels : ndarray (R, n)
        Scores of the true labels, and these labels.
    test_scores, test_labels : ndarray (R,)
    """

    scores: FloatMatrix
    labels: IntMatrix
    test_scores: FloatArray
    test_labels: IntArray

    def covered(self, thresholds: FloatArray) -> BoolArray:
        """Return which test rows are covered by thresholds (R,) or (R, K)."""
        if thresholds.ndim == 2:
            thresholds = thresholds[np.arange(len(thresholds)), self.test_labels]
        hits: BoolArray = self.test_scores <= thresholds
        return hits

    def thresholds(
        self, rule: Callable[[FloatArray, IntArray], float | FloatArray]
    ) -> FloatArray:
        """Return ``rule(scores, labels)`` of every calibration set, (R,) or (R, K)."""
        return np.array(
            [rule(s, y) for s, y in zip(self.scores, self.labels, strict=True)]
        )


def scored_draws(
    generator: np.random.Generator,
    n_draws: int,
    *,
    source: Rows,
    target: Rows | None = None,
    n: int,
    score: NestedScore,
    randomized: bool = True,
) -> ScoredDraws:
    """Draw calibration sets of n rows from the source, test rows from the target."""
    target = source if target is None else target

    def scored(rows: Rows, size: int) -> tuple[FloatArray, IntArray]:
        probs, labels = rows(generator, size)
        uniforms = generator.random(size) if randomized else np.ones(size)
        return true_label_scores(score, probs, labels, uniforms), labels

    scores, labels = scored(source, n_draws * n)
    shape = (n_draws, n)
    return ScoredDraws(
        scores.reshape(shape), labels.reshape(shape), *scored(target, n_draws)
    )


# ------------------------------------------------------------------------- the rows


def simplex_rows(
    generator: np.random.Generator,
    size: int,
    *,
    n_classes: int = 5,
    sharpness: float = 1.0,
) -> tuple[FloatMatrix, IntArray]:
    """Return probabilities uniform on the simplex.

    Labels follow the probabilities raised to `sharpness` and normalised: with 1 the
    classifier is the Bayes rule, with more it is under-confident, with less over.
    """
    weights = generator.standard_exponential((size, n_classes))
    probs = weights / weights.sum(axis=1, keepdims=True)
    return probs, _labels(probs**sharpness, generator)


def few_valued_rows(
    generator: np.random.Generator, size: int
) -> tuple[FloatMatrix, IntArray]:
    """Return six different rows over and over: ties within rows and between them."""
    few = np.array(
        [
            [0.4, 0.3, 0.3, 0.0],
            [0.25, 0.25, 0.25, 0.25],
            [0.5, 0.0, 0.5, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.1, 0.2, 0.3, 0.4],
            [0.7, 0.1, 0.1, 0.1],
        ]
    )
    probs = few[generator.integers(0, len(few), size)]
    return probs, _labels(probs, generator)


def _labels(weights: FloatMatrix, generator: np.random.Generator) -> IntArray:
    """Return labels drawn in proportion to each row's weights."""
    position = np.cumsum(weights, axis=1)
    point = generator.random(len(weights)) * position[:, -1]
    labels: IntArray = (position[:, :-1] <= point[:, None]).sum(axis=1)
    return labels


def gaussian_rows(
    generator: np.random.Generator, size: int, *, domain: str
) -> tuple[FloatMatrix, IntArray]:
    """Return paper A's three Gaussians with the source's Bayes rule."""
    toy = three_gaussians()
    x, labels = toy.sample(size, domain, rng=generator)  # type: ignore[arg-type]
    return toy.posterior(x), labels


gaussian_source = partial(gaussian_rows, domain="source")
gaussian_target = partial(gaussian_rows, domain="target")
