"""What calibrators claim: an excess risk for temperatures, and nothing for others."""

from __future__ import annotations

import re

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq import references as r
from distfreeuq.references import cited
from tests.unit.claims import (
    Claim,
    assert_claims,
    assert_claims_nothing,
    assert_prints,
)

RNG = np.random.default_rng(3)
N = 20_000
LABELS = RNG.choice(3, N)
LOGITS = np.clip(RNG.normal(size=(N, 3)) + np.eye(3)[LABELS], -2.0, 2.0)
RANGE = float(np.ptp(LOGITS, axis=1).max())
ALPHAS = (0.5, 2.0)
SETTINGS = {"bounds": ALPHAS}

ROWS = "these rows and new rows i.i.d."
DECLARED = "the logits of any row range over at most 4.5, as declared"
MEASURED = (
    f"the logits of any row range over at most {RANGE:.4g}, which was measured on "
    "these rows and should be known in advance"
)
THM = "Zhao, Chen & Oymak (2020), Thm 4.1; tighter constants: theory page, 8"
COR = (
    "Zhao, Chen & Oymak (2020), Cor. 4.2 with the observed counts; tighter constants: "
    "theory page, 8"
)


def temperatures(**options):
    return dfu.temperature_scaling(LOGITS, LABELS, **SETTINGS, **options)


def classwise(**options):
    return dfu.classwise_temperature_scaling(LOGITS, LABELS, **SETTINGS, **options)


def paper_number(statement):
    return [float(x) for x in re.findall(r"constants, ([\d.e+-]+\d)", statement)]


def check(fit, expected):
    # what the paper's own constants give is checked by itself
    claim = fit.guarantee
    printed = re.search(r"own constants, (.*)\.$", claim.statement)
    assert printed
    full = Claim(**{**vars_of(expected), "statement": expected.statement + printed[0]})
    assert_claims(claim, full)
    assert_prints(fit, full)


def vars_of(claim):
    return {name: getattr(claim, name) for name in claim.__dataclass_fields__}


@pytest.mark.parametrize("loss", ["nll", "brier"])
@pytest.mark.parametrize("declared", [None, 4.5])
def test_one_temperature(loss, declared):
    fit = temperatures(loss=loss, logit_range=declared, delta=0.1)
    widest = declared or RANGE
    if loss == "nll":
        constants, scale = bounds.nll_constants(widest, 3, ALPHAS[1]), 1.0
    else:
        constants, scale = bounds.half_brier_constants(widest), 2.0
    bound = scale * float(
        bounds.cts_excess_risk_tight(
            N, 1, 0.1, alpha_bounds=ALPHAS, gamma=0.0, **constants._asdict()
        )
    )
    name = {"nll": "NLL", "brier": "Brier score"}[loss]
    expected = Claim(
        f"with probability >= 0.9 over these rows, the expected {name} of new rows "
        "exceeds that of the best temperature with 1/T in [0.5, 2] by at most {<=}; by "
        "the paper's ",
        "excess-risk",
        (ROWS, r.FITTED_ELSEWHERE, DECLARED if declared else MEASURED),
        THM,
        confidence=0.9,
        upper=bound,
    )
    check(fit, expected)
    (by_paper,) = paper_number(fit.guarantee.statement)
    if loss == "nll":
        paper = constants
    else:
        norm = 0.5 * widest * 3**0.5
        if declared is None:
            centred = LOGITS - LOGITS.mean(axis=1, keepdims=True)
            norm = float(np.sqrt((centred**2).sum(axis=1)).max())
        paper = bounds.LossConstants(1.0, 2**0.5 * norm)
    theirs = scale * float(
        bounds.cts_excess_risk(
            N, 1, 0.1, alpha_bounds=ALPHAS, gamma=0.0, **paper._asdict()
        )
    )
    assert theirs <= by_paper <= theirs * 1.001
    assert theirs > 1.2 * bound


