"""Many calibration sets at once, each with one test row of its own.

What experiments on prediction sets have in common: rows, their scores by the package's
own kernels, and whether thresholds cover the test row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distfreeuq import scenarios
from distfreeuq._base.array_types import (
    BoolArray,
    FloatArray,
    FloatMatrix,
    IntArray,
    IntMatrix,
)
from distfreeuq.conformal.nonconformity import APS, nested_scores
from distfreeuq.conformal.results import ConformalResult
from distfreeuq.conformal.scores.nested_score import NestedScore
from distfreeuq.scenarios.scenario import Domain
from distfreeuq.theorems.engine.claims import Claim
from distfreeuq.theorems.engine.experiment import as_event

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

    def thresholds(self, rule: Callable[[FloatArray, IntArray], Any]) -> FloatArray:
        """Return ``rule(scores, labels)`` of every calibration set, (R,) or (R, K)."""
        return np.array(
            [rule(s, y) for s, y in zip(self.scores, self.labels, strict=True)]
        )

    def covered(self, thresholds: FloatArray) -> BoolArray:
        """Return which test rows are covered by thresholds (R,) or (R, K)."""
        if thresholds.ndim == 2:
            thresholds = thresholds[np.arange(len(thresholds)), self.test_labels]
        hits: BoolArray = self.test_scores <= thresholds
        return hits


def scored_draws(
    generator: np.random.Generator,
    n_draws: int,
    *,
    source: Rows,
    target: Rows | None = None,
    n: int,
    score: NestedScore | None = None,
    randomized: bool = True,
) -> ScoredDraws:
    """Draw calibration sets of n rows from the source, test rows from the target."""
    target = source if target is None else target
    score = APS() if score is None else score

    def scored(rows: Rows, size: int) -> tuple[FloatArray, IntArray]:
        probs, labels = rows(generator, size)
        uniforms = generator.random(size) if randomized else np.ones(size)
        return nested_scores(probs, labels, score=score, uniforms=uniforms), labels

    scores, labels = scored(source, n_draws * n)
    shape = (n_draws, n)
    return ScoredDraws(
        scores.reshape(shape), labels.reshape(shape), *scored(target, n_draws)
    )


_PREDICTED_TOGETHER = 17


def covered_by_fits(
    generator: np.random.Generator,
    n_draws: int,
    fit: Callable[..., ConformalResult],
    *,
    source: Rows,
    target: Rows | None = None,
    n: int,
    seeded: bool = True,
) -> tuple[BoolArray, list[ConformalResult]]:
    """Return whether test rows are covered by public fits, and the fits.

    ``fit(probs, labels, rng=seed)`` gets an integer, as users give it, or with
    ``seeded=False`` a generator, which its ``predict`` then gets too. A row is
    predicted together with others, as users do it: kernels take rows of few classes
    many at a time.
    """
    target = source if target is None else target
    probs, labels = source(generator, n_draws * n)
    new_probs, new_labels = target(generator, n_draws)
    covered, fits = np.empty(n_draws, dtype=np.bool_), []
    for i, seed in enumerate(generator.integers(2**62, size=n_draws)):
        rows = slice(i * n, (i + 1) * n)
        own = None if seeded else np.random.default_rng(seed)
        fits.append(fit(probs[rows], labels[rows], rng=int(seed) if seeded else own))
        together = np.arange(i, i + _PREDICTED_TOGETHER) % n_draws
        sets = fits[-1].predict(new_probs[together], rng=own)
        covered[i] = sets.mask[0, new_labels[i]]
    return covered, fits


def overshoot(scores: FloatMatrix, weights: FloatMatrix, alpha: float) -> FloatArray:
    """Return by how much the mass up to the weighted quantile exceeds 1 - alpha.

    Given which n + 1 rows there are, the test row is the i-th in proportion to w_i, and
    is covered if and only if it lies at or below their quantile: the coverage given the
    rows is 1 - alpha plus this, exactly, if no scores tie.

    Parameters
    ----------
    scores, weights : ndarray (R, n + 1)
        Those of the calibration rows and of the test row together.
    """
    order = np.argsort(scores, axis=1)
    mass = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    mass /= mass[:, -1:]
    reached = np.where(mass >= 1.0 - alpha - 1e-12, mass, np.inf).min(axis=1)
    return np.asarray(reached - (1.0 - alpha))


EXACT = "covered - overshoot, scaled"
_ROOM = 0.2
"""At least the overshoot where `EXACT` is claimed: it never exceeds alpha."""


def exact_event(
    covered: BoolArray, excess: FloatArray, generator: np.random.Generator
) -> BoolArray:
    """Return an event whose probability is known if coverage is exact.

    It stands for the mean of covered - excess, scaled such that it lies between 0 and 1
    without much added noise.
    """
    return as_event((covered + _ROOM - excess) / (1.0 + _ROOM), generator)


def exactly(alpha: float, tolerance: float = 0.01) -> Claim:
    """Return the claim that coverage is 1 - alpha plus the mean overshoot."""
    assert alpha <= _ROOM
    mean = (1.0 - alpha + _ROOM) / (1.0 + _ROOM)
    return Claim(EXACT, equals=mean, tolerance=tolerance, mean=True)


# ------------------------------------------------------------------------- the rows


def scenario_rows(
    generator: np.random.Generator,
    size: int,
    *,
    scenario: str,
    domain: Domain = "source",
    label: int | None = None,
) -> tuple[FloatMatrix, IntArray]:
    """Return rows of a scenario by name, with the source's Bayes rule for classifier.

    With `label`, rows of that class alone.
    """
    known: Any = scenarios.get(scenario)
    x, labels = known.sample(size, domain, rng=generator)
    if label is not None:
        only = np.eye(known.n_classes)[label]
        x, labels = replace(known, target_prior=only).sample(
            size, "target", rng=generator
        )
    return known.posterior(x), labels


def in_words(scenario: str) -> str:
    """Return a scenario's name as tables print it."""
    return scenario.replace("-", " ").replace("gauss", "Gauss")


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
    position = np.cumsum(probs**sharpness, axis=1)
    point = generator.random(size) * position[:, -1]
    labels: IntArray = (position[:, :-1] <= point[:, None]).sum(axis=1)
    return probs, labels


