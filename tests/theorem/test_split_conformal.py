"""Paper A, Theorem 1: split conformal prediction covers, no less and no more.

Every calibration draw has one test row of its own, so that hits are exactly binomial.
All claims of this file together raise a false alarm with probability at most 1e-6: each
is judged at 1e-6 / CLAIMS (Bonferroni). Broken variants go before the same judge.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq._random import stream
from distfreeuq.conformal.scores import true_label_scores
from distfreeuq.quantiles import conformal_rank
from tests.theorem.binomial import Judge, RefutedError

CLAIMS = 200
N_DRAWS = {9: 100_000, 50: 50_000, 500: 20_000}
ALPHAS = [0.05, 0.1, 0.3]
SCORES = {
    score.name: score
    for score in (
        dfu.LAC(),
        dfu.APS(),
        dfu.RAPS(penalty=0.1, k_reg=1),
        dfu.SAPS(),
        dfu.Rank(),
        dfu.Margin(),
    )
}


@pytest.fixture(scope="module")
def judge():
    return Judge(claims=CLAIMS)


# ----------------------------------------------------------------------- the simulation


def draw_rows(n_rows, n_classes, rng, sharpness=1.0):
    """Return probabilities (n_rows, K), uniform on the simplex, and labels.

    Labels follow the probabilities raised to `sharpness` and normalised: with 1 the
    classifier is the Bayes rule, with anything else it is wrong about its confidence.
    """
    weights = rng.standard_exponential((n_rows, n_classes))
    probs = weights / weights.sum(axis=1, keepdims=True)
    truth = np.cumsum(probs if sharpness == 1.0 else probs**sharpness, axis=1)
    position = rng.random(n_rows) * truth[:, -1]
    labels = (truth[:, :-1] < position[:, None]).sum(axis=1)
    return probs, labels


@lru_cache(maxsize=4)
def draw_scores(score, n_draws, n, n_classes, seed, sharpness=1.0):
    """Return true labels' scores (n_draws, n + 1): the last column is the test row's.

    Rows of many draws are scored in one call of the kernel.
    """
    rng = np.random.default_rng(seed)
    scores = np.empty((n_draws, n + 1))
    draws_at_once = max(1, 2_000_000 // ((n + 1) * n_classes))
    for start in range(0, n_draws, draws_at_once):
        part = scores[start : start + draws_at_once]
        probs, labels = draw_rows(part.size, n_classes, rng, sharpness)
        uniforms = rng.random(part.size)
        part_scores = true_label_scores(SCORES[score], probs, labels, uniforms)
        part[:] = part_scores.reshape(part.shape)
    scores.flags.writeable = False
    return scores


def thresholds_at(scores, rank):
    """Return each draw's threshold: the rank-th smallest calibration score, or +inf."""
    n = scores.shape[1] - 1
    if rank > n:
        return np.full(len(scores), np.inf)
    return np.partition(scores[:, :n], rank - 1, axis=1)[:, rank - 1]


def hits_at(scores, rank):
    return int((scores[:, -1] <= thresholds_at(scores, rank)).sum())


# -------------------------------------------------------------------- marginal coverage


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("n", [9, 50, 500])
def test_coverage_is_within_both_bounds(judge, n, n_classes):
    n_draws = N_DRAWS[n]
    scores = draw_scores(
        "aps", n_draws, n, n_classes, seed=n + n_classes, sharpness=2.0
    )
    for alpha in ALPHAS:
        rank = conformal_rank(n, alpha)
        hits = hits_at(scores, rank)
        judge.at_least(hits, n_draws, 1 - alpha)
        judge.at_most(hits, n_draws, min(1.0, 1 - alpha + 1 / (n + 1)))
        judge.exactly(hits, n_draws, min(rank, n + 1) / (n + 1))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("sharpness", [0.5, 1.0])
def test_every_score_covers_whatever_the_classifier(judge, score, sharpness):
    n, n_draws = 20, 50_000
    scores = draw_scores(score, n_draws, n, 5, seed=17, sharpness=sharpness)
    judge.exactly(hits_at(scores, conformal_rank(n, 0.1)), n_draws, 19 / 21)


@dataclass
class PublicDraws:
    """Draws that the public functions and the batch see alike."""

    probs: np.ndarray  # (n_draws, n + 1, K)
    labels: np.ndarray  # (n_draws, n + 1)

    def batch_scores(self, score):
        n_draws, rows, n_classes = self.probs.shape
        if SCORES[score].uses_uniforms:
            uniforms = [
                np.append(
                    stream(seed, "fit", "").random(rows - 1),
                    stream(seed, "predict", "").random(1),
                )
                for seed in range(n_draws)
            ]
        else:
            uniforms = np.ones((n_draws, rows))
        return true_label_scores(
            SCORES[score],
            self.probs.reshape(-1, n_classes),
            self.labels.ravel(),
            np.ravel(uniforms),
        ).reshape(n_draws, rows)

    def fit(self, i, **options):
        return dfu.split_conformal(
            self.probs[i, :-1], self.labels[i, :-1], rng=i, **options
        )

    def covered(self, i, fit):
        return bool(fit.predict(self.probs[i, -1:], rng=i).mask[0, self.labels[i, -1]])


