"""False alarms of ten thousand streams, judged by an exact binomial tail."""

import numpy as np
import pytest
from scipy import stats

from distfreeuq.theorems.monitoring.stream_alarms import (
    ALPHA,
    KINDS,
    trapped,
    watched,
)

JUDGED_AT = 1e-6


def too_many(alarms):
    return stats.binom.sf(alarms.sum() - 1, alarms.size, ALPHA) < JUDGED_AT


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_are_no_more_than_alpha(kind):
    alarms = watched(np.random.default_rng(11), 10_000, kind=kind)["alarm"]
    assert not too_many(alarms)
    assert alarms.any()


@pytest.mark.slow
@pytest.mark.parametrize("trap", ["fixed", "scores", "hash"])
def test_what_is_broken_raises_too_many(trap):
    assert too_many(trapped(np.random.default_rng(12), 400, trap=trap)["alarm"])
