"""What the intervals of a reliability table claim."""

from __future__ import annotations

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics
from distfreeuq import references as r
from tests.unit.claims import (
    Claim,
    assert_claims,
    assert_claims_nothing,
    assert_prints,
)

RNG = np.random.default_rng(2)
SCORES = RNG.random(300)
HITS = (RNG.random(300) < SCORES).astype(int)
WEIGHTS = RNG.uniform(0.5, 2.0, 300)


def claim(what: str, level: float, weighted: bool) -> Claim:
    needs = (r.INDEPENDENT, r.WEIGHTS_BY_INPUTS) if weighted else (r.IID,)
    if weighted:
        what = f"weighted mean {what} given the rows' inputs"
    by = "Hoeffding (1963)" if weighted else "Clopper and Pearson (1934)"
    return Claim(
        f"with probability >= {level:g}, the intervals of all bins hold the bins' true "
        f"{what} at once.",
        "confidence interval",
        (*needs, r.ASSESSED_ELSEWHERE),
        f"{by}, with a union over the bins",
        confidence=level,
    )


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weighted rows"])
def test_all_bins_at_once(level, weights):
    table = metrics.reliability(SCORES, HITS, level=level, sample_weight=weights)
    expected = claim("accuracy", level, weights is not None)
    assert_claims(table.guarantee, expected)
    assert_prints(table, expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weighted rows"])
def test_frequencies_of_a_class(weights):
    table = dfu.assess(
        SCORES, HITS, event="class-1", sample_weight=weights, n_sim=0, n_boot=0
    ).reliability
    expected = claim(f"frequency of {table.event}", table.level, weights is not None)
    assert "1" in table.event
    assert_claims(table.guarantee, expected)
    assert_prints(table, expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weighted rows"])
def test_bins_that_the_rows_chose_claim_nothing(weights):
    table = metrics.reliability(
        SCORES, HITS, scheme="uniform-mass", sample_weight=weights
    )
    assert_claims_nothing(table, "the bins were chosen by the rows that they count")


def test_facts_and_headers():
    table = metrics.reliability(SCORES, HITS, n_bins=20, level=0.9)
    page = table.summary().page
    facts = dict(page.facts)
    assert facts["Rows"] == "300" and facts["ECE"] == f"{table.ece:.4f}"
    assert facts["Bins"] == f"20, {int((table.weight == 0).sum())} empty"
    assert facts["Over-confident ECE"] == f"{table.overconfident_ece:.4f}"
    assert facts["Largest gap"] == f"{table.max_gap:.4f}"
    assert page.tables[0].headers[-2:] == ["gap", "90%"]


def test_a_level_is_never_rounded_up():
    table = metrics.reliability(SCORES, HITS, level=1.0 - 1e-7)
    assert table.guarantee.statement.startswith("with probability >= 0.9999, ")


@pytest.mark.parametrize("scheme", ["equal-width", "uniform-mass", [0.3, 0.6]])
def test_the_l2_error(scheme):
    found = metrics.l2_ece_interval(
        SCORES, HITS, event="class-1", level=0.9, scheme=scheme
    )
    edges = () if isinstance(scheme, str) else (r.EDGES_CHOSEN_ELSEWHERE,)
    expected = Claim(
        "with probability >= 0.9, the interval holds the root mean squared gap, over "
        "the bins of these rows, of their mean confidence and the event's mean "
        "frequency at these confidences.",
        "confidence interval",
        ("outcomes independent given the confidences", *edges, r.ASSESSED_ELSEWHERE),
        "Chernoff's bound, summed over the bins (theory page, 9.7)",
        confidence=0.9,
    )
    assert_claims(found.guarantee, expected)
    assert_prints(found, expected)
