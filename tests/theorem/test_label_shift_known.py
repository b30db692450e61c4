"""Paper A, Theorem 2 and eq. (10): known weights, and label-conditional thresholds.

All claims of this file together raise a false alarm with probability at most 1e-6.
"""

import numpy as np
import pytest

from distfreeuq import scenarios
from distfreeuq.conformal.stratified import stratified_pac_threshold
from distfreeuq.conformal.thinning import thinned_pac_threshold
from distfreeuq.conformal.thresholds import (
    label_conditional_thresholds,
    label_shift_thresholds,
)
from tests.theorem.binomial import Judge, RefutedError
from tests.theorem.toy import TargetCoverage, draw

TOY = scenarios.three_gaussians()
W = TOY.label_weight
N_DRAWS = 20_000


@pytest.fixture(scope="module")
def judge():
    return Judge(claims=40)


@pytest.fixture(scope="module", params=[9, 60])
def draws(request):
    return draw(N_DRAWS, request.param, seed=request.param)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_known_weights_cover(judge, draws, alpha):
    hits = draws.hits(lambda s, y: label_shift_thresholds(s, y, W, alpha))
    judge.at_least(hits, N_DRAWS, 1 - alpha)
    judge.at_most(hits, N_DRAWS, 1 - alpha + expected_overshoot(draws))


def expected_overshoot(draws):
    """E[max_i p_i], the upper side of Theorem 2 for continuous scores, rounded up."""
    mass, own = W[draws.labels].sum(axis=1), W[draws.test_labels]
    largest = np.maximum(W[draws.labels].max(axis=1), own) / (mass + own)
    return largest.mean() + 6 * largest.std() / np.sqrt(largest.size)


def test_uncorrected_thresholds_fail(judge):
    draws = draw(N_DRAWS, 60, seed=1)
    ones = np.ones(3)
    hits = draws.hits(lambda s, y: label_shift_thresholds(s, y, ones, 0.1))
    with pytest.raises(RefutedError):
        judge.at_least(hits, N_DRAWS, 0.9)


def inverted(scores, labels, alpha):
    return label_shift_thresholds(scores, labels, 1 / W, alpha)


def quantile_without_atom(scores, weights, level):
    order = np.argsort(scores)
    mass = np.cumsum(weights[order]) / weights.sum()
    return scores[order][np.searchsorted(mass, level - 1e-12)]


def atom_dropped(scores, labels, alpha):
    return np.full(3, quantile_without_atom(scores, W[labels], 1 - alpha))


def weights_sorted_apart(scores, labels, alpha):
    return label_shift_thresholds(
        np.sort(scores), labels[np.argsort(W[labels])], W, alpha
    )


def weights_of_n_rows_only(scores, labels, alpha):
    """The atom is there, but the total leaves it out."""
    order = np.argsort(scores)
    mass = np.cumsum(W[labels][order]) / W[labels].sum()
    thresholds = np.full(3, np.inf)
    for y in range(3):
        level = (1 - alpha) - W[y] / W[labels].sum()
        thresholds[y] = scores[order][np.searchsorted(mass, level)]
    return thresholds


@pytest.mark.parametrize(
    "broken, n_draws, n",
    [
        (inverted, N_DRAWS, 60),
        (atom_dropped, N_DRAWS, 9),
        (weights_sorted_apart, 8000, 300),
        (weights_of_n_rows_only, N_DRAWS, 60),
    ],
)
def test_broken_thresholds_are_caught(judge, broken, n_draws, n):
    draws = draw(n_draws, n, seed=2)
    hits = draws.hits(lambda s, y: broken(s, y, 0.1))
    with pytest.raises(RefutedError):
        judge.at_least(hits, n_draws, 0.9)
        judge.at_most(hits, n_draws, 0.9 + expected_overshoot(draws))


def test_every_class_is_covered_at_its_own_level(judge):
    alphas = np.array([0.2, 0.1, 0.05])
    draws = draw(N_DRAWS, 60, seed=3)
    covered = draws.covered(lambda s, y: label_conditional_thresholds(s, y, alphas))
    for k in range(3):
        of_class = draws.test_labels == k
        judge.at_least(int(covered[of_class].sum()), int(of_class.sum()), 1 - alphas[k])
    # a common threshold does not: class 0 is the rare one in the source
    covered = draws.covered(lambda s, y: label_shift_thresholds(s, y, W, 0.1))
    of_class = draws.test_labels == 0
    with pytest.raises(RefutedError):
        judge.exactly(int(covered[of_class].sum()), int(of_class.sum()), 0.9)


@pytest.fixture(scope="module")
def target():
    return TargetCoverage(seed=4)


def test_confidence_is_about_the_draw_at_hand(judge, target):
    """Both training-conditional thresholds reach 1 - alpha in 90 % of draws or more."""
    n_draws, n, alpha, delta = 3000, 400, 0.1, 0.1
    draws = draw(n_draws, n, seed=5)
    generator = np.random.default_rng(6)
    reached = {"rejection": 0, "stratified": 0, "plain": 0}
    for scores, labels in zip(draws.scores, draws.labels, strict=True):
        t = {
            "rejection": thinned_pac_threshold(
                scores, W[labels], W.max(), alpha, delta, generator
            )[0],
            "stratified": stratified_pac_threshold(
                scores, labels, TOY.target_prior, alpha, delta
            ),
        }
        for name, threshold in t.items():
            reached[name] += target.of(np.full(3, threshold)) >= 1 - alpha
        plain = label_shift_thresholds(scores, labels, W, alpha)
        reached["plain"] += target.of(plain) >= 1 - alpha
    judge.at_least(reached["rejection"], n_draws, 1 - delta)
    judge.at_least(reached["stratified"], n_draws, 1 - delta)
    # plain weighted conformal is right on average only: about 57 % of draws
    with pytest.raises(RefutedError):
        judge.at_least(reached["plain"], n_draws, 1 - delta)
