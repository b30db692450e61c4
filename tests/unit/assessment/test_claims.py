"""What the test of calibration claims, and what comparisons and intervals do not."""

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

RNG = np.random.default_rng(11)
LABELS = RNG.choice(3, 400)
ODDS = np.exp(RNG.normal(size=(400, 3)) + 1.5 * np.eye(3)[LABELS])
PROBS = ODDS / ODDS.sum(axis=1, keepdims=True)
RATIO = RNG.uniform(0.5, 2.0, 400)

UNWEIGHTED = Claim(
    "if the classifier is calibrated, the test's p-value is at most a with probability "
    "at most a, for every a.",
    "calibration",
    (r.INDEPENDENT, r.ASSESSED_ELSEWHERE),
    "Monte Carlo test: Barnard (1963); Vaicenavicius et al. (2019)",
)
WEIGHTED = Claim(
    "if the classifier is calibrated on the target, the test's p-value is at most a "
    "with probability at most a, for every a.",
    "calibration",
    (r.TRUE_RATIO, r.FINITE_VARIANCE, r.IID, r.ASSESSED_ELSEWHERE),
    "random signs in bins (theory page, 9.2)",
    finite_sample=False,
)


def assess(**options):
    return dfu.assess(PROBS, LABELS, **({"n_sim": 19, "n_boot": 0, "rng": 0} | options))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(None, UNWEIGHTED), (np.full(400, 2.0), UNWEIGHTED), (RATIO, WEIGHTED)],
    ids=["no weights", "equal weights", "weights"],
)
def test_the_test_of_calibration(weights, expected):
    result = assess(sample_weight=weights)
    assert_claims(result.guarantee, expected)
    assert_prints(result, expected)


def test_no_test_claims_nothing():
    reason = "no test of calibration was asked for (n_sim=0)"
    assert_claims_nothing(assess(n_sim=0), reason)


def test_comparisons_claim_nothing():
    flat = np.sqrt(PROBS) / np.sqrt(PROBS).sum(axis=1, keepdims=True)
    both = {"a": PROBS, "b": flat}
    assert_claims_nothing(
        dfu.compare(both, LABELS, n_boot=19, rng=0),
        "bootstrap intervals are approximate, and hold in the limit of many rows only",
    )
    assert_claims_nothing(
        dfu.compare(both, LABELS, n_boot=0, rng=0),
        "no intervals were asked for (n_boot=0)",
    )
    result = dfu.compare_calibrations(
        np.log(PROBS), LABELS, sample_weight=RATIO, n_rep=2, rng=0
    )
    assert_claims_nothing(
        result,
        "metrics of samples. With the true density ratio a weighted loss is the "
        "target's in expectation (Pampari & Ermon 2020, Thm 4.1), which promises "
        "nothing about the ECE",
    )
    notes = dict(result.summary().page.notes)
    assert notes["Spread"] == (
        "in parentheses the standard deviation over 2 random splits of the same rows: "
        "what the split does, no standard error."
    )
    assert notes["Target"] == (
        "its metrics are estimated on the held-out source rows by their weights: they "
        "are as good as the weights are."
    )


# ------------------------------------------------------------------------------- notes


def test_intervals_are_called_approximate_and_only_the_exact_one_exact():
    text = dict(assess(n_boot=19).summary().page.notes)["Intervals"]
    start = (
        "19 bootstrap samples of rows, each interval by itself, approximate. "
        "Calibration errors are biased upwards; their intervals are about the "
        "corrected values. "
    )
    assert text == f"{start}That of accuracy is exact (Clopper-Pearson)."
    result = assess(n_boot=19, sample_weight=RATIO)
    text = dict(result.summary().page.notes)["Intervals"]
    assert (
        text == f"{start}With unequal weights intervals may cover less than they say."
    )
    flat = np.sqrt(PROBS) / np.sqrt(PROBS).sum(axis=1, keepdims=True)
    result = dfu.compare({"a": PROBS, "b": flat}, LABELS, n_boot=19, rng=0)
    assert dict(result.summary().page.notes)["Intervals"] == (
        "19 bootstrap samples of rows, the same for all classifiers; basic intervals, "
        "each by itself, approximate."
    )


