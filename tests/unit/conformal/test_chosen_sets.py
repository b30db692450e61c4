"""Which procedure `prediction_sets` takes, and what it says of it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import prediction_sets, scenarios
from distfreeuq.conformal import chosen_sets

TOY = scenarios.three_gaussians()
X, LABELS = TOY.sample(500, "source", rng=0)
PROBS = TOY.posterior(X)
TARGET = TOY.posterior(TOY.sample(500, "target", rng=0)[0])
WEIGHT = TOY.label_weight
PRIORS = dfu.label_weights(TOY.source_prior, TOY.target_prior)


@pytest.fixture(scope="module")
def estimate():
    return dfu.mlls(PROBS, LABELS, TARGET)


def shifted(*arguments, **options):
    return dfu.label_shift_conformal(PROBS, LABELS, *arguments, rng=1, **options)


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_without_an_estimate_the_choice_is_by_what_is_known(confidence):
    options = {"rng": 1, "confidence": confidence}
    cases = [
        ("none", dfu.split_conformal(PROBS, LABELS, **options)),
        (None, dfu.label_conditional_conformal(PROBS, LABELS, **options)),
        (WEIGHT, shifted(WEIGHT, confidence=confidence)),
        (PRIORS, shifted(PRIORS, confidence=confidence)),
    ]
    for shift, by_itself in cases:
        for claim in ("finite-sample", "asymptotic", "combined"):
            chosen = prediction_sets(PROBS, LABELS, shift, claim=claim, **options)
            if not (confidence and "rejection" in str(by_itself)):
                np.testing.assert_array_equal(
                    chosen.fit.thresholds, by_itself.thresholds
                )
            assert type(chosen.fit) is type(by_itself)
            assert chosen.guarantee == chosen.fit.guarantee
            assert chosen.guarantee.statement == by_itself.guarantee.statement


def test_with_an_estimate_it_is_by_what_is_asked_for(estimate):
    by_claim = {
        "finite-sample": dfu.label_conditional_conformal(PROBS, LABELS, rng=1),
        "asymptotic": shifted(estimate, robust="directional"),
    }
    for claim, by_itself in by_claim.items():
        chosen = prediction_sets(PROBS, LABELS, estimate, claim=claim, rng=1)
        np.testing.assert_array_equal(chosen.fit.thresholds, by_itself.thresholds)
        assert chosen.guarantee == by_itself.guarantee
    drawn = prediction_sets(PROBS, LABELS, estimate, confidence=0.9, rng=1)
    np.testing.assert_array_equal(
        drawn.fit.thresholds, shifted(estimate, confidence=0.9).thresholds
    )


def test_classes_that_are_not_told_apart_have_label_conditional_sets():
    probs = np.repeat([[0.4, 0.3, 0.3], [0.2, 0.4, 0.4]], 60, axis=0)
    labels = np.tile([0, 0, 1, 2, 1, 2], 20)
    with pytest.warns(dfu.IdentificationWarning):
        estimate = dfu.bbse(probs, labels, probs[::2])
    for claim in ("asymptotic", "combined"):
        chosen = prediction_sets(probs, labels, estimate, claim=claim, score="lac")
        assert isinstance(chosen.fit, dfu.LabelConditionalConformalResult)
        assert "do not tell all classes apart" in " ".join(str(chosen).split())


def test_combined_sets_are_in_both(estimate):
    for share in (0.2, 0.5):
        chosen = prediction_sets(
            PROBS, LABELS, estimate, claim="combined", share=share, delta=0.02, rng=1
        )
        alpha = (1 - share) * 0.1
        by_class = dfu.label_conditional_conformal(PROBS, LABELS, alpha=alpha, rng=1)
        one_way = shifted(estimate, robust="directional", alpha=share * 0.1, delta=0.02)
        mask = chosen.predict(TARGET).mask
        both = by_class.predict(TARGET).mask & one_way.predict(TARGET).mask
        np.testing.assert_array_equal(mask, both)
        assert chosen.guarantee.lower == pytest.approx(0.88)
        assert not chosen.guarantee.finite_sample
        assert f"alpha={alpha:g}" in " ".join(str(chosen).split())


def test_the_choice_is_printed_saved_and_drawn(estimate, tmp_path):
    chosen = prediction_sets(PROBS, LABELS, estimate, rng=1)
    printed = " ".join(str(chosen).split())
    assert "Chosen: label_conditional_conformal(probs, labels). Because: a" in printed
    assert repr(chosen).startswith("<ChosenConformalResult: LabelConditional")
    chosen.save(tmp_path / "chosen.npz")
    loaded = dfu.load(tmp_path / "chosen.npz")
    assert str(loaded) == str(chosen)
    np.testing.assert_array_equal(
        loaded.predict(TARGET).mask, chosen.fit.predict(TARGET).mask
    )
    np.testing.assert_array_equal(loaded.p_values(TARGET), chosen.fit.p_values(TARGET))
    assert len(chosen.to_frame()) == 3
    assert chosen.plot() is not None


def test_what_is_not_understood_is_refused(estimate):
    with pytest.raises(dfu.InputError, match="'shift' parameter of prediction_sets"):
        prediction_sets(PROBS, LABELS, "some")
    with pytest.raises(dfu.InputError, match="'shift' parameter of prediction_sets"):
        prediction_sets(PROBS, LABELS, [1.0, 2.0])
    with pytest.raises(dfu.InputError, match="'claim' parameter"):
        prediction_sets(PROBS, LABELS, claim="strong")
    names = np.array(["a", "b", "c"])
    for shift in (estimate, PRIORS):
        with pytest.raises(dfu.InputError, match="for the classes 'a', 'b', 'c'"):
            prediction_sets(PROBS, names[LABELS], shift, classes=names)


def test_reasons_say_what_was_measured():
    study = Path(__file__).parents[3] / "vignettes/replication/estimated-weights.csv"
    means = pd.read_csv(study)
    size = means.pivot_table("size", ["network", "n", "shift"], "method")
    rival = size["label-conditional"]
    larger = (size["robust"] > rival).sum()
    by_mlls, by_bbse = (
        (size[f"directional, {estimator}"] < rival).sum()
        for estimator in ("MLLS", "BBSE")
    )
    assert f"in {larger} of {len(size)} settings" in chosen_sets._FINITE
    assert f"in {larger} of {len(size)} settings" in dfu.prediction_sets.__doc__
    assert f"in {by_mlls} of {len(size)} settings" in chosen_sets._LIMIT
    assert chosen_sets._LIMIT.endswith(f"by BBSE in {by_bbse}")
