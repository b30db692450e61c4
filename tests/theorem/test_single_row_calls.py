"""A server predicts one row per call, always with the same seed: coverage is kept.

One new row per calibration draw, so that hits are exactly binomial given the seed.
"""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base.random_streams import stream
from distfreeuq.theorems.conformal.seeded_uniforms import five_outputs
from distfreeuq.theorems.conformal.split_coverage import certain
from distfreeuq.theorems.draws.calibration_draws import simplex_rows
from tests.theorem.binomial import Judge, RefutedError

pytestmark = pytest.mark.slow

N, ALPHA, SEEDS = 50, 0.1, range(60)
ROWS = {"continuous": simplex_rows, "five outputs": five_outputs, "one": certain}


def one_uniform_for_all(seed):
    """Return what every call drew first, when each had the seed's stream."""
    return stream(seed, "predict", "predict").random(1)


def hits(rows, seed, n_draws, *, broken=False):
    """Count the draws whose new row, in a call of its own, is covered."""
    probs, labels = rows(np.random.default_rng([1, seed]), n_draws * (N + 1))
    probs, labels = probs.reshape(n_draws, N + 1, -1), labels.reshape(n_draws, N + 1)
    total = 0
    for i in range(n_draws):
        rng = stream(seed, "fit", "fit") if broken else seed
        fit = dfu.split_conformal(probs[i, :N], labels[i, :N], alpha=ALPHA, rng=rng)
        u = one_uniform_for_all(seed) if broken else None
        total += fit.predict(probs[i, N:], uniforms=u).mask[0, labels[i, N]]
    return int(total)


@pytest.mark.parametrize("name", ROWS)
def test_single_rows_are_covered_with_every_seed(name):
    judge = Judge(claims=len(SEEDS) + 1)
    counts = [hits(ROWS[name], seed, 400) for seed in SEEDS]
    for count in counts:
        judge.at_least(count, 400, 1 - ALPHA)
    judge.at_least(sum(counts), 400 * len(SEEDS), 1 - ALPHA)


@pytest.mark.parametrize("name", ["continuous", "five outputs"])
def test_one_stream_per_call_is_refuted(name):
    judge = Judge(claims=1)
    worst = max(SEEDS, key=one_uniform_for_all)
    count = hits(ROWS[name], worst, 2000, broken=True)
    with pytest.raises(RefutedError):
        judge.at_least(count, 2000, 1 - ALPHA)


def test_one_stream_per_call_is_refuted_for_a_classifier_that_is_certain():
    """Whether all rows are covered or none is the seed's alone."""
    counts = {hits(certain, seed, 20, broken=True) for seed in SEEDS}
    assert counts == {0, 20}
