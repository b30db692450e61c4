"""What tables of bins claim: by bins, by bound, by weights, and under label shift."""

from __future__ import annotations

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import references as r
from tests.unit.claims import (
    Claim,
    assert_claims,
    assert_claims_nothing,
    assert_prints,
)

RNG = np.random.default_rng(7)
LABELS = RNG.choice(3, 600, p=[0.4, 0.35, 0.25])
ODDS = np.exp(RNG.normal(size=(600, 3)) + 1.5 * np.eye(3)[LABELS])
PROBS = ODDS / ODDS.sum(axis=1, keepdims=True)
TARGET = PROBS[RNG.permutation(600)[:300]]
SCORES, HITS = PROBS[:, 0], (LABELS == 0).astype(int)
RATIO = RNG.uniform(0.5, 2.0, 600)

EDGE = (
    "new rows exactly on an edge that calibration rows are on are excepted (there are "
    "none if scores are continuous)"
)
FIXED = "the bins were chosen without looking at these rows"
OTHERS = "the rows that chose the bins are independent of the rows counted"
COORDINATES = "the rows that chose the coordinates are independent of the rows counted"
OWN = (r.CALIBRATION_IID, r.FITTED_ELSEWHERE)
KNOWN = (r.LABEL_SHIFT, r.TRUE_LABEL_WEIGHT)
REGION = (r.LABEL_SHIFT, "the region holds the true weights at its level")
RATIO_NEEDS = (r.COVARIATE_SHIFT, r.TRUE_BOUNDED_RATIO)

WHAT = {
    "canonical": "sum_k |P(Y = k | bin) - frequency_k|",
    "classwise": "|P(Y = k | bin of class k) - frequency|",
    "top-label": "|P(top label is right | bin) - frequency|",
}
THM_3 = "Podkopaev & Ramdas (2021), Thm 3"
EXACT = f"{THM_3}, exact: Clopper-Pearson for every subset (theory page, 2.1)"
BLOCKS = "; statistically equivalent blocks (theory page, 2.2)"
EDGES = "; edges at order statistics: Gupta & Ramdas (2021)"
THM_4 = (
    "Podkopaev & Ramdas (2021), Prop. 1 and Thm 4, repaired (theory page, 2.3); "
    "source: "
)
NOT_ON_AN_EDGE = "for rows not on an edge, "


def claim(
    fit,
    needs,
    by,
    *,
    mode="canonical",
    where="",
    over="calibration rows",
    confidence=0.9,
    excepted=True,
    end=".",
    **more,
):
    rows = NOT_ON_AN_EDGE if excepted else ""
    size = "at most {<=} in bins that have rows"
    trivial = 2.0 if mode == "canonical" else 1.0
    if fit.radius[fit.bin_counts > 0].min() >= trivial:
        size = f"vacuous: the radius is the trivial {trivial:g} in every bin"
    return Claim(
        f"with probability >= {confidence:g} over the {over}, {WHAT[mode]} <= radius "
        f"{where}{rows}in all {fit.n_bins} bins at once ({size}){end}",
        "calibration",
        needs,
        by,
        confidence=confidence,
        upper=fit.largest_radius,
        **more,
    )


def binned(**options):
    return dfu.histogram_binning(PROBS, LABELS, n_bins=4, **options)


def check(fit, expected):
    assert_claims(fit.guarantee, expected)
    assert_prints(fit, expected)


# ------------------------------------------------------------------------ on the source

