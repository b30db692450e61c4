"""The judge itself: it refutes what is all but impossible, and nothing else."""

import numpy as np
import pytest
from scipy import stats

from tests.theorem.binomial import Judge, RefutedError


def test_the_tails_are_exact():
    # of 20 fair coins, P(0 heads) = 2^-20 = 9.5e-7
    judge = Judge(claims=2, false_alarm=2e-6)
    with pytest.raises(RefutedError):
        judge.at_least(0, 20, 0.5)
    with pytest.raises(RefutedError):
        judge.at_most(20, 20, 0.5)
    judge = Judge(claims=3, false_alarm=2.7e-6)
    judge.at_least(0, 20, 0.5)
    judge.at_most(20, 20, 0.5)
    judge.exactly(0, 20, 0.5)


def test_each_side_of_an_equality_gets_half_the_level():
    # two-sided: twice 2^-20 = 1.9e-6
    for hits in (0, 20):
        Judge(claims=1, false_alarm=1.9e-6).exactly(hits, 20, 0.5)
        with pytest.raises(RefutedError):
            Judge(claims=1, false_alarm=2e-6).exactly(hits, 20, 0.5)


def test_a_certain_event_must_never_miss():
    judge = Judge(claims=4)
    judge.exactly(1000, 1000, 1.0)
    judge.at_least(1000, 1000, 1.0)
    with pytest.raises(RefutedError):
        judge.exactly(999, 1000, 1.0)
    with pytest.raises(RefutedError):
        judge.at_least(999, 1000, 1.0)


def test_a_law_is_told_from_its_neighbour():
    judge = Judge(claims=2)
    sample = stats.beta(9, 1).ppf((np.arange(20_000) + 0.5) / 20_000)
    judge.follows(sample, stats.beta(9, 1))
    with pytest.raises(RefutedError):
        judge.follows(sample, stats.beta(8, 2))


def test_no_more_claims_than_announced():
    judge = Judge(claims=1)
    judge.at_least(5, 10, 0.5)
    with pytest.raises(RuntimeError, match="more than the 1 claims announced"):
        judge.at_least(5, 10, 0.5)
