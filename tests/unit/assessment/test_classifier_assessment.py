"""Assessments and comparisons: what they report, and when not to trust it."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def data():
    """Return calibrated probabilities, sharper ones, and labels (n = 1500, K = 4)."""
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=1.5, size=(1500, 4))
    probs = softmax(logits)
    labels = (np.cumsum(probs, axis=1) < rng.random((1500, 1))).sum(axis=1)
    return probs, softmax(2.5 * logits), labels


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scheme", ["equal-width", "uniform-mass"])
def test_all_metrics_are_those_of_the_metrics_module(data, scheme, weighted):
    _, probs, labels = data
    weight = 1.0 + np.arange(1500) % 3 if weighted else None
    options = {"n_bins": 10, "scheme": scheme, "sample_weight": weight}
    result = dfu.assess(probs, labels, n_sim=0, **options)
    for name in result.metrics:
        if name in ("accuracy", "mean_confidence", "brier_score", "nll"):
            expected = getattr(metrics, name)(probs, labels, sample_weight=weight)
        elif name == "max_gap":
            expected = metrics.ece(probs, labels, norm="max", **options)
        elif name == "debiased_ece":
            expected = metrics.debiased_ece(probs, labels, n_bins=10, scheme=scheme)
        else:
            expected = getattr(metrics, name)(probs, labels, **options)
        assert result[name] == pytest.approx(expected, rel=1e-12), name
    assert ("debiased_ece" in result.metrics) is not weighted
    assert result.reliability.ece == pytest.approx(result["ece"], rel=1e-12)


def test_class_table(data):
    _, probs, labels = data
    frame = dfu.assess(probs, labels, n_sim=0).class_frame()
    predicted = probs.argmax(axis=1)
    assert frame["rows"].tolist() == np.bincount(labels).tolist()
    assert frame["predicted"].tolist() == np.bincount(predicted).tolist()
    for k in range(4):
        own = predicted == k
        assert frame["accuracy"][k] == pytest.approx((labels[own] == k).mean())
        assert frame["ece"][k] == pytest.approx(metrics.ece(probs[own], labels[own]))
    errors = metrics.classwise_ece(probs, labels, average=False)
    np.testing.assert_allclose(frame["classwise_ece"], errors, rtol=1e-12)


def test_never_predicted_class_has_no_ece():
    probs = [[0.6, 0.3, 0.1]] * 5
    result = dfu.assess(probs, list("aabbc"), classes=["a", "b", "c"], rng=0)
    assert np.isnan(result.class_frame()["ece"][[1, 2]]).all()
    assert result["max_ece"] == pytest.approx(0.2)
    assert "b" in str(result)


def test_bootstrap_is_seeded_and_the_same_on_any_number_of_processes(data):
    _, probs, labels = data
    first = dfu.assess(probs, labels, n_boot=60, n_sim=9, rng=7)
    for n_jobs in (1, 2):
        again = dfu.assess(probs, labels, n_boot=60, n_sim=9, rng=7, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.low, first.low)
        np.testing.assert_array_equal(again.high, first.high)
        assert again.test.p_value == first.test.p_value
    other = dfu.assess(probs, labels, n_boot=60, n_sim=9, rng=8)
    assert (other.low != first.low).any()


def test_intervals_hold_the_estimates_and_bias_is_taken_out(data):
    _, probs, labels = data
    result = dfu.assess(probs, labels, n_boot=300, rng=1)
    frame = result.to_frame().set_index("metric")
    steady = ["accuracy", "mean_confidence", "ece", "brier_score", "nll"]
    assert (frame.loc[steady, "low"] < frame.loc[steady, "estimate"]).all()
    assert (frame.loc[steady, "estimate"] < frame.loc[steady, "high"]).all()
    assert frame.loc["average_ece", "corrected"] < frame.loc["average_ece", "estimate"]
    assert frame.loc["nll", "corrected"] == frame.loc["nll", "estimate"]
    assert result.interval("ece") == (frame.loc["ece", "low"], frame.loc["ece", "high"])


def test_near_zero_points_to_the_test(data):
    calibrated, sharp, labels = data
    near = dfu.assess(calibrated, labels, n_boot=50, rng=0)
    assert near.near_zero and near.test.p_value > 0.01
    assert "Rely on the test" in str(near)
    far = dfu.assess(sharp, labels, n_boot=50, rng=0)
    assert not far.near_zero and far.test.p_value == 0.001
    assert "Rely on the test" not in str(far)


def test_noise_is_about_the_mean_ece_of_calibrated_classifiers(data):
    probs, _, labels = data
    result = dfu.assess(probs, labels, rng=0)
    assert result.noise == pytest.approx(result.test.null_mean, rel=0.05)


def test_p_value_by_enumeration():
    # two rows of confidence 3/4, both wrong: P(no hit) = 1/16 is the largest ECE
    result = dfu.assess([0.75, 0.75], [0, 0], n_sim=40_000, rng=0)
    assert result["ece"] == 0.75
    assert result.test.p_value == pytest.approx(1 / 16, abs=0.006)  # 5 standard errors


def test_test_is_valid_at_certain_predictions():
    right = dfu.assess([[1.0, 0.0]] * 4, [0] * 4, n_sim=99, rng=0)
    wrong = dfu.assess([[1.0, 0.0]] * 4, [0, 0, 0, 1], n_sim=99, rng=0)
    assert right.test.p_value == 1.0 and wrong.test.p_value == 0.01
    assert wrong["nll"] == np.inf


def test_predictions_without_a_matrix(data):
    _, probs, labels = data
    full = dfu.assess(probs, labels, n_sim=0)
    top = dfu.assess(
        probs.max(axis=1), labels, predicted=probs.argmax(axis=1), n_sim=0, n_boot=20
    )
    assert set(full.metrics) - set(top.metrics) == {
        "classwise_ece",
        "brier_score",
        "nll",
    }
    for name in top.metrics:
        assert top[name] == pytest.approx(full[name], rel=1e-12)


def test_event_of_class_1():
    rng = np.random.default_rng(2)
    p = rng.random(400)
    labels = (rng.random(400) < p**2).astype(int)
    result = dfu.assess(p, labels, event="class-1", n_boot=20, rng=0)
    assert result["ece"] == pytest.approx(metrics.ece(p, labels, event="class-1"))
    assert "max_ece" not in result.metrics
    assert result.class_frame().empty


def test_weights_all_zero_in_a_sample_do_no_harm():
    result = dfu.assess(
        [[0.9, 0.1], [0.4, 0.6]], [0, 1], sample_weight=[1, 0], n_boot=30, rng=0
    )
    assert np.isfinite(result.low).all() and np.isfinite(result.high).all()


def test_saved_and_loaded(data, tmp_path):
    probs, sharp, labels = data
    result = dfu.assess(sharp, labels, n_boot=20, n_sim=9, rng=0)
    comparison = dfu.compare([probs, sharp], labels, n_boot=20, rng=0)
    for one in (result, comparison):
        one.save(tmp_path / "saved.npz")
        assert str(dfu.load(tmp_path / "saved.npz")) == str(one)


def test_refusals(data):
    probs, _, labels = data
    for arguments, match in (
        ({"n_boot": -1}, "n_boot"),
        ({"n_sim": 1.5}, "n_sim"),
        ({"level": 1.0}, "level"),
        ({"rng": "seed"}, "rng"),
        ({"event": "class-1"}, "event"),
    ):
        with pytest.raises(dfu.InputError, match=match):
            dfu.assess(probs, labels, **arguments)
    with pytest.raises(dfu.InputError, match="metric"):
        dfu.assess(probs, labels, n_sim=0)["f1"]


def test_comparisons_are_written_in_any_way(data):
    probs, sharp, labels = data
    named = dfu.compare({"A": probs, "B": sharp}, labels, n_boot=20, rng=0)
    for result in (
        dfu.compare(probs, sharp, labels, n_boot=20, rng=0),
        dfu.compare(probs, sharp, labels=labels, n_boot=20, rng=0),
        dfu.compare([probs, sharp], labels, n_boot=20, rng=0),
        dfu.compare(probs.tolist(), sharp.tolist(), labels, n_boot=20, rng=0),
    ):
        assert str(result) == str(named)
        np.testing.assert_array_equal(result.low, named.low)
    three = dfu.compare(
        probs, sharp, probs, labels, names=["plain", "sharp", "again"], n_boot=0
    )
    assert three.names == ("plain", "sharp", "again")
    assert (three.differences[2] == 0.0).all()


def test_refusals_of_comparisons(data):
    probs, sharp, labels = data
    for arguments, keywords, match in (
        ((probs, labels), {}, "two .for one there is assess.*Got one"),
        (({}, labels), {}, "classifiers.*Got none"),
        ((labels,), {}, "labels.*compare.a, b, labels.*Got None"),
        ((probs, sharp), {}, r"labels.*a matrix of shape \(1500, 4\) in its place"),
        ((probs, sharp, labels), {"names": ["a"]}, "names.*2 different names"),
        ((probs, sharp, labels), {"names": ["a", "a"]}, "names.*2 different names"),
        (({"a": probs, "b": sharp}, labels), {"names": "ab"}, "names.*left out"),
        ((probs, {"b": sharp}, labels), {}, "probs"),
        ((probs, sharp[:9], labels), {}, "labels"),
    ):
        with pytest.raises(dfu.InputError, match=match):
            dfu.compare(*arguments, n_boot=0, **keywords)


def test_comparison_says_which_errors_are_near_zero(data):
    probs, sharp, labels = data
    result = dfu.compare(probs, sharp, labels, names=["plain", "sharp"], n_boot=20)
    assert result.near_zero == ("plain",)
    assert "ECE of plain is not far above" in str(result)
    worse = dfu.compare(sharp, sharp**2 / (sharp**2).sum(1, keepdims=True), labels)
    assert worse.near_zero == () and "not far above" not in str(worse)


def test_comparison_is_paired(data):
    probs, sharp, labels = data
    result = dfu.compare({"plain": probs, "sharp": sharp}, labels, n_boot=200, rng=0)
    frame = result.to_frame().set_index(["metric", "classifier"])
    ece = frame.loc[("ece", "sharp")]
    assert ece["difference"] == pytest.approx(
        metrics.ece(sharp, labels) - metrics.ece(probs, labels)
    )
    assert 0.0 < ece["low"] < ece["difference"] < ece["high"]
    # the same decisions: accuracy differs by nothing, and that is known exactly
    accuracy = frame.loc[("accuracy", "sharp")]
    assert accuracy["low"] == accuracy["high"] == accuracy["difference"] == 0.0
    assert (result.differences[0] == 0.0).all()
    assert result.difference("ece")[1] == ece["difference"]
    assert result.interval("ece")[1].tolist() == [ece["low"], ece["high"]]
    assert "less plain" in str(result)


def test_one_row():
    result = dfu.assess([[0.3, 0.7]], [1], n_boot=20, n_sim=9, rng=0)
    for name in ("ece", "max_gap", "max_ece", "average_ece", "classwise_ece"):
        assert result[name] == pytest.approx(0.3)
        assert result.interval(name) == pytest.approx((0.3, 0.3))
    assert result["debiased_ece"] == result["overconfident_ece"] == 0.0


def test_a_thousand_classes_leave_no_gaps():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.full(1000, 0.05), size=80)
    result = dfu.assess(probs, rng.integers(0, 1000, 80), n_boot=20, n_sim=9, rng=0)
    assert not result.to_frame().isna().any(axis=None)
    assert result.by_class.shape == (1000, 6)
