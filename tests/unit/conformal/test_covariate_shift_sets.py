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
        ours = weighted.predict(probs, np.full(200, scale))
        np.testing.assert_array_equal(ours.mask, plain.predict(probs).mask)
    assert weighted.ess == pytest.approx(200)


def test_weights_stay_with_their_rows():
    # scores that do not ascend: every weight must follow its own
    rng = np.random.default_rng(2)
    probs, labels = rng.dirichlet([1, 1, 1], size=80), rng.integers(0, 3, 80)
    weights, own = rng.exponential(size=80), np.array([0.0, 0.3, 2.0, 5.0])
    scores = dfu.nested_scores(probs, labels, score="lac")
    result = dfu.covariate_shift_conformal(
        probs, labels, weights, alpha=0.2, score="lac"
    )
    want = dfu.weighted_quantile(scores, weights, 0.8, atom=own)
    np.testing.assert_array_equal(result.threshold_for(own), want)
    np.testing.assert_array_equal(result.scores, np.sort(scores))
    np.testing.assert_array_equal(result.sample_weight, weights[np.argsort(scores)])


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
    with_weights = result.predict(p1, weights)
    np.testing.assert_array_equal(with_weights.mask, result.predict(p1).mask)
    assert "Rows kept by rejection" in str(result)


def test_too_little_weight_is_warned_of():
    with pytest.warns(dfu.SmallCalibrationWarning, match="too little weight"):
        fit([1, 1, 1, 1], alpha=0.1)


# ------------------------------------------------------------- with a density ratio


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=300), rng.normal(0.8, size=250)
    p1 = 1 / (1 + np.exp(-2 * x))
    labels = (rng.random(300) < p1).astype(int)
    return x, p1, labels, target, dfu.density_ratio(x, target, rng=0)


def test_a_ratio_weights_its_own_source_rows_by_fits_that_have_not_seen_them(shifted):
    _, p1, labels, target, ratio = shifted
    result = dfu.covariate_shift_conformal(p1, labels, ratio, score="lac")
    given = dfu.covariate_shift_conformal(p1, labels, ratio.source_weight, score="lac")
    np.testing.assert_array_equal(result.sample_weight, given.sample_weight)
    new = 1 / (1 + np.exp(-2 * target))
    by_features = result.predict(new, features=target)
    by_weights = given.predict(new, ratio.weight(target))
    np.testing.assert_array_equal(by_features.mask, by_weights.mask)
    np.testing.assert_array_equal(
        result.p_values(new, features=target), given.p_values(new, ratio.weight(target))
    )
    np.testing.assert_array_equal(
        result.threshold_for(features=target), given.threshold_for(ratio.weight(target))
    )
    # and weights of one's own are as good as ever
    np.testing.assert_array_equal(
        result.predict(new, ratio.weight(target)).mask, by_weights.mask
    )


def test_other_calibration_rows_are_weighted_by_their_features(shifted):
    x, p1, labels, _, ratio = shifted
    some = slice(20, 120)
    result = dfu.covariate_shift_conformal(
        p1[some], labels[some], ratio, features=x[some], score="lac"
    )
    assert sorted(result.sample_weight) == sorted(ratio.weight(x[some]))


def test_estimated_weights_claim_nothing(shifted):
    x, p1, labels, target, _ = shifted
    ratio = dfu.density_ratio(x, target, clip=4.0, rng=0)
    for options in ({}, {"confidence": 0.9}):  # rejection by the ratio's own bound
        result = dfu.covariate_shift_conformal(p1, labels, ratio, rng=0, **options)
        assert not result.guarantee
        text = " ".join(str(result).split())
        assert "none: the weights are estimated, so that no finite-sample claim" in text
        assert "estimated (logistic)" in text
    assert fit([1, 1, 1, 1]).guarantee
    assert "given" in str(fit([1, 1, 1, 1]))


def test_features_where_they_do_not_belong(shifted):
    x, p1, labels, _, ratio = shifted
    with pytest.raises(dfu.InputError, match="'features' parameter of covariate_shift"):
        dfu.covariate_shift_conformal(p1, labels, np.ones(300), features=x)
    with pytest.raises(dfu.InputError, match="not the ratio's source rows"):
        dfu.covariate_shift_conformal(p1[:50], labels[:50], ratio)
    with pytest.raises(dfu.InputError, match="of 50 rows"):
        dfu.covariate_shift_conformal(p1[:50], labels[:50], ratio, features=x[:40])
    result = dfu.covariate_shift_conformal(p1, labels, ratio)
    with pytest.raises(dfu.InputError, match="or give 'features'"):
        result.predict(p1)
    with pytest.raises(dfu.InputError, match="of 300 rows"):
        result.predict(p1, features=x[:9])
    with pytest.raises(dfu.InputError, match="'features' parameter"):
        result.predict(p1, np.ones(300), features=x)
    with pytest.raises(dfu.InputError, match="of shape"):
        result.predict(p1, features=np.zeros((300, 2)))
    with pytest.raises(dfu.InputError, match="was given weights"):
        fit([1, 1, 1, 1]).predict(P1, features=[1, 1, 1, 1])


def test_round_trip_with_a_ratio(shifted, tmp_path):
    _, p1, labels, target, ratio = shifted
    result = dfu.covariate_shift_conformal(p1, labels, ratio, score="lac")
    result.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(result)
    np.testing.assert_array_equal(
        again.threshold_for(features=target), result.threshold_for(features=target)
    )


def test_a_users_estimator_is_not_saved(tmp_path):
    class Constant:
        def fit(self, x, y):
            pass

        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    x = np.arange(20.0)
    ratio = dfu.density_ratio(x, x + 1, method=Constant(), rng=0)
    result = dfu.covariate_shift_conformal(np.full(20, 0.7), [1] * 20, ratio, rng=0)
    with pytest.raises(dfu.InputError, match="Constant, which cannot be saved"):
        result.save(tmp_path / "fit.npz")


def test_round_trip(tmp_path):
    result = fit([1, 2, 0.5, 3])
    result.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(result)
    np.testing.assert_array_equal(again.sample_weight, result.sample_weight)
