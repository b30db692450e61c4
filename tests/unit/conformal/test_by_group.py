"""Sets by group: each group's fit is that of its own rows, and rows go to their own."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics

RNG = np.random.default_rng(3)
N = 240
PROBS = RNG.dirichlet([2.0, 1.0, 1.0], N)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBS])
SITES = RNG.choice(["north", "south", "west"], N)
WEIGHTS = RNG.uniform(0.5, 2.0, N)
PROCEDURES = {
    "split": (dfu.split_conformal, ()),
    "label-conditional": (dfu.label_conditional_conformal, ()),
    "label-shift": (dfu.label_shift_conformal, ([1.0, 2.0, 3.0],)),
    "covariate-shift": (dfu.covariate_shift_conformal, (WEIGHTS,)),
}


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_groups_fit_is_that_of_its_rows(name):
    function, more = PROCEDURES[name]
    fit = function(PROBS, LABELS, *more, alpha=0.3, groups=SITES, rng=5)
    new = (PROBS[::-1], SITES[::-1])
    weights = [WEIGHTS] if name == "covariate-shift" else []
    sets = fit.predict(*new, *weights)
    p_values = fit.p_values(*new, *weights)
    for k, site in enumerate(["north", "south", "west"]):
        own = site == SITES
        rows = tuple(m[own] if np.shape(m) == (N,) else m for m in more)
        alone = function(PROBS[own], LABELS[own], *rows, alpha=0.3, rng=5)
        there = new[1] == site
        w = [weights[0][there]] if weights else []
        np.testing.assert_array_equal(
            sets.mask[there], alone.predict(new[0][there], *w).mask
        )
        np.testing.assert_array_equal(
            p_values[there], alone.p_values(new[0][there], *w)
        )
        np.testing.assert_array_equal(fit[site].thresholds, alone.thresholds)
        assert fit.counts[k] == own.sum()
    assert fit.thresholds.shape == (3, 3)
    assert len(fit.to_frame()) == 9 and fit.to_frame()["group"][0] == "north"


def test_an_unseen_group_has_every_label():
    fit = dfu.split_conformal(PROBS, LABELS, groups=SITES, rng=0)
    with pytest.warns(dfu.UnseenGroupWarning, match=r"a group was not .*'east'"):
        sets = fit.predict(PROBS[:2], ["east", "north"])
    assert sets.mask[0].all()
    with pytest.warns(dfu.UnseenGroupWarning):
        assert (fit.p_values(PROBS[:1], ["east"]) == 1.0).all()


def test_a_small_group_is_named():
    sites = np.where(np.arange(N) < 4, "tiny", "large")
    with pytest.warns(dfu.SmallCalibrationWarning, match="group 'tiny': 4 calib"):
        fit = dfu.split_conformal(PROBS, LABELS, groups=sites, rng=0)
    assert np.isinf(fit["tiny"].thresholds).all()
    assert fit.guarantee.lower == pytest.approx(0.9)


def test_confidence_is_shared_among_the_groups():
    fit = dfu.split_conformal(PROBS, LABELS, groups=SITES, confidence=0.7, rng=0)
    assert fit["west"].confidence == pytest.approx(0.9)
    assert fit.confidence == 0.7


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (SITES[:5], "240 groups, one per row"),
        ([None, *SITES[1:]], "none of them missing. Got None at row 0"),
        (np.append(np.arange(N - 1.0), np.nan), "none of them missing"),
        (["\udfff", *SITES[1:]], "texts that UTF-8 can hold"),
    ],
)
def test_groups_must_be_groups(groups, message):
    with pytest.raises(dfu.InputError, match=message):
        dfu.split_conformal(PROBS, LABELS, groups=groups)


def test_refused_combinations():
    estimate = dfu.bbse(PROBS, LABELS, PROBS)
    with pytest.raises(dfu.InputError, match=r"'groups' .* None with independent=True"):
        dfu.label_shift_conformal(
            PROBS, LABELS, estimate, independent=True, groups=SITES
        )
    fit = dfu.split_conformal(PROBS, LABELS, groups=SITES, rng=0)
    with pytest.raises(dfu.InputError, match="only covariate shift uses it"):
        fit.predict(PROBS, SITES, WEIGHTS)
    with pytest.raises(dfu.InputError, match=r"'group' .* one of 'north'"):
        fit["east"]


def test_it_is_saved_and_drawn(tmp_path):
    fit = dfu.label_conditional_conformal(PROBS, LABELS, alpha=0.3, groups=SITES, rng=0)
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(fit) and repr(again) == repr(fit)
    np.testing.assert_array_equal(
        again.predict(PROBS, SITES).mask, fit.predict(PROBS, SITES).mask
    )
    assert len(fit.plot().get_lines()) == 6


def test_groups_are_counted_by_hand():
    probs = [[0.9, 0.1]] * 20
    fit = dfu.split_conformal(probs, [0] * 20, score="lac")
    result = fit.predict([[0.9, 0.1]] * 5).evaluate(
        [0, 0, 1, 1, 0], groups=[1, 1, 1, 2, 2]
    )
    assert result.group_counts.tolist() == [3, 2]
    assert result.group_covered.tolist() == [2, 1]
    frame = result.to_frame()
    assert frame[frame["stratum"] == "group"]["coverage"].tolist() == [2 / 3, 0.5]
    assert result.guarantee.assumptions[-1].startswith("a row's group is a function")


def test_assessment_by_group_by_hand():
    probs = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]]
    labels, sites = [0, 1, 1, 1], ["b", "b", "a", "a"]
    result = dfu.assess(probs, labels, groups=sites, n_sim=0)
    frame = result.group_frame()
    assert frame["group"].tolist() == ["a", "b"]
    assert frame["rows"].tolist() == [2.0, 2.0]
    assert frame["accuracy"].tolist() == [1.0, 0.5]
    assert frame["ece"].tolist() == pytest.approx([0.3, 0.3])
    noise = [np.sqrt(2 / np.pi * 2 * p * (1 - p)) / 2 for p in (0.7, 0.8)]
    assert frame["noise"].tolist() == pytest.approx(noise)
    assert "ECE by noise alone" in str(result)
    assert metrics.max_ece(probs, labels, groups=sites) == pytest.approx(0.3)
    assert metrics.max_ece(probs, labels, groups=[0, 1, 0, 0]) == pytest.approx(0.8)
    assert metrics.ece(probs[1:2], [1]) == pytest.approx(0.8)
