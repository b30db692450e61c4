"""False alarms of ten thousand streams, judged by an exact binomial tail."""

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
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


# ----------------------------------------------------- class proportions, as they drift


def ever_outside(n_draws, shares, wrong):
    """Return whether average proportions are ever outside, before or after an alarm.

    `shares` are those of class 1 in the stream, of whose rows the share `wrong` is
    predicted as the other class; in the source it is a fifth.
    """
    rng = np.random.default_rng(3)
    outside = np.zeros(n_draws, dtype=bool)
    for i in range(n_draws):
        source = rows(rng, np.full(300, 0.3), 0.2)
        monitor = dfu.shift_monitor(*source, score="class", alpha=0.5, rng=rng)
        probs, _ = rows(rng, shares, wrong)
        for stop in (80, 160, 240):
            monitor.update(probs[stop - 80 : stop])
            counted = shares[monitor.alarm_at or 0 : stop]
            if counted.size:
                truth = np.array([1.0 - counted.mean(), counted.mean()])
                low, high = monitor.confint(0.3).T
                outside[i] |= not ((low <= truth) & (truth <= high)).all()
    return outside


def rows(rng, shares, wrong):
    labels = (rng.random(shares.size) < shares).astype(int)
    top = np.where(rng.random(shares.size) < wrong, 1 - labels, labels)
    return np.where(top == 1, 0.8, 0.2), labels


@pytest.mark.slow
def test_drifting_proportions_are_inside_and_those_of_no_label_shift_are_not():
    inside = ever_outside(30, np.linspace(0.3, 0.7, 240), 0.2)
    assert stats.binom.sf(inside.sum() - 1, inside.size, 0.3) >= JUDGED_AT
    outside = ever_outside(20, np.full(240, 0.1), 0.9)
    assert stats.binom.sf(outside.sum() - 1, outside.size, 0.3) < JUDGED_AT