def test_temperatures_of_predicted_classes():
    fit = classwise(loss="brier", logit_range=4.5, delta=0.1)
    counts = np.bincount(LOGITS.argmax(axis=1), minlength=3)
    constants = bounds.half_brier_constants(4.5)
    worst, best = (
        2.0
        * float(
            bounds.cts_excess_risk_tight(
                int(n),
                1,
                0.1 / 3,
                alpha_bounds=ALPHAS,
                gamma=0.0,
                **constants._asdict(),
            )
        )
        for n in (counts.min(), counts.max())
    )
    statement = fit.guarantee.statement
    words = (
        r"with probability >= 0\.9 over these rows, for each of 3 predicted classes at "
        r"once, the expected Brier score of new rows of that predicted class exceeds "
        r"that of its best temperature with 1/T in \[0\.5, 2\] by at most "
        rf"([\d.]+) \({counts.max()} rows\) to ([\d.]+) \({counts.min()} rows\); by "
        r"the paper's own constants, ([\d.]+) to ([\d.]+)\."
    )
    found = re.fullmatch(words, statement)
    assert found, statement
    low, high, paper_low, paper_high = map(float, found.groups())
    assert best <= low <= best * 1.001 and worst <= high <= worst * 1.001
    assert low < paper_low < paper_high and high < paper_high
    expected = Claim(
        statement,
        "excess-risk",
        (ROWS, r.FITTED_ELSEWHERE, DECLARED),
        COR,
        confidence=0.9,
        upper=worst,
    )
    assert_claims(fit.guarantee, expected)
    assert_prints(fit, expected)


def test_temperatures_near_each_other():
    fit = classwise(logit_range=4.5, gamma=0.1)
    assert fit.guarantee.reference == THM
    assert "of the best class-wise temperatures with 1/T in" in fit.guarantee.statement
    assert fit.guarantee.confidence == pytest.approx(0.95)
    assert fit.guarantee.assumptions == (ROWS, r.FITTED_ELSEWHERE, DECLARED)


def test_temperatures_of_tied_groups():
    group = np.arange(N) % 2
    settings = {"groups": group, "loss": "brier", "logit_range": 4.5, **SETTINGS}
    fit = dfu.groupwise_calibration(
        "temperature", LOGITS, LABELS, gamma=0.1, **settings
    )
    assert fit.guarantee.reference == THM
    assert "of the best the groups' temperatures with" not in fit.guarantee.statement
    assert "of the groups' best temperatures with 1/T in" in fit.guarantee.statement
    assert fit.guarantee.assumptions[:3] == (ROWS, r.FITTED_ELSEWHERE, DECLARED)
    assert "rule chosen without these labels" in fit.guarantee.assumptions[3]


@pytest.mark.parametrize("name", ["isotonic", "binning"])
def test_nothing_is_claimed_of_tied_probabilities(name):
    probs = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    fit = dfu.groupwise_calibration(
        name, probs, LABELS, groups=np.arange(N) % 2, gamma=0.05
    )
    assert not fit.guarantee
    assert fit.guarantee.reason.startswith(f"no finite-sample theorem for {name}")


def test_temperatures_of_groups():
    group = np.arange(N) % 2
    fit = dfu.groupwise_calibration(
        "temperature",
        LOGITS,
        LABELS,
        groups=group,
        loss="brier",
        logit_range=4.5,
        **SETTINGS,
    )
    assert "for each of 2 groups at once" in fit.guarantee.statement
    assert "new rows of that group" in fit.guarantee.statement
    assert fit.guarantee.reference == COR
    assert {r.FITTED_ELSEWHERE, DECLARED} < set(fit.guarantee.assumptions)
    assert_prints(
        fit,
        Claim("", "excess-risk", fit.guarantee.assumptions, COR, confidence=0.95),
    )


# --------------------------------------------------------------------- nothing claimed


def test_weighted_rows_claim_nothing():
    weights = 1.0 + np.arange(N) % 2
    for fit in (temperatures(sample_weight=weights), classwise(sample_weight=weights)):
        assert_claims_nothing(
            fit,
            "the rows are weighted, and the theorems are for i.i.d. rows of equal "
            "weight",
        )
        notes, facts = dict(fit.summary().page.notes), dict(fit.summary().page.facts)
        assert notes["Weights"] == (
            "the weights count as fixed: standard errors and intervals leave out how "
            "they were found."
        )
        assert facts["Effective sample size"] == "18000.0"


