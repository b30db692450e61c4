"""Sets for many classes, by hand and against the procedures that they lie between."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.conformal.many_classes.class_quantiles import order_statistics
from distfreeuq.conformal.many_classes.clustered_sets import k_means

RNG = np.random.default_rng(4)
K, N = 12, 3000
PRIOR = 1.0 / np.arange(1, K + 1)
PRIOR /= PRIOR.sum()
LABELS = RNG.choice(K, N, p=PRIOR)
LOGITS = RNG.normal(size=(N, K)) + 2.0 * np.eye(K)[LABELS] + np.log(PRIOR)
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)


def test_order_statistics_by_hand():
    scores = np.array([5.0, 1.0, 3.0, 2.0, 9.0])
    labels = np.array([0, 1, 0, 0, 1])
    found = order_statistics(scores, labels, np.array([3, 2, 0]), np.array([2, 2, 1]))
    assert found.tolist() == [3.0, 9.0, np.inf]


# ---------------------------------------------------------------------- interpolated


def test_between_the_two_thresholds():
    split = dfu.split_conformal(PROBS, LABELS, score="lac").thresholds
    own = dfu.label_conditional_conformal(PROBS, LABELS, score="lac").thresholds
    for share in (0.0, 0.3, 1.0):
        fit = dfu.interpolated_conformal(PROBS, LABELS, share=share)
        np.testing.assert_allclose(fit.thresholds, share * own + (1 - share) * split)
    assert fit.guarantee.lower == pytest.approx(0.9)
    half = dfu.interpolated_conformal(PROBS, LABELS, share=0.5)
    assert half.guarantee.lower == pytest.approx(0.8)
    assert str(half.at(0.2)) == str(
        dfu.interpolated_conformal(PROBS, LABELS, share=0.5, alpha=0.2)
    )


def test_a_class_without_rows_has_the_largest_score_there_is():
    some = LABELS != 3
    for score, largest in (("lac", 1.001), ("rank", 12.0), (dfu.PAS(PRIOR), 0.0)):
        fit = dfu.interpolated_conformal(PROBS[some], LABELS[some], score=score, rng=0)
        split = dfu.split_conformal(PROBS[some], LABELS[some], score=score, rng=0)
        expected = 0.5 * largest + 0.5 * split.thresholds[3]
        assert fit.thresholds[3] == pytest.approx(expected)


@pytest.mark.parametrize(
    "score", ["lac", "aps", "margin", "rank", dfu.RAPS(), dfu.SAPS()]
)
def test_no_score_exceeds_its_upper_end(score):
    sharp = np.array([[0.5 + 4e-4, 0.5, 0.0], [1.0, 0.0, 4e-4]], dtype=np.float16)
    scores = dfu.nested_scores(sharp, score=score)
    chosen = dfu.split_conformal(PROBS, LABELS, score=score, rng=0).score
    assert scores.max() <= chosen.upper(3)


def test_scores_without_an_upper_end_are_refused():
    with pytest.raises(dfu.InputError, match="which are bounded"):
        dfu.interpolated_conformal(PROBS, LABELS, score=lambda probs: -probs)


# ------------------------------------------------------------------- rank-calibrated


def test_without_a_share_they_are_label_conditional():
    cut = dfu.rank_calibrated_conformal(PROBS, LABELS, rank_share=0.0, rng=0)
    plain = dfu.label_conditional_conformal(PROBS, LABELS, rng=0)
    np.testing.assert_array_equal(cut.thresholds, plain.thresholds)
    np.testing.assert_array_equal(cut.predict(PROBS).mask, plain.predict(PROBS).mask)


def test_ranks_beyond_the_largest_are_left_out():
    fit = dfu.rank_calibrated_conformal(PROBS, LABELS, rng=0)
    mask = fit.predict(PROBS).mask
    ranks = (PROBS[:, None, :] > PROBS[:, :, None]).sum(axis=2) + 1
    assert not mask[ranks > fit.largest_rank].any()
    scores = fit.at(0.1).predict(PROBS)
    np.testing.assert_array_equal(scores.mask, mask)
    assert fit.predict(PROBS).sizes.mean() < (
        dfu.label_conditional_conformal(PROBS, LABELS, rng=0)
        .predict(PROBS)
        .sizes.mean()
    )


def test_by_hand():
    """Nine rows of class 0: ranks 1 to 3; alpha 0.3, all of it may go to ranks."""
    probs = [[0.6, 0.3, 0.1]] * 6 + [[0.3, 0.6, 0.1]] * 2 + [[0.1, 0.6, 0.3]]
    with pytest.warns(dfu.SmallCalibrationWarning, match="classes 'b', 'c'"):
        fit = dfu.rank_calibrated_conformal(
            probs,
            ["a"] * 9,
            alpha=0.3,
            rank_share=1.0,
            score="lac",
            classes=list("abc"),
        )
    # m = 3: the 7th smallest rank is 2; beyond the 6th, 1, scores are infinite, and the
    # 7th smallest of six finite scores is infinite too
    assert fit.largest_rank.tolist() == [2.0, np.inf, np.inf]
    assert fit.thresholds.tolist() == [np.inf] * 3
    assert fit.predict([[0.1, 0.6, 0.3]]).mask.tolist() == [[False, True, True]]


# ------------------------------------------------------------------------- clustered


def test_clusters_share_a_threshold():
    fit = dfu.clustered_conformal(PROBS, LABELS, n_clusters=3, rng=0)
    for c in np.unique(fit.cluster):
        assert np.unique(fit.thresholds[fit.cluster == c]).size == 1
    assert fit.n == N // 2 and fit.class_counts.sum() == fit.n
    mask = fit.p_values(PROBS) > 0.1 + 1e-12
    np.testing.assert_array_equal(mask, fit.predict(PROBS).mask)
    assert str(fit.at(0.2).at(0.1)) == str(fit)
    again = dfu.clustered_conformal(PROBS, LABELS, n_clusters=3, rng=0)
    np.testing.assert_array_equal(again.cluster, fit.cluster)


def test_rare_classes_are_a_cluster_of_their_own():
    few = np.concatenate([np.flatnonzero(LABELS < 2), np.flatnonzero(LABELS == 9)[:5]])
    with pytest.warns(dfu.SmallCalibrationWarning, match="clusters with 10 classes"):
        fit = dfu.clustered_conformal(PROBS[few], LABELS[few], rng=0)
    assert (fit.cluster[2:] == 0).all() and (fit.cluster[:2] > 0).all()


def test_k_means_finds_groups():
    points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [9.0]])
    found = k_means(points, np.ones(6), 3)
    assert [found[0]] * 3 == list(found[:3]) and found[3] == found[4] != found[5]


def test_what_clusters_refuse():
    with pytest.raises(dfu.InputError, match="does not count the labels"):
        dfu.clustered_conformal(PROBS, LABELS, score=dfu.PAS())


# ------------------------------------------------------------------------------ all


@pytest.mark.parametrize(
    "function",
    [
        dfu.interpolated_conformal,
        dfu.clustered_conformal,
        dfu.rank_calibrated_conformal,
    ],
)
def test_they_are_saved_and_printed(function, tmp_path):
    fit = function(PROBS, LABELS, rng=0)
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(fit) and len(fit.to_frame()) == K
    np.testing.assert_array_equal(again.predict(PROBS).mask, fit.predict(PROBS).mask)
    fit.plot()


def test_no_p_values():
    for function in (dfu.interpolated_conformal, dfu.rank_calibrated_conformal):
        with pytest.raises(dfu.InputError, match="these sets have no p-values"):
            function(PROBS, LABELS, rng=0).p_values(PROBS)


def test_macro_coverage_by_hand():
    fit = dfu.split_conformal([[0.8, 0.1, 0.1]] * 30, [0] * 30, score="lac")
    result = fit.predict([[0.8, 0.1, 0.1]] * 10).evaluate([0] * 8 + [1] * 2)
    assert result.macro_coverage == 0.5 and result.share_below == 0.5
    empty = fit.predict(np.empty((0, 3))).evaluate([])
    assert np.isnan(empty.macro_coverage) and np.isnan(empty.share_below)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("score", ["aps", "lac"])
def test_a_mean_of_equal_thresholds_holds_rows_that_score_as_much(share, score):
    """Rounding put it below them: no row was covered where all but 2 alpha should."""
    counts = np.array([[5, 2, 4, 8], [1, 6, 3, 3], [2, 3, 2, 6], [1, 9, 5, 4]])
    for row in counts / counts.sum(axis=1, keepdims=True):
        probs, labels = np.tile(row, (12, 1)), np.full(12, 2)
        fit = dfu.interpolated_conformal(
            probs, labels, alpha=0.15, share=share, score=score, randomized=False, rng=0
        )
        assert fit.predict(probs[:1], rng=1).mask[0, 2]
