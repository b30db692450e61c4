"""Venn-Abers: two isotonic values per row, by hand and by the definition."""

import numpy as np
import pytest

import distfreeuq as dfu

SCORES = [0.1, 0.2, 0.3, 0.4]
LABELS = [0, 1, 0, 1]


def by_definition(scores, labels, new, label):
    """Fit isotonic calibration with the new row among the others."""
    fit = dfu.isotonic_calibration([*scores, new], [*labels, label])
    return fit.predict([new])[0, 1]


def test_by_hand():
    fit = dfu.venn_abers(SCORES, LABELS)
    pairs = fit.multiprobabilities([0.05, 0.2, 0.35, 0.9])[:, 1]
    # below all rows, label 1 pools 1, 0, 1, 0 and label 0 stands alone
    assert pairs[0].tolist() == [0.0, 0.5]
    # at 0.2: rows 1, 0, 0 make a third, rows 1, 1, 0 two thirds
    assert pairs[1].round(12).tolist() == [round(1 / 3, 12), round(2 / 3, 12)]
    assert pairs[2].round(12).tolist() == [round(1 / 3, 12), 1.0]
    assert pairs[3].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("new", [0.0, 0.1, 0.15, 0.25, 0.4, 0.77, 1.0])
def test_pairs_are_those_of_isotonic_fits(new):
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 20, 30) / 20
    labels = (rng.random(30) < scores).astype(int)
    pair = dfu.venn_abers(scores, labels).multiprobabilities([new])[0, 1]
    wanted = [by_definition(scores, labels, new, label) for label in (0, 1)]
    np.testing.assert_allclose(pair, wanted, atol=1e-12)


def test_merged_probabilities():
    fit = dfu.venn_abers(SCORES, LABELS)
    low, high = fit.multiprobabilities([0.2])[0, 1]
    probs = fit.predict([0.2])
    np.testing.assert_allclose(probs[0, 1], high / (1 - low + high))
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    both = fit.multiprobabilities([[0.8, 0.2]])[0]
    np.testing.assert_allclose(both[0], 1.0 - both[1, ::-1])


def test_weights_count_rows():
    twice = dfu.venn_abers(SCORES, LABELS, sample_weight=[3.0] * 4)
    once = dfu.venn_abers(SCORES, LABELS)
    assert str(twice) == str(once)
    weighted = dfu.venn_abers(SCORES, LABELS, sample_weight=[1.0, 2.0, 1.0, 0.0])
    assert not weighted.guarantee
    # scores 0.1, 0.2, 0.3 with weights 1, 2, 1; a new row weighs 4/3
    pair = weighted.multiprobabilities([0.9])[0, 1]
    np.testing.assert_allclose(pair, [2 / (2 + 1 + 4 / 3), 1.0])


def test_several_classes_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 60)
    names = ["a", "b", "c"]
    labels = [names[rng.choice(3, p=p)] for p in probs]
    fit = dfu.venn_abers(probs, labels, classes=names)
    pairs = fit.multiprobabilities(probs)
    assert pairs.shape == (60, 3, 2)
    assert (pairs[..., 0] <= pairs[..., 1]).all()
    predicted = fit.predict(probs)
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0)
    assert ((predicted > 0) & (predicted < 1)).all()
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    np.testing.assert_array_equal(again.multiprobabilities(probs), pairs)
    assert str(again) == str(fit)
    assert list(fit.to_frame()) == ["class", "knot", "lower", "upper"]


def test_groups_may_use_it():
    probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]] * 4)
    fit = dfu.groupwise_calibration("venn-abers", probs, [0, 1, 1, 0] * 4)
    np.testing.assert_allclose(fit.predict(probs).sum(axis=1), 1.0)


def test_bad_input_is_refused():
    with pytest.raises(dfu.InputError, match="'probs'"):
        dfu.venn_abers([0.2, 1.3], [0, 1])
    with pytest.raises(dfu.InputError, match="'probs'"):
        dfu.venn_abers(np.zeros((0, 2)), [])
    with pytest.raises(dfu.InputError, match="'logits'"):
        dfu.venn_abers(SCORES, LABELS).multiprobabilities([[0.2, 0.3, 0.5]])


def test_one_probability_of_both_by_hand():
    """p_1 / (1 - p_0 + p_1), which is not their mean."""
    fit = dfu.venn_abers([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1])
    low, high = fit.multiprobabilities([0.95])[0, 1]
    assert (low, high) == pytest.approx((2.0 / 3.0, 1.0))
    assert fit.predict(np.array([0.95]))[0, 1] == pytest.approx(0.75)


def test_weighted_rows_have_no_claim():
    weights = np.array([1.0, 2.0, 1.0, 1.0])
    fit = dfu.venn_abers([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], sample_weight=weights)
    assert not fit.guarantee and "weighted" in fit.guarantee.reason