BOUNDS = {
    "clopper-pearson": EXACT,
    "hoeffding": THM_3,
    "weissman": f"{THM_3}, with 2^K - 2 (Weissman et al., 2003)",
    "mcdiarmid": f"{THM_3}, by bounded differences (theory page, 2.1)",
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_cells_that_the_rows_chose(bound):
    fit = binned(bound=bound)
    check(fit, claim(fit, (*OWN, EDGE), BOUNDS[bound] + BLOCKS))


def test_cells_whose_coordinates_others_chose():
    fit = binned(split=0.5, rng=0)
    check(fit, claim(fit, (*OWN, EDGE, COORDINATES), EXACT + BLOCKS))


def test_bins_of_a_score():
    fit = dfu.histogram_binning(SCORES, HITS, n_bins=5)
    check(fit, claim(fit, (*OWN, EDGE), EXACT + EDGES))
    fit = dfu.histogram_binning(SCORES, HITS, n_bins=5, split=0.5, rng=0)
    check(fit, claim(fit, (*OWN, OTHERS), EXACT, excepted=False))
    fit = dfu.histogram_binning(SCORES, HITS, n_bins=5, scheme="equal-width", alpha=0.2)
    check(fit, claim(fit, (*OWN, FIXED), EXACT, excepted=False, confidence=0.8))


@pytest.mark.parametrize("mode", ["classwise", "top-label"])
def test_bins_of_one_probability(mode):
    fit = binned(mode=mode)
    check(fit, claim(fit, (*OWN, EDGE), EXACT + EDGES, mode=mode))


def test_vacuous_bins_say_so():
    fit = dfu.histogram_binning(PROBS[:8], LABELS[:8], n_bins=4, bound="hoeffding")
    assert fit.radius.min() == 2.0
    check(fit, claim(fit, (*OWN, EDGE), THM_3 + BLOCKS))


def test_renormalised_frequencies_claim_nothing():
    fit = binned(mode="classwise", renormalize=True)
    reason = (
        "the class-wise frequencies are renormalised to sum to one; the radii hold for "
        "them before that"
    )
    assert_claims_nothing(fit, reason)
    assert_claims_nothing(fit.under_label_shift([1.0, 2.0, 1.0]), reason)


# ------------------------------------------------------------------------ weighted rows

WEIGHTED_BY = {
    "hoeffding, weighted": "Hoeffding (1963)",
    "chernoff, weighted": "Hoeffding (1963), Thm 1",
    "bernstein, weighted": "Maurer & Pontil (2009)",
    "betting, weighted": "Waudby-Smith & Ramdas (2024), with bets fixed in advance",
}


@pytest.mark.parametrize("options", [{}, {"bound": "hoeffding"}])
@pytest.mark.parametrize("mode", WHAT)
def test_weighted_rows(mode, options):
    fit = binned(mode=mode, sample_weight=RATIO, weight_bound=2.0, **options)
    cells = BLOCKS if mode == "canonical" else EDGES
    by = f"{WEIGHTED_BY[fit.bound]}, for weighted rows (theory page, 2.4){cells}"
    needs = (*OWN, EDGE, *RATIO_NEEDS)
    check(fit, claim(fit, needs, by, mode=mode, where="for target rows, "))


def test_who_proved_the_weighted_bounds():
    from distfreeuq.binning.guarantees import _for_weighted_rows

    for bound, by in WEIGHTED_BY.items():
        expected = f"{by}, for weighted rows (theory page, 2.4)"
        assert _for_weighted_rows(bound) == expected


def test_weights_without_a_bound_claim_nothing():
    assert_claims_nothing(
        binned(sample_weight=RATIO),
        "sample weights come without a bound (weight_bound=); the radii are those of "
        "as many unweighted rows as the effective counts, an indication only",
    )


# ------------------------------------------------------------------------ on the target


def on_target(fit, needs, by, *, how, **more):
    return claim(
        fit,
        needs,
        THM_4 + by,
        where="on the target, ",
        over="data",
        end=f", with {how}",
        **more,
    )


def test_known_shift():
    fit = binned(alpha=0.05).under_label_shift([0.5, 2.0, 1.0])
    needs = (*OWN, EDGE, *KNOWN)
    how = "known weights."
    check(fit, on_target(fit, needs, EXACT + BLOCKS, how=how, confidence=0.95))


def test_a_region_spends_its_delta():
    fit = binned().under_label_shift(dfu.bbse(PROBS, LABELS, TARGET), delta=0.02)
    needs = (*OWN, EDGE, *REGION)
    how = "weights from a 98% region."
    check(fit, on_target(fit, needs, EXACT + BLOCKS, how=how, confidence=0.88))


def test_the_level_of_a_region_is_never_rounded_up():
    fit = binned().under_label_shift(dfu.bbse(PROBS, LABELS, TARGET), delta=1e-7)
    assert fit.guarantee.statement.endswith("with weights from a 99.99% region.")


def test_a_region_in_the_limit():
    fit = binned().under_label_shift(dfu.mlls(PROBS, LABELS, TARGET), delta=0.03)
    needs = (*OWN, EDGE, *REGION)
    how = "weights from a 97% region (region in the limit)"
    expected = on_target(
        fit, needs, EXACT + BLOCKS, how=how, confidence=0.87, finite_sample=False
    )
    check(fit, expected)


def test_one_probability_under_label_shift():
    fit = binned(mode="top-label").under_label_shift([0.5, 2.0, 1.0])
    needs = (*OWN, EDGE, *KNOWN)
    by = EXACT + EDGES
    if fit.bound.endswith("weighted"):
        by = f"{WEIGHTED_BY[fit.bound]}, for weighted rows (theory page, 2.4){EDGES}"
    check(fit, on_target(fit, needs, by, mode="top-label", how="known weights."))


def test_weights_that_contradict_the_data_claim_nothing():
    empty = dfu.Box([2.0] * 3, [1.0] * 3, True)
    with pytest.warns(dfu.DistFreeWarning, match="label shift is contradicted"):
        shifted = binned().under_label_shift([1, 1, 1], region=empty)
    assert_claims_nothing(shifted, "no weights are compatible with the data")


# ------------------------------------------------------------------------ facts, notes


def test_facts():
    fit = binned(split=0.25, rng=0)
    facts = dict(fit.summary().page.facts)
    assert facts["Bins"] == "4, uniform-mass" and facts["Bound"] == "clopper-pearson"
    assert facts["Error rate alpha"] == "0.1" and facts["Classes"] == "3"
    assert facts["Rows that chose the bins"] == "150" == str(fit.n_chose)
    assert facts["Rows counted"] == str(fit.n - fit.n_boundary)
    radius = float(facts["Largest radius"])
    assert fit.largest_radius <= radius < fit.largest_radius + 1e-3
    assert fit.summary().page.title == "Calibration by binning, canonical"
    for mode, name in (("classwise", "class-wise"), ("top-label", "top label")):
        title = binned(mode=mode).summary().page.title
        assert title == f"Calibration by binning, {name}"


def test_the_radius_of_a_target_in_two_parts():
    fit = binned().under_label_shift(dfu.bbse(PROBS, LABELS, TARGET), delta=0.02)
    page = fit.summary().page
    assert page.title.endswith(", under label shift")
    text = dict(page.notes)["Radius"]
    words = text.replace(",", "").split()
    source, weight = (float(words[i + 2]) for i, w in enumerate(words) if w == "up")
    assert text.startswith("source estimation up to ")
    assert "region at delta = 0.02" in text
    for printed, exact in (
        (source, fit.shift.source_radius.max()),
        (weight, fit.shift.weight_radius.max()),
    ):
        assert exact <= printed <= exact + 1e-3


TWICE = np.repeat((np.arange(50) + 1) / 51, 2)


def test_notes_on_edges_and_empty_bins():
    fit = dfu.histogram_binning(TWICE, [0, 1] * 50, n_bins=4)
    assert fit.n_boundary > fit.n_edges
    share = f"{fit.n_boundary / fit.n:.1%}"
    notes = dict(fit.summary().page.notes)
    assert notes["Edges"] == (
        f"{fit.n_boundary} calibration rows ({share}) share {fit.n_edges} edges, as "
        "scores are discrete; nothing is claimed for new rows exactly on one of these."
    )
    with pytest.warns(dfu.RowsOnEdgesWarning) as caught:
        fit.predict(TWICE)
    assert str(caught[0].message).endswith(
        "lie exactly on an edge that calibration rows chose: they get the frequencies "
        "of the bin below, for which nothing is claimed. With split= or edges of your "
        "own every row is in a bin."
    )
    fit = dfu.histogram_binning(SCORES / 2, HITS, n_bins=4, scheme="equal-width")
    assert dict(fit.summary().page.notes)["Empty"] == (
        "bins without rows: 2, whose radius is the trivial one."
    )
    with pytest.warns(dfu.EmptyBinWarning) as caught:
        fit.predict([0.9, 0.1])
    assert str(caught[0].message) == (
        "1 of 2 rows fall into bins without calibration rows: their probabilities are "
        "the class prior, for which nothing is claimed."
    )


def test_rows_on_an_edge_get_the_bin_below():
    fit = dfu.histogram_binning(TWICE, (TWICE > 0.4).astype(int), n_bins=4)
    for edge in fit.edges[1:-1]:
        with pytest.warns(dfu.RowsOnEdgesWarning):
            on, below = fit.predict([edge, edge - 1e-9])[:, 1]
        assert on == below
    assert np.unique(fit.frequencies[:, 1]).size > 1