def public_draws(n_draws, n, n_classes, seed, sharpness=2.0):
    rng = np.random.default_rng(seed)
    probs, labels = draw_rows(n_draws * (n + 1), n_classes, rng, sharpness)
    return PublicDraws(
        probs.reshape(n_draws, n + 1, n_classes), labels.reshape(n_draws, n + 1)
    )


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(("n", "alpha"), [(9, 0.1), (9, 0.3), (50, 0.05)])
def test_the_public_functions_agree_with_the_batch_draw_by_draw(score, n, alpha):
    draws = public_draws(100, n, 4, seed=n)
    scores = draws.batch_scores(score)
    thresholds = thresholds_at(scores, conformal_rank(n, alpha))
    for i, threshold in enumerate(thresholds):
        fit = draws.fit(i, score=SCORES[score], alpha=alpha)
        np.testing.assert_array_equal(fit.scores, np.sort(scores[i, :-1]))
        assert fit.thresholds.tolist() == [threshold] * 4
        assert draws.covered(i, fit) == (scores[i, -1] <= threshold)


def test_too_few_rows_cover_always():
    draws = public_draws(50, 9, 4, seed=0)
    for i in range(50):
        with pytest.warns(dfu.SmallCalibrationWarning, match="At least 19 rows"):
            fit = draws.fit(i, alpha=0.05)
        assert draws.covered(i, fit)


@pytest.mark.parametrize(("n", "alpha"), [(9, 0.05), (50, 0.1)])
def test_without_the_atom_at_infinity_coverage_is_lost(judge, n, alpha):
    n_draws = N_DRAWS[n]
    scores = draw_scores("aps", n_draws, n, 10, n + 10, sharpness=2.0)
    without_atom = math.ceil((1 - alpha) * n)
    hits = hits_at(scores, without_atom)
    with pytest.raises(RefutedError):
        judge.at_least(hits, n_draws, 1 - alpha)


def test_one_rank_too_high_is_too_much(judge):
    n, n_draws, alpha = 20, 50_000, 0.18  # rank 18, as 0.82 * 21 = 17.22
    scores = draw_scores("aps", n_draws, n, 5, seed=17)
    hits = hits_at(scores, conformal_rank(n, alpha) + 1)
    with pytest.raises(RefutedError):
        judge.at_most(hits, n_draws, 1 - alpha + 1 / (n + 1))
    with pytest.raises(RefutedError):
        judge.exactly(hits, n_draws, 18 / 21)


# -------------------------------------------------------------------- ties, never empty


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("score", SCORES)
def test_a_classifier_of_few_values_covers_at_least(judge, score, alpha):
    n, n_draws = 30, 40_000
    rng = np.random.default_rng(5)
    few = rng.integers(0, 4, (6, 5)) + 0.0
    few[:, 0] += 1.0  # no row of zeros; zeros and ties elsewhere
    few /= few.sum(axis=1, keepdims=True)
    which = rng.integers(0, len(few), n_draws * (n + 1))
    labels = (rng.random((which.size, 1)) > few.cumsum(axis=1)[which, :-1]).sum(axis=1)
    ones = np.ones(which.size)  # u = 1: not randomised
    scores = true_label_scores(SCORES[score], few[which], labels, ones)
    scores = scores.reshape(n_draws, n + 1)
    judge.at_least(hits_at(scores, conformal_rank(n, alpha)), n_draws, 1 - alpha)


def test_never_empty_only_raises_coverage(judge):
    n, n_draws, n_classes = 20, 4_000, 4
    draws = public_draws(n_draws, n, n_classes, seed=2, sharpness=8.0)
    scores = draws.batch_scores("aps")
    plain = scores[:, -1] <= thresholds_at(scores, conformal_rank(n, 0.3))
    filled = np.array(
        [
            draws.covered(i, draws.fit(i, alpha=0.3, never_empty=True))
            for i in range(n_draws)
        ]
    )
    assert (filled >= plain).all()
    judge.at_least(int(filled.sum()), n_draws, 0.7)
    with pytest.raises(RefutedError):  # so that there is no upper bound to claim
        judge.at_most(int(filled.sum()), n_draws, 0.7 + 1 / (n + 1))


# -------------------------------------------------------- streams of fit and prediction


