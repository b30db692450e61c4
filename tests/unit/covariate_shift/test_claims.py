"""What holds on the target, by where the weights come from, and what the table says."""

from __future__ import annotations

import pytest

import distfreeuq as dfu
from distfreeuq import references as r
from tests.unit.claims import (
    Claim,
    assert_claims,
    assert_claims_nothing,
    assert_prints,
)
from tests.unit.covariate_shift.test_weighted_calibration import fit, learn, shifted

UNWEIGHTED = (
    "the rows are not weighted, and what holds on the source need not hold on the "
    "target"
)
ESTIMATED = (
    "the weights are estimates, so that nothing finite-sample holds on the target; "
    "what Park, Bastani, Weimer & Lee (2020) bound is printed above as an objective, "
    "not as a certificate"
)
OFFSET = "an offset makes the weights others than q(x)/p(x)"
WEIGHTED = "the rows are weighted, and the theorems are for i.i.d. rows of equal weight"
OTHER_ROWS = "the classifier must have been fitted on other rows than these; "


@pytest.fixture(scope="module")
def data():
    return shifted(n=600, m=400)


@pytest.fixture(scope="module")
def ratio(data):
    return dfu.density_ratio(data["source"], data["target"], rng=0)


def binned(data, **options):
    own = {"weight_bound": 50.0, "scheme": "equal-width", "n_bins": 4}
    options = {"ratio": data["weights"], "calibrator_options": own} | options
    return fit(data, calibrator="binning", **options)


def test_known_weights_carry_the_claim_of_the_bins(data):
    result = binned(data)
    bins = result.calibration
    expected = Claim(
        bins.guarantee.statement,
        "calibration",
        (
            r.CALIBRATION_IID,
            r.FITTED_ELSEWHERE,
            "the bins were chosen without looking at these rows",
            r.COVARIATE_SHIFT,
            r.TRUE_BOUNDED_RATIO,
        ),
        bins.guarantee.reference,
        confidence=0.9,
        upper=bins.largest_radius,
    )
    assert "<= radius for target rows, in all 4 bins at once" in expected.statement
    assert expected.by.endswith(", for weighted rows (theory page, 2.4)")
    assert_claims(result.guarantee, expected)
    assert_prints(result, expected)


def test_known_weights_of_a_temperature_claim_nothing(data):
    assert_claims_nothing(fit(data, ratio=data["weights"]), WEIGHTED)


def test_an_offset_takes_the_claim_away(data):
    assert_claims_nothing(binned(data, offset=0.5), OFFSET)


@pytest.mark.parametrize("calibrator", ["temperature", "binning"])
def test_no_weights_claim_nothing_of_the_target(data, calibrator):
    assert_claims_nothing(fit(data, calibrator=calibrator, ratio=None), UNWEIGHTED)


def test_estimated_weights_claim_nothing(data, ratio):
    for given in ("logistic", ratio):
        assert_claims_nothing(fit(data, ratio=given), ESTIMATED)
    own = {"weight_bound": 50.0}
    result = fit(data, calibrator="binning", calibrator_options=own)
    assert result.calibration.guarantee
    assert_claims_nothing(result, ESTIMATED)


# ------------------------------------------------------------------- rows, facts, notes


def rows_of(result):
    return dict(result.summary().page.notes)["Rows"]


def test_where_the_weights_come_from_is_printed(data, ratio):
    assert rows_of(fit(data, ratio=None)) == f"{OTHER_ROWS}no weights."
    known = rows_of(fit(data, ratio=data["weights"]))
    assert known == f"{OTHER_ROWS}weights were given and count as known."
    assert rows_of(fit(data)) == (
        f"{OTHER_ROWS}each row's weight is by a fit without it, on these rows and 400 "
        "target rows."
    )
    assert rows_of(fit(data, ratio=ratio)) == (
        f"{OTHER_ROWS}these are taken to be the source rows of the ratio that was "
        "given, and each has its held-out weight."
    )
    fewer = data | {name: data[name][:500] for name in ("logits", "labels", "source")}
    assert rows_of(fit(fewer, ratio=ratio)) == (
        f"{OTHER_ROWS}weights are by the ratio that was given, which is taken to have "
        "been fitted on other source rows."
    )


def test_which_rows_learnt_the_features_is_printed(data):
    text = rows_of(fit(data, feature_learning=learn()))
    assert text.startswith(
        "features and classifier were learnt on 300 other source rows and 200 other "
        "target rows, drawn at random; "
    )


def test_facts(data, ratio):
    result = fit(data, ratio=ratio, offset=0.5, loss="brier")
    page = result.summary().page
    facts = dict(page.facts)
    weights = result.sample_weight
    assert page.title == "Covariate shift: weighted rows, temperature scaling"
    assert facts["Calibration rows"] == "600"
    ess = weights.sum() ** 2 / (weights @ weights)
    assert float(facts["Effective sample size"]) == pytest.approx(ess, abs=0.06)
    assert facts["Mean weight"] == f"{weights.mean():.3f}"
    assert facts["Largest weight"] == f"{weights.max():.3f}"
    share = 100 * weights.max() / weights.sum()
    assert float(facts["Largest share of a row"][:-1]) == pytest.approx(share, abs=6e-3)
    assert facts["Added to weights"] == "0.5"
    assert facts["Density ratio by"] == "logistic"


@pytest.mark.parametrize("upper", [None, 30.0])
def test_the_bound_is_no_certificate_and_rounds_up(data, upper):
    result = fit(data, offset=0.5, loss="brier", upper=upper)
    page = result.summary().page
    table = page.tables[-1]
    assert table.headers[0] == "Park, Bastani, Weimer & Lee (2020), Thm 1, repaired"
    lines = dict(table.rows)
    assert "bound if so: no certificate" in lines
    printed, exact = float(lines["bound without that"]), result.bound.value
    assert exact <= printed <= exact * 1.001
    source = "largest estimate" if upper is None else "given"
    assert f"U, bound on q/p ({source})" in lines
    verdict = "vacuous: at 2 or more it says nothing"
    if exact < 2.0:
        verdict = "below the trivial 2, but with estimates in the place of expectations"
    assert dict(page.notes)["Bound"] == (
        "of the squared calibration error on the target, E_q||f - c||^2. The last line "
        f"is {verdict}. Its first term is an objective to minimise; it is no "
        "certificate (theory page, 7)."
    )
