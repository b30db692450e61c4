"""Split conformal prediction: single fits agree with the batches of the theorems.

Coverage itself is checked by the theorems "split-coverage", "split-coverage-exact",
"training-conditional-coverage" and "pac-coverage" (test_registry.py).
"""

from dataclasses import dataclass, field

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq._numerics.quantiles import conformal_rank, smallest_order_statistic
from distfreeuq.theorems.conformal.split_coverage import SCORES as ALL_SCORES
from distfreeuq.theorems.draws.calibration_draws import simplex_rows
from tests.theorem.binomial import Judge, RefutedError

SCORES = {score.name: score for score in ALL_SCORES}


@dataclass
class PublicDraws:
    """Draws that the public functions and the batch see alike."""

    probs: np.ndarray  # (n_draws, n + 1, K)
    labels: np.ndarray  # (n_draws, n + 1)
    streams: dict[int, np.random.Generator] = field(default_factory=dict)

    def batch_scores(self, score):
        n_draws, rows, n_classes = self.probs.shape
        if SCORES[score].uses_uniforms:
            streams = map(np.random.default_rng, range(n_draws))
            uniforms = [stream.random(rows) for stream in streams]
        else:
            uniforms = np.ones((n_draws, rows))
        return dfu.nested_scores(
            self.probs.reshape(-1, n_classes),
            self.labels.ravel(),
            score=SCORES[score],
            uniforms=np.ravel(uniforms),
        ).reshape(n_draws, rows)

    def fit(self, i, **options):
        self.streams[i] = np.random.default_rng(i)
        return dfu.split_conformal(
            self.probs[i, :-1], self.labels[i, :-1], rng=self.streams[i], **options
        )

    def covered(self, i, fit):
        sets = fit.predict(self.probs[i, -1:], rng=self.streams[i])
        return bool(sets.mask[0, self.labels[i, -1]])


def public_draws(n_draws, n, n_classes, seed, sharpness=2.0):
    probs, labels = simplex_rows(
        np.random.default_rng(seed),
        n_draws * (n + 1),
        n_classes=n_classes,
        sharpness=sharpness,
    )
    return PublicDraws(
        probs.reshape(n_draws, n + 1, n_classes), labels.reshape(n_draws, n + 1)
    )


def thresholds_at(scores, rank):
    """Return each draw's threshold: the rank-th smallest calibration score, or +inf."""
    return np.array([smallest_order_statistic(row[:-1], rank) for row in scores])


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


def test_never_empty_only_raises_coverage():
    judge = Judge(claims=2)
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


def test_public_pac_fits_agree_with_the_batch():
    draws = public_draws(100, 50, 4, seed=3)
    scores = draws.batch_scores("aps")
    thresholds = thresholds_at(scores, bounds.pac_rank(50, 0.1, 0.1))
    for i, threshold in enumerate(thresholds):
        fit = draws.fit(i, alpha=0.1, confidence=0.9)
        assert fit.thresholds.tolist() == [threshold] * 4
        assert draws.covered(i, fit) == (scores[i, -1] <= threshold)
