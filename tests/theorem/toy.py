"""Calibration draws from paper A's three Gaussians, scored: one target row per draw."""

from dataclasses import dataclass

import numpy as np

from distfreeuq import nested_scores
from distfreeuq.scenarios import GaussianLabelShift, three_gaussians


@dataclass(frozen=True)
class Draws:
    """R calibration sets of n source rows with one target row each.

    Attributes
    ----------
    scores, labels : ndarray (R, n)
    test_scores, test_labels : ndarray (R,)
        The target row's score of its own label, and that label.
    """

    scores: np.ndarray
    labels: np.ndarray
    test_scores: np.ndarray
    test_labels: np.ndarray

    def covered(self, thresholds_of) -> np.ndarray:
        """Return whether ``thresholds_of(scores, labels)`` (K,) cover, shape (R,)."""
        thresholds = np.array(
            [thresholds_of(*row) for row in zip(self.scores, self.labels, strict=True)]
        )
        own = thresholds[np.arange(len(thresholds)), self.test_labels]
        return self.test_scores <= own

    def hits(self, thresholds_of) -> int:
        return int(self.covered(thresholds_of).sum())


def score_rows(toy: GaussianLabelShift, n: int, domain: str, generator) -> tuple:
    """Return APS scores and labels of n rows, by the source's Bayes rule."""
    x, labels = toy.sample(n, domain, rng=generator)
    uniforms = generator.random(n)
    return nested_scores(toy.posterior(x), labels, uniforms=uniforms), labels


def draw(
    n_draws: int, n: int, seed: int, toy: GaussianLabelShift | None = None
) -> Draws:
    toy = three_gaussians() if toy is None else toy
    generator = np.random.default_rng(seed)
    scores, labels = score_rows(toy, n_draws * n, "source", generator)
    test_scores, test_labels = score_rows(toy, n_draws, "target", generator)
    shape = (n_draws, n)
    return Draws(scores.reshape(shape), labels.reshape(shape), test_scores, test_labels)


class TargetCoverage:
    """The coverage of thresholds on the target, from a large sample of it."""

    def __init__(self, seed: int, n: int = 400_000) -> None:
        self.toy = three_gaussians()
        generator = np.random.default_rng(seed)
        scores, labels = score_rows(self.toy, n, "target", generator)
        self.by_class = [np.sort(scores[labels == k]) for k in range(3)]

    def of(self, thresholds: np.ndarray) -> float:
        shares = [
            np.searchsorted(own, t, "right") / own.size
            for own, t in zip(self.by_class, thresholds, strict=True)
        ]
        return float(self.toy.target_prior @ shares)