@dataclass(frozen=True, slots=True)
class PowerScores:
    """LAC scores whose laws are known, P(S <= t | Y = k) = t^exponents[k].

    So coverage given the calibration rows is a formula, and needs no test rows. The
    true label has probability 1 - S, the others share the rest.
    """

    exponents: tuple[float, ...] = (0.5, 1.0, 3.0)
    source_prior: tuple[float, ...] = (0.3, 0.4, 0.3)
    target_prior: tuple[float, ...] = (0.2, 0.2, 0.6)

    @property
    def label_weight(self) -> FloatArray:
        """The true weights q / p, shape (K,)."""
        return np.divide(self.target_prior, self.source_prior)

    def rows(
        self, generator: np.random.Generator, size: int
    ) -> tuple[FloatMatrix, IntArray]:
        """Return rows of the source."""
        n_classes = len(self.exponents)
        labels = generator.choice(n_classes, size=size, p=self.source_prior)
        scores = generator.random(size) ** (1.0 / np.array(self.exponents)[labels])
        probs = np.repeat(scores[:, None] / (n_classes - 1), n_classes, axis=1)
        probs[np.arange(size), labels] = 1.0 - scores
        return probs, labels.astype(np.int64)

    def class_coverage(self, thresholds: FloatArray) -> FloatMatrix:
        """Return each class's coverage by thresholds (R, K), shape (R, K)."""
        coverage: FloatMatrix = np.minimum(thresholds, 1.0) ** np.array(self.exponents)
        return coverage

    def target_coverage(self, thresholds: FloatArray) -> FloatArray:
        """Return the target's coverage by thresholds (R, K), shape (R,)."""
        coverage: FloatArray = self.class_coverage(thresholds) @ self.target_prior
        return coverage