NO_THEOREM = {
    "vector": "no finite-sample theorem for vector scaling; Thm 4.1 of Zhao, Chen & "
    "Oymak (2020) is about temperatures",
    "platt": "no finite-sample theorem for Platt scaling; Thm 4.1 of Zhao, Chen & "
    "Oymak (2020) is about temperatures",
    "isotonic": "no finite-sample theorem for isotonic calibration",
}


@pytest.mark.parametrize("name", NO_THEOREM)
def test_other_calibrators_claim_nothing(name):
    logits, labels = LOGITS[:500], LABELS[:500]
    if name == "isotonic":
        odds = np.exp(logits)
        fit = dfu.isotonic_calibration(odds / odds.sum(axis=1, keepdims=True), labels)
    elif name == "vector":
        fit = dfu.vector_scaling(logits, labels)
    else:
        fit = dfu.platt_scaling(logits, labels)
    assert_claims_nothing(fit, NO_THEOREM[name])


@pytest.mark.parametrize("make", ["one", "by class"])
def test_few_rows_claim_nothing_and_say_how_much_is_missing(make):
    function = dfu.temperature_scaling
    if make != "one":
        function = dfu.classwise_temperature_scaling
    fit = function(LOGITS[:60], LABELS[:60], bounds=(0.05, 20.0))
    theorem = "Thm 4.1" if make == "one" else "Cor. 4.2"
    found = re.fullmatch(
        rf"{theorem} of Zhao, Chen & Oymak \(2020\) bounds the excess NLL by "
        r"([\d.]+) at this sample size, and ([\d.]+) needs no data"
        r"( \(loss='brier' has a bound of [\d.]+\))?",
        fit.guarantee.reason,
    )
    assert found and float(found[1]) >= float(found[2])
    assert [entry.key for entry in cited(fit.guarantee.reason)] == ["zhao2020"]


# ---------------------------------------------------------------- classes in warnings


def test_absent_classes_are_named():
    names = ["ash", "beech", "cedar"]
    labels = [names[k] for k in np.minimum(LABELS[:300], 1)]
    logits = LOGITS[:300]
    for make in (dfu.temperature_scaling, dfu.classwise_temperature_scaling):
        with pytest.warns(dfu.DistFreeWarning) as caught:
            make(logits, labels, classes=names)
        texts = [str(warning.message) for warning in caught]
        at_bound = [text for text in texts if text.startswith("The temperatures of")]
        assert all("1 of 3 classes ('cedar')" in text for text in at_bound)
        first = next(text for text in texts if text.startswith("No row is labelled"))
        assert first == (
            "No row is labelled 'cedar' (1 of 3 classes): such probabilities are "
            "scaled as the others, and nothing here tests them."
        )


def test_the_bound_at_which_a_temperature_stands_is_named():
    logits = np.array([[2.0, 0.0], [0.0, 2.0]] * 20)
    right, wrong = [0, 1] * 20, [1, 0] * 20
    for labels, which in ((right, "smallest"), (wrong, "largest")):
        with pytest.warns(dfu.FitAtBoundWarning) as caught:
            fit = dfu.temperature_scaling(logits, labels, bounds=(0.5, 2.0))
        end = {"smallest": "0.5", "largest": "2"}[which]
        assert fit.temperature == float(end)
        assert str(caught[0].message).endswith(
            f": the temperature stands at its bound, {end}."
        )
        assert dict(fit.summary().page.notes)["Note"] == (
            f"the {which} temperature allowed: no optimum inside the bounds."
        )


def test_unseen_groups_are_named():
    group = np.where(np.arange(300) % 2, "north", "south")
    fit = dfu.groupwise_calibration(
        "temperature", LOGITS[:300], LABELS[:300], groups=group
    )
    with pytest.warns(dfu.UnseenGroupWarning) as caught:
        fit.predict(LOGITS[:3], groups=["north", "island", "west"])
    assert str(caught[0].message) == (
        "2 groups were not in the fit ('island', 'west'): their rows are calibrated by "
        "the pooled map."
    )
