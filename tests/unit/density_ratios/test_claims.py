"""What a density ratio claims: nothing; and what its table and warnings say."""

from __future__ import annotations

import numpy as np
import pytest

import distfreeuq as dfu
from tests.unit.claims import assert_claims_nothing

REASON = (
    "the weights are estimates, and no finite sample bounds their error without "
    "assumptions on the densities; what is weighted by them is right only as far as "
    "they are"
)
METHODS = {
    "logistic": "logistic regression",
    "mlp": "a network with one hidden layer",
    "knn": "nearest neighbours",
    "ulsif": "least squares (uLSIF)",
    "rulsif": "relative least squares (RuLSIF)",
    "kliep": "Kullback-Leibler importance estimation (KLIEP)",
    "kmm": "kernel mean matching (KMM)",
}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(5)
    return rng.normal(size=(150, 2)), rng.normal([0.5, 0.0], 1.0, (120, 2))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_claims_nothing_and_is_named(samples, method):
    ratio = dfu.density_ratio(*samples, method=method, rng=0)
    assert_claims_nothing(ratio, REASON)
    title = ratio.summary().page.title
    assert title == f"Density ratio of target to source by {METHODS[method]}"


def test_facts(samples):
    ratio = dfu.density_ratio(*samples, rng=0)
    facts, w = dict(ratio.summary().page.facts), ratio.source_weight
    assert facts["Source rows"] == "150" and facts["Target rows"] == "120"
    ess = w.sum() ** 2 / (w @ w)
    assert float(facts["Effective sample size"]) == pytest.approx(ess, abs=0.06)
    share = 100 * w.max() / w.sum()
    assert float(facts["Largest share of a row"][:-1]) == pytest.approx(share, abs=6e-3)


def test_the_bound_on_the_weights_is_rounded_up(samples):
    for seed in range(6):
        ratio = dfu.density_ratio(*samples, rng=seed)
        printed = float(dict(ratio.summary().page.facts)["Bound U on weights"])
        assert ratio.upper <= printed <= ratio.upper + 0.01


def test_the_support_is_that_of_the_target(samples):
    source, target = samples
    far = np.vstack([target, np.full((30, 2), 30.0)])
    with pytest.warns(dfu.SupportWarning) as caught:
        ratio = dfu.density_ratio(source, far, rng=0)
    share = f"{100 * ratio.uncovered:.1f}%"
    text = (
        f"{share} of target rows lie where the source has almost no data (estimated "
        "ratio above 20)."
    )
    assert dict(ratio.summary().page.notes)["Support"] == text
    assert str(caught[0].message) == (
        f"{text} No weights can stand in for the rows that are missing there."
    )


def test_few_effective_rows_are_counted_in_the_warning():
    from distfreeuq.density_ratios.estimation import _warn

    with pytest.warns(dfu.SupportWarning) as caught:
        _warn(0.0, 12.34, 500)
    assert str(caught[0].message) == (
        "The weights of the 500 source rows are worth 12.3 rows (effective sample "
        "size): what they weigh is hardly estimated."
    )


def test_a_mean_far_from_one_is_said_to_be_of_no_use():
    from distfreeuq.density_ratios.estimation import _mean_note

    assert _mean_note(np.array([0.5, 1.5])) == []
    assert _mean_note(np.array([3.0, 5.0])) == [
        "the estimated ratio has mean 4 over the source rows, where the true one has "
        "mean 1: its weights, their divergences and their effective sample size are "
        "not to be relied on."
    ]