def test_facts():
    facts = dict(assess().summary().page.facts)
    assert facts["Rows"] == "400" and "Effective sample size" not in facts
    result = assess(sample_weight=RATIO)
    facts = dict(result.summary().page.facts)
    ess = RATIO.sum() ** 2 / (RATIO @ RATIO)
    assert float(facts["Effective sample size"]) == pytest.approx(ess, abs=0.06)
    p = result.test.p_value
    mark = "<= " if p <= 1 / 20 else ""
    assert facts["Test of calibration, p-value"] == f"{mark}{p:.4g}"


def test_the_class_of_the_largest_error_is_named():
    names = ["ash", "beech", "cedar"]
    labels = np.repeat([0, 1], 60)
    probs = np.tile([0.5, 0.49, 0.01], (120, 1))
    probs[60:] = [0.3, 0.6, 0.1]
    probs[-3:] = [0.01, 0.04, 0.95]
    result = dfu.assess(
        probs, [names[k] for k in labels], classes=names, n_sim=0, n_boot=0
    )
    notes = dict(result.summary().page.notes)
    assert notes["max-ECE"] == "that of cedar, which is predicted in 3 rows only."


def test_a_small_error_is_said_to_be_noise_in_part():
    result = assess(n_boot=19)
    if not result.near_zero:
        pytest.fail("these rows should have a small ECE")
    times = result["ece"] / result.noise
    start = (
        f"the ECE is {times:.2g} times the {result.noise:.4f} that a calibrated "
        "classifier has on average in a sample like this: part of it is noise"
    )
    never = ", and below 4 times no interval of it is known to cover"
    notes = dict(result.summary().page.notes)
    tells = "The test tells whether all of it may be."
    assert notes["Note"] == f"{start}{never}. {tells}"
    notes = dict(assess().summary().page.notes)
    assert notes["Note"] == f"{start}. {tells}"


def test_a_p_value_at_its_floor_is_a_bound():
    sharp = PROBS**8 / (PROBS**8).sum(axis=1, keepdims=True)
    result = dfu.assess(sharp, LABELS, n_sim=19, n_boot=0, rng=0)
    assert result.test.p_value == pytest.approx(1 / 20)
    facts = dict(result.summary().page.facts)
    assert facts["Test of calibration, p-value"] == "<= 0.05"
    # 1 / 301 is 0.00332226 and 1 / 3 is 0.33333: as bounds they are rounded up
    for n_sim, printed in ((300, "<= 0.003323"), (2, "<= 0.3334"), (499, "<= 0.002")):
        result = dfu.assess(sharp, LABELS, n_sim=n_sim, n_boot=0, rng=0)
        facts = dict(result.summary().page.facts)
        assert facts["Test of calibration, p-value"] == printed


def test_target_labels_are_a_reference_only():
    result = dfu.compare_calibrations(
        np.log(PROBS[:200]),
        LABELS[:200],
        np.log(PROBS[200:]),
        LABELS[200:],
        n_rep=2,
        rng=0,
    )
    assert dict(result.summary().page.notes)["Using target"] == (
        "a reference, no lower bound: the calibrator minimises a loss, not the ECE, on "
        "rows of its own."
    )


@pytest.mark.parametrize(("n_wrong", "given"), [(19, False), (20, True)])
@pytest.mark.parametrize("right", [True, False])
def test_the_weighted_test_is_not_given_with_few_right_or_wrong_rows(
    n_wrong, given, right
):
    """With fewer than five wrong rows its level was 24 % to 36 % at nominal 5 %."""
    n = 200
    labels = (np.arange(n) >= n_wrong).astype(int)
    labels = labels if right else 1 - labels
    weights = np.ones(n)
    weights[n // 2] = 0.5  # unequal, and the few rows all of one weight
    options = {"predicted": np.ones(n, dtype=int), "n_sim": 19, "rng": 0}
    result = dfu.assess(np.full(n, 0.9), labels, sample_weight=weights, **options)
    facts = dict(result.summary().page.facts)
    assert (facts["Test of calibration, p-value"] != "-") == given
    assert isinstance(result.guarantee, dfu.Guarantee) == given
    if not given:
        assert result.guarantee.reason.startswith("right or wrong rows are fewer than")
    # without weights it is exact, however few they are
    exact = dfu.assess(np.full(n, 0.9), labels, **options)
    assert exact.guarantee.finite_sample
