"""What a run of the registry and a search claim of their own verdicts."""

from __future__ import annotations

import pytest

from distfreeuq.theorems.engine.guarantees import error_statement, search_statement
from tests.unit.claims import Claim, assert_claims

NEEDS = ("the generator's numbers are as good as random",)
BY = "Clopper and Pearson (1934); Bonferroni"


def test_verdicts():
    expected = Claim(
        "the probability that any of the 12 verdicts is wrong is at most 0.001: exact "
        "binomial intervals at every planned look, Bonferroni over looks and claims.",
        "confidence interval",
        NEEDS,
        BY,
        confidence=0.999,
    )
    assert_claims(error_statement(0.001, 12), expected)


@pytest.mark.parametrize(
    ("n_drawn", "how"),
    [
        (0, "sums without simulation"),
        (
            5,
            "fresh draws and exact binomial intervals, Bonferroni over 5 finalists, or "
            "sums without simulation",
        ),
    ],
)
def test_searches(n_drawn, how):
    expected = Claim(
        "if all of the 40 designs keep the claim, one is called violated with "
        f"probability at most 0.01: {how}. That none is found proves nothing.",
        "confidence interval",
        NEEDS,
        BY,
        confidence=0.99,
    )
    assert_claims(search_statement(0.01, 40, n_drawn), expected)