def test_the_same_seed_for_fit_and_predict_keeps_coverage(judge):
    # a certain classifier: its score is the row's uniform and nothing else
    n, n_draws, rank = 9, 5_000, 7
    certain, labels = np.tile([1.0, 0.0], (n, 1)), np.zeros(n, dtype=np.int64)
    hits = 0
    for seed in range(n_draws):
        fit = dfu.split_conformal(certain, labels, alpha=0.3, rng=seed)
        assert fit.rank == rank
        hits += int(fit.predict(certain[:1], rng=seed).mask[0, 0])
    judge.exactly(hits, n_draws, rank / (n + 1))


def test_one_stream_for_both_would_not(judge):
    n, n_draws, rank = 9, 5_000, 7
    rng = np.random.default_rng(1)
    uniforms = rng.random((n_draws, n))
    reused = np.column_stack([uniforms, uniforms[:, 0]])  # the stream starts again
    with pytest.raises(RefutedError):
        judge.exactly(hits_at(reused, rank), n_draws, rank / (n + 1))


# -------------------------------------------------- coverage given the calibration rows

# Under the Bayes rule the randomised APS score is uniform on [0, 1], so that the
# coverage of a threshold t, given the calibration rows, is t itself.


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize(("n", "alpha"), [(9, 0.1), (50, 0.1), (50, 0.3), (200, 0.05)])
def test_coverage_given_the_calibration_rows_is_beta(judge, n, alpha, n_classes):
    scores = draw_scores("aps", 20_000, n, n_classes, seed=n * n_classes)
    rank = conformal_rank(n, alpha)
    coverage = thresholds_at(scores, rank)
    judge.follows(coverage, stats.beta(rank, n + 1 - rank))
    # the guarantee that a fit prints without being asked for
    low = bounds.beta_coverage_quantile(n, rank, 0.05)
    judge.exactly(int((coverage >= low).sum()), coverage.size, 0.95)
    with pytest.raises(RefutedError):  # the law of the next rank is another one
        judge.follows(coverage, stats.beta(rank - 1, n + 2 - rank))


PAC = [(30, 0.1, 0.95), (50, 0.1, 0.9), (200, 0.1, 0.95), (200, 0.3, 0.5)]


@pytest.mark.parametrize(("n", "alpha", "confidence"), PAC)
def test_pac_threshold_covers_with_confidence(judge, n, alpha, confidence):
    n_draws = 20_000
    scores = draw_scores("aps", n_draws, n, 10, seed=n)
    rank = bounds.pac_rank(n, alpha, 1 - confidence)
    good = int((thresholds_at(scores, rank) >= 1 - alpha).sum())
    judge.at_least(good, n_draws, confidence)
    judge.exactly(good, n_draws, stats.beta(rank, n + 1 - rank).sf(1 - alpha))
    if rank > 1:  # no smaller rank would do
        one_less = int((thresholds_at(scores, rank - 1) >= 1 - alpha).sum())
        judge.at_most(one_less, n_draws, confidence)


@pytest.mark.parametrize(("n", "alpha", "confidence"), PAC[:3])
def test_the_marginal_rank_has_no_such_confidence(judge, n, alpha, confidence):
    n_draws = 20_000
    scores = draw_scores("aps", n_draws, n, 10, seed=n)
    coverage = thresholds_at(scores, conformal_rank(n, alpha))
    with pytest.raises(RefutedError):
        judge.at_least(int((coverage >= 1 - alpha).sum()), n_draws, confidence)


def test_public_pac_fits_agree_with_the_batch():
    draws = public_draws(100, 50, 4, seed=3)
    scores = draws.batch_scores("aps")
    thresholds = thresholds_at(scores, bounds.pac_rank(50, 0.1, 0.1))
    for i, threshold in enumerate(thresholds):
        fit = draws.fit(i, alpha=0.1, confidence=0.9)
        assert fit.thresholds.tolist() == [threshold] * 4
        assert draws.covered(i, fit) == (scores[i, -1] <= threshold)


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_with_ties_coverage_given_the_calibration_rows_is_larger(judge, confidence):
    # ten equally likely scores 1, ..., 10: the threshold t covers t/10
    n, n_draws, alpha = 60, 20_000, 0.25
    rng = np.random.default_rng(9)
    scores = rng.integers(1, 11, (n_draws, n + 1)) * 1.0
    rank = bounds.pac_rank(n, alpha, 1 - confidence)
    coverage = thresholds_at(scores, rank) / 10
    judge.at_least(int((coverage >= 1 - alpha).sum()), n_draws, confidence)
    for level in (0.6, 0.7, 0.8, 0.9):
        share = int((coverage >= level).sum())
        judge.at_least(share, n_draws, stats.beta(rank, n + 1 - rank).sf(level))
