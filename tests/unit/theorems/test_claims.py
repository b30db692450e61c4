"""Claims: what an interval settles, and what is no claim."""

import pytest

import distfreeuq as dfu
from distfreeuq.theorems import Claim


@pytest.mark.parametrize(
    ("claim", "low", "high", "verdict"),
    [
        (Claim("e", at_least=0.9, tolerance=0.02), 0.95, 0.99, "holds"),
        (Claim("e", at_least=0.9, tolerance=0.02), 0.885, 0.99, "holds"),
        (Claim("e", at_least=0.9, tolerance=0.02), 0.875, 0.99, "undecided"),
        (Claim("e", at_least=0.9, tolerance=0.02), 0.5, 0.9, "undecided"),
        (Claim("e", at_least=0.9, tolerance=0.02), 0.5, 0.899, "violated"),
        # beyond doubt below the bound, though within the tolerance: still false
        (Claim("e", at_least=0.9, tolerance=0.02), 0.89, 0.899, "violated"),
        (Claim("e", at_most=0.1, tolerance=0.02), 0.0, 0.05, "holds"),
        (Claim("e", at_most=0.1, tolerance=0.02), 0.0, 0.115, "holds"),
        (Claim("e", at_most=0.1, tolerance=0.02), 0.0, 0.125, "undecided"),
        (Claim("e", at_most=0.1, tolerance=0.02), 0.101, 0.5, "violated"),
        (Claim("e", equals=0.5, tolerance=0.02), 0.485, 0.515, "holds"),
        (Claim("e", equals=0.5, tolerance=0.02), 0.475, 0.515, "undecided"),
        (Claim("e", equals=0.5, tolerance=0.02), 0.485, 0.525, "undecided"),
        (Claim("e", equals=0.5, tolerance=0.02), 0.501, 0.515, "violated"),
        (Claim("e", equals=0.5, tolerance=0.02), 0.485, 0.499, "violated"),
        # what always or never happens: one occurrence moves an end off the bound
        (Claim("e", at_most=0.0), 0.0, 0.009, "holds"),
        (Claim("e", at_most=0.0), 1e-9, 0.009, "violated"),
        (Claim("e", at_least=1.0), 0.995, 1.0, "holds"),
        (Claim("e", at_least=1.0), 0.995, 0.9999, "violated"),
    ],
)
def test_what_an_interval_settles(claim, low, high, verdict):
    assert claim.verdict(low, high) == verdict


def test_a_smaller_tolerance_is_harder_to_meet():
    claim = Claim("e", at_least=0.9, tolerance=0.02)
    assert claim.verdict(0.885, 0.95) == "holds"
    assert claim.verdict(0.885, 0.95, tolerance=0.01) == "undecided"


def test_claims_in_words():
    assert str(Claim("covered", at_least=0.9)) == "P(covered) >= 0.9"
    assert str(Claim("p <= alpha", at_most=1 / 3)) == "P(p <= alpha) <= 0.3333"
    assert str(Claim("loss", equals=0.25, mean=True)) == "E[loss] = 0.25"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of at_least, at_most and equals"),
        ({"at_least": 0.1, "at_most": 0.9}, "exactly one of"),
        ({"at_least": 1.2}, "a probability in .0, 1.. Got 1.2"),
        ({"equals": float("nan")}, "a probability in"),
        ({"equals": 0.5, "tolerance": 0.0}, "'tolerance' parameter of Claim"),
    ],
)
def test_what_is_no_claim(options, message):
    with pytest.raises(dfu.InputError, match=message):
        Claim("event", **options)
