"""The sequential design: its error is computed exactly, look by look, and kept."""

import numpy as np
import pytest
from scipy import stats

from distfreeuq.theorems import Claim
from distfreeuq.theorems.engine.sequential import (
    N_LOOKS,
    Plan,
    draws_needed,
    exact_interval,
    plan_for,
)

ERROR = 0.05
CLAIMS = [
    Claim("e", at_least=0.9, tolerance=0.05),
    Claim("e", at_most=0.3, tolerance=0.1),
    Claim("e", equals=0.5, tolerance=0.1),
    Claim("e", equals=0.97, tolerance=0.03),
    Claim("e", at_most=0.0, tolerance=0.02),
    Claim("e", at_least=1.0, tolerance=0.02),
]


def outcomes(claim, plan, p, interval=None):
    """Return the exact probability of every verdict if the event has probability p.

    The law of the count among paths that are still undecided, convolved from look to
    look.
    """
    interval = plan.interval if interval is None else interval
    found = dict.fromkeys(("holds", "violated", "undecided"), 0.0)
    undecided, before = np.ones(1), 0
    for draws in plan.looks:
        more = stats.binom.pmf(np.arange(draws - before + 1), draws - before, p)
        undecided, before = np.convolve(undecided, more), draws
        for hits in range(draws + 1):
            verdict = claim.verdict(*interval(hits, draws))
            if verdict != "undecided":
                found[verdict] += undecided[hits]
                undecided[hits] = 0.0
    found["undecided"] = undecided.sum()
    assert sum(found.values()) == pytest.approx(1.0)
    return found


def just_beyond(claim):
    """Return probabilities at which "holds" would be wrong, by next to nothing."""
    ends = []
    if claim.sense != "<=":
        ends.append(claim.bound - claim.tolerance - 1e-9)
    if claim.sense != ">=":
        ends.append(claim.bound + claim.tolerance + 1e-9)
    return [p for p in ends if 0.0 <= p <= 1.0]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_wrong_verdicts_are_as_rare_as_agreed(claim):
    plan = plan_for((claim,), error=ERROR, batch=5)
    assert outcomes(claim, plan, claim.bound)["violated"] <= ERROR
    for p in just_beyond(claim):
        assert outcomes(claim, plan, p)["holds"] <= ERROR


def test_without_sharing_the_error_among_looks_they_are_not():
    """The broken twin: every look spends the whole error."""
    claim = Claim("e", equals=0.5, tolerance=0.1)
    plan = plan_for((claim,), error=ERROR, batch=5)
    found = outcomes(
        claim, plan, 0.5, lambda hits, draws: exact_interval(hits, draws, ERROR)
    )
    assert found["violated"] > 1.5 * ERROR


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_what_is_true_to_the_letter_is_decided(claim):
    plan = plan_for((claim,), error=1e-3, batch=10)
    assert outcomes(claim, plan, claim.bound)["holds"] > 0.998
    for p in just_beyond(claim):
        assert outcomes(claim, plan, p)["violated"] > 0.998


def test_between_bound_and_tolerance_both_verdicts_are_right():
    claim = Claim("e", at_least=0.9, tolerance=0.05)
    found = outcomes(claim, plan_for((claim,), error=1e-3, batch=10), 0.875)
    assert found["holds"] > 0.1 and found["violated"] > 0.1


@pytest.mark.parametrize("p", [0.85, 0.9, 0.95])
def test_too_few_draws_leave_undecided_what_they_cannot_tell(p):
    claim = Claim("e", at_least=0.9, tolerance=0.05)
    few = plan_for((claim,), error=1e-3, batch=10, n_draws=40)
    assert outcomes(claim, few, p)["undecided"] > 0.99


def test_simulated_runs_agree_with_the_exact_computation():
    claim = Claim("e", equals=0.5, tolerance=0.1)
    plan = plan_for((claim,), error=0.3, batch=5)
    exact = outcomes(claim, plan, 0.45)
    rng = np.random.default_rng(0)
    found = dict.fromkeys(exact, 0)
    n_runs = 4000
    for _ in range(n_runs):
        path = np.cumsum(rng.random(plan.looks[-1]) < 0.45)
        for draws in plan.looks:
            verdict = claim.verdict(*plan.interval(int(path[draws - 1]), draws))
            if verdict != "undecided":
                break
        found[verdict] += 1
    for verdict, p in exact.items():
        assert stats.binom.cdf(found[verdict], n_runs, p) > 1e-6
        assert stats.binom.sf(found[verdict] - 1, n_runs, p) > 1e-6


def test_intervals_are_clopper_and_pearsons():
    for hits, draws in ((0, 7), (3, 7), (7, 7), (950, 1000)):
        expected = stats.binomtest(hits, draws).proportion_ci(0.99, method="exact")
        assert exact_interval(hits, draws, 0.01) == pytest.approx(
            (expected.low, expected.high), abs=1e-12
        )


def test_looks_are_whole_batches_that_double():
    plan = plan_for((Claim("e", at_least=0.9),), error=1e-6, batch=1000)
    assert len(plan.looks) == N_LOOKS
    assert all(draws % 1000 == 0 for draws in plan.looks)
    assert all(2 * a >= b for a, b in zip(plan.looks, plan.looks[1:], strict=False))
    assert plan.looks[-1] >= 2 * draws_needed(Claim("e", at_least=0.9), 1e-6 / N_LOOKS)


def test_a_given_number_of_draws_is_not_exceeded():
    claims = (Claim("e", at_least=0.9),)
    assert plan_for(claims, error=1e-6, batch=1000, n_draws=2500).looks == (1000, 2000)
    assert plan_for(claims, error=1e-6, batch=1000, n_draws=7) == Plan((7,), 7, 1e-6)


def test_a_third_of_the_tolerance_takes_nine_times_the_draws():
    claim = Claim("e", at_least=0.9, tolerance=0.03)
    ratio = draws_needed(claim, 1e-6, 3.0) / draws_needed(claim, 1e-6)
    assert 8.0 < ratio < 10.0


def test_the_sharpest_claim_of_an_experiment_decides_how_long_it_lasts():
    sharp, blunt = Claim("e", equals=0.5, tolerance=0.01), Claim("e", at_least=0.9)
    together = plan_for((sharp, blunt), error=1e-6, batch=100)
    assert together == plan_for((sharp,), error=1e-6, batch=100)
