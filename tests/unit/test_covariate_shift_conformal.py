"""Weighted conformal sets under covariate shift, by hand."""

import numpy as np
import pytest

import distfreeuq as dfu

P1 = np.array([0.95, 0.9, 0.8, 0.6])
"""All rows are of class 1: LAC scores 0.05, 0.1, 0.2, 0.4."""


def fit(weights, **options):
    options = {"alpha": 0.25, "score": "lac"} | options
    return dfu.covariate_shift_conformal(P1, [1] * 4, weights, **options)


def test_threshold_depends_on_the_own_weight():
    result = fit([1, 1, 1, 1])
    # own weight 1: needs 0.75 * 5 = 3.75 of mass, the fourth score
    # own weight 0: needs 3, the third; own weight 2: needs 4.5 > 4, every label
    np.testing.assert_allclose(result.threshold_for([1, 0, 2]), [0.4, 0.2, np.inf])


def test_one_weight_is_enough_for_a_scalar():
    assert fit([1, 1, 1, 1]).threshold_for(0.0).tolist() == pytest.approx([0.2])


def test_equal_weights_are_split_conformal():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], size=200)
    labels = rng.integers(0, 3, 200)
    plain = dfu.split_conformal(probs, labels, alpha=0.15, rng=3)
    for scale in (1.0, 0.1, 1e-200, 1e200):
        weighted = dfu.covariate_shift_conformal(
            probs, labels, np.full(200, scale), alpha=0.15, rng=3
        )
        np.testing.assert_array_equal(weighted.thresholds, plain.thresholds)
        ours = weighted.predict(probs, np.full(200, scale), rng=4)
        np.testing.assert_array_equal(ours.mask, plain.predict(probs, rng=4).mask)
    assert weighted.ess == pytest.approx(200)


def test_rows_of_weight_zero_do_not_count():
    short = dfu.covariate_shift_conformal(
        P1[:3], [1] * 3, [1, 1, 1], alpha=0.3, score="lac"
    )
    padded = fit([1, 1, 1, 0], alpha=0.3)
    np.testing.assert_array_equal(
        padded.threshold_for([0.2, 1.0]), short.threshold_for([0.2, 1.0])
    )


def test_sets_and_p_values_agree():
    rng = np.random.default_rng(0)
    new, weights = rng.random(60), rng.exponential(size=60)
    for score in ("aps", "lac", "raps", "saps", "rank", "margin"):
        result = fit([1, 2, 0.5, 3], score=score, randomized=False)
        expected = result.p_values(new, weights) > 0.25
        np.testing.assert_array_equal(result.predict(new, weights).mask, expected)


def test_a_set_does_not_depend_on_its_batch():
    rng = np.random.default_rng(0)
    new, weights = rng.random(30), np.exp(5 * rng.normal(size=30))
    result = fit([1, 2, 0.5, 3])
    together = result.predict(new, weights).mask
    for i in range(30):
        alone = result.predict(new[i : i + 1], weights[i : i + 1]).mask
        np.testing.assert_array_equal(alone[0], together[i])


def test_predicting_without_weights_is_refused():
    result = fit([1, 1, 1, 1])
    with pytest.raises(dfu.InputError, match="'sample_weight' parameter"):
        result.predict(P1)
    with pytest.raises(dfu.InputError, match="'sample_weight' parameter"):
        result.p_values(P1)


@pytest.mark.parametrize(
    "weights", [[1, 1, 1], [1, 1, 1, -1], [1, 1, 1, np.nan], [1, 1, 1, np.inf], [0] * 4]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(dfu.InputError, match="'sample_weight' parameter"):
        fit(weights)


def test_confidence_needs_a_bound_that_holds():
    with pytest.raises(dfu.InputError, match="'weight_bound' parameter"):
        fit([1, 1, 1, 1], confidence=0.9)
    with pytest.raises(dfu.InputError, match="'weight_bound' parameter"):
        fit([1, 1, 1, 4], confidence=0.9, weight_bound=3)
    with pytest.raises(dfu.InputError, match="'weight_bound' parameter"):
        fit([1, 1, 1, 1], weight_bound=3)


def test_confidence_gives_one_threshold_for_all_weights():
    rng = np.random.default_rng(0)
    p1 = rng.random(500)
    labels = (rng.random(500) < p1).astype(int)
    weights = np.where(p1 > 0.5, 1.5, 0.5)
    result = dfu.covariate_shift_conformal(
        p1, labels, weights, confidence=0.9, weight_bound=1.5, rng=1
    )
    assert 0 < result.n_kept < 500
    assert np.unique(result.threshold_for([0.5, 1.5])).size == 1
    with_weights = result.predict(p1, weights, rng=2)
    np.testing.assert_array_equal(with_weights.mask, result.predict(p1, rng=2).mask)
    assert "Rows kept by rejection" in str(result)


def test_too_little_weight_is_warned_of():
    with pytest.warns(dfu.SmallCalibrationWarning, match="too little weight"):
        fit([1, 1, 1, 1], alpha=0.1)


def test_round_trip(tmp_path):
    result = fit([1, 2, 0.5, 3])
    result.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(result)
    np.testing.assert_array_equal(again.sample_weight, result.sample_weight)
