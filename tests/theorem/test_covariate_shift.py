"""Weighted exchangeability: conformal sets under covariate shift with the true ratio.

Source x ~ N(0, 1), target x ~ N(-1, 1), P(Y = 1 | x) the same, and a classifier that
is wrong where the target lies. All claims of this file together raise a false alarm
with probability at most 1e-6.
"""

import numpy as np
import pytest

from distfreeuq import covariate_shift_conformal, nested_scores
from distfreeuq.conformal.thinning import thinned_pac_threshold
from distfreeuq.quantiles import quantiles_with_atoms
from tests.theorem.binomial import Judge, RefutedError

SHIFT = -1.0
N_DRAWS, N = 20_000, 30


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def ratio(x):
    return np.exp(SHIFT * x - SHIFT**2 / 2)


def classifier(x):
    return sigmoid(2 * x)


def draw_labels(x, generator):
    """A coin decides where x < 0, though the classifier thinks it knows."""
    return (generator.random(x.size) < np.where(x < 0, 0.5, classifier(x))).astype(int)


def rows(x, generator):
    """Return the scores of the true labels of rows with these features."""
    labels = draw_labels(x, generator)
    return nested_scores(classifier(x), labels, uniforms=generator.random(x.size))


@pytest.fixture(scope="module")
def judge():
    return Judge(claims=10)


@pytest.fixture(scope="module")
def draws():
    generator = np.random.default_rng(0)
    x = generator.standard_normal(N_DRAWS * N)
    new = SHIFT + generator.standard_normal(N_DRAWS)
    shape = (N_DRAWS, N)
    scores, weights = rows(x, generator).reshape(shape), ratio(x).reshape(shape)
    return scores, weights, rows(new, generator), ratio(new)


def hits(draws, weights_of, atom_of, alpha):
    scores, weights, new_scores, new_weights = draws
    level = np.array([1 - alpha])
    return sum(
        s <= quantiles_with_atoms(r, weights_of(w), level, np.array([atom_of(v)]))[0]
        for r, w, s, v in zip(scores, weights, new_scores, new_weights, strict=True)
    )


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_true_weights_cover(judge, draws, alpha):
    covered = hits(draws, lambda w: w, lambda v: v, alpha)
    judge.at_least(covered, N_DRAWS, 1 - alpha)
    _, weights, _, own = draws
    largest = np.maximum(weights.max(axis=1), own) / (weights.sum(axis=1) + own)
    slack = largest.mean() + 6 * largest.std() / np.sqrt(N_DRAWS)
    judge.at_most(covered, N_DRAWS, min(1.0, 1 - alpha + slack))


@pytest.mark.parametrize(
    "weights_of, atom_of",
    [(np.ones_like, lambda v: 1.0), (lambda w: w, lambda v: 0.0)],
    ids=["unweighted", "own mass dropped"],
)
def test_broken_variants_are_caught(judge, draws, weights_of, atom_of):
    with pytest.raises(RefutedError):
        judge.at_least(hits(draws, weights_of, atom_of, 0.1), N_DRAWS, 0.9)


def test_public_function_agrees_draw_by_draw(draws):
    generator = np.random.default_rng(1)
    for _ in range(50):
        x, new = generator.standard_normal(N), SHIFT + generator.standard_normal(20)
        labels = draw_labels(x, generator)
        fit = covariate_shift_conformal(
            classifier(x), labels, ratio(x), score="lac", alpha=0.2
        )
        scores = nested_scores(classifier(x), labels, score="lac")
        thresholds = quantiles_with_atoms(
            scores, ratio(x), np.full(20, 0.8), ratio(new)
        )
        np.testing.assert_array_equal(fit.threshold_for(ratio(new)), thresholds)
        new_scores = nested_scores(classifier(new), score="lac")
        expected = new_scores <= thresholds[:, None]
        mask = fit.predict(classifier(new), ratio(new)).mask
        np.testing.assert_array_equal(mask, expected)
        p_values = fit.p_values(classifier(new), ratio(new))
        np.testing.assert_array_equal(p_values > 0.2, expected)


def test_rejection_reaches_the_level_in_most_draws(judge):
    """Target: x < 0 has weight 1.6 and x > 0 has 0.4, so that w is at most 1.6."""
    generator = np.random.default_rng(2)
    n_draws, n, alpha, delta = 2000, 300, 0.1, 0.1
    x = np.abs(generator.standard_normal(300_000))
    x[generator.random(x.size) < 0.8] *= -1
    target = np.sort(rows(x, generator))

    def coverage(threshold):
        return np.searchsorted(target, threshold, "right") / target.size

    reached = plain = 0
    for _ in range(n_draws):
        x = generator.standard_normal(n)
        weights = np.where(x < 0, 1.6, 0.4)
        scores = rows(x, generator)
        threshold, _, _ = thinned_pac_threshold(
            scores, weights, 1.6, alpha, delta, generator
        )
        reached += coverage(threshold) >= 1 - alpha
        level, atom = np.array([1 - alpha]), np.array([1.0])
        marginal = quantiles_with_atoms(scores, weights, level, atom)[0]
        plain += coverage(marginal) >= 1 - alpha
    judge.at_least(reached, n_draws, 1 - delta)
    with pytest.raises(RefutedError):
        judge.at_least(plain, n_draws, 1 - delta)
