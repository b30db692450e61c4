"""Assessments and comparisons: what they report, and when not to trust it."""

import numpy as np
import pytest
from matplotlib.text import Text
from scipy import special

import distfreeuq as dfu
from distfreeuq import metrics
from distfreeuq._base.printing import interval


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
    of_classes = frame.loc["classwise_ece"]
    assert of_classes["corrected"] < of_classes["estimate"]
    without = ["max_gap", "max_ece", "average_ece"]
    assert frame.loc[without, ["corrected", "low", "high"]].isna().all(axis=None)
    assert np.isnan(result.interval("classwise_ece")).all()
    hits = (probs.argmax(axis=1) == labels).sum()
    low, high = dfu.bounds.clopper_pearson(hits, labels.size, 0.05)
    assert result.interval("accuracy") == pytest.approx((float(low), float(high)))
    assert frame.loc["nll", "corrected"] == frame.loc["nll", "estimate"]
    assert result.interval("ece") == (frame.loc["ece", "low"], frame.loc["ece", "high"])


def test_near_zero_points_to_the_test(data):
    calibrated, sharp, labels = data
    near = dfu.assess(calibrated, labels, n_boot=50, rng=0)
    assert near.near_zero and near.test.p_value > 0.01
    assert "times the" in str(near) and np.isnan(near.interval("ece")).all()
    assert f"{near.noise:.4f}" in str(near) and near.noise == near.test.null_mean
    far = dfu.assess(sharp, labels, n_boot=50, rng=0)
    assert not far.near_zero and far.test.p_value == 0.001
    assert "times the" not in str(far) and "<= 0.001" in str(far)


def test_noise_is_about_the_mean_ece_of_calibrated_classifiers(data):
    probs, _, labels = data
    without_test = dfu.assess(probs, labels, n_sim=0)
    result = dfu.assess(probs, labels, rng=0)
    assert without_test.noise == pytest.approx(result.test.null_mean, rel=0.05)


def test_noise_of_weighted_rows_by_hand():
    p1, labels = np.array([0.9, 0.8, 0.7, 0.6]), [1, 1, 0, 1]
    w = np.array([4.0, 2.0, 1.0, 1.0])
    pair = dfu.compare(p1, p1, labels, n_bins=1, sample_weight=w, n_boot=0)
    # the sum of w (hit - p) has variance sum w^2 p (1 - p)
    want = np.sqrt(2 / np.pi * (w**2 @ (p1 * (1 - p1)))) / w.sum()
    np.testing.assert_allclose(pair.noise, want)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_of_differences_have_their_level(data, level):
    _, probs, labels = data
    other = np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)
    pair = dfu.compare(probs, other, labels, level=level, n_boot=4000, rng=0)
    one, two = (((p - np.eye(4)[labels]) ** 2).sum(axis=1) for p in (probs, other))
    half = special.ndtri(0.5 + level / 2) * (two - one).std() / np.sqrt(labels.size)
    low, high = pair.interval("brier_score")[1]
    assert (high - low) / 2 == pytest.approx(half, rel=0.08)


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
    # what is not an accuracy is not called one
    assert result.metrics[:2] == ("frequency", "mean_probability")
    assert result["frequency"] == labels.mean()
    assert result["mean_probability"] == pytest.approx(p.mean())
    with pytest.raises(dfu.InputError, match="accuracy"):
        result["accuracy"]
    assert "accuracy" not in str(result) + repr(result) + str(result.reliability)
    assert "frequency of class 1" in str(result)
    drawn = result.plot()
    texts = [text.get_text() for text in drawn.figure.findobj(match=Text)]
    assert not any("accuracy" in text or "confidence" in text for text in texts)
    comparison = dfu.compare(p, p**2, labels, event="class-1", n_boot=40, rng=0)
    assert np.isnan(comparison.interval("frequency")[1]).all()
    assert "accuracy" not in str(comparison)


def test_weights_all_zero_in_a_sample_do_no_harm():
    result = dfu.assess(
        [[0.9, 0.1], [0.4, 0.6]], [0, 1], sample_weight=[1, 0], n_boot=30, rng=0
    )
    assert np.isnan(result.low).all() and np.isfinite(result.estimates).all()


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
        ((probs, {"b": sharp}, labels), {}, "'classifiers' parameter of compare"),
        ((probs, sharp[:9], labels), {}, "labels"),
    ):
        with pytest.raises(dfu.InputError, match=match):
            dfu.compare(*arguments, n_boot=0, **keywords)


def test_comparison_says_which_errors_are_near_zero(data):
    probs, sharp, labels = data
    result = dfu.compare(probs, sharp, labels, names=["plain", "sharp"], n_boot=20)
    assert result.near_zero == ("plain",)
    assert "as that of plain is" in " ".join(str(result).split())
    assert np.isnan(result.interval("ece")[1]).all()
    worse = dfu.compare(sharp, sharp**2 / (sharp**2).sum(1, keepdims=True), labels)
    assert worse.near_zero == () and "as that of" not in str(worse)
    assert np.isfinite(worse.interval("ece")).all()


def test_comparison_is_paired(data):
    probs, sharp, labels = data
    probs = sharp**0.8 / (sharp**0.8).sum(axis=1, keepdims=True)
    sharp = sharp**2 / (sharp**2).sum(axis=1, keepdims=True)
    result = dfu.compare({"plain": probs, "sharp": sharp}, labels, n_boot=200, rng=0)
    frame = result.to_frame().set_index(["metric", "classifier"])
    ece = frame.loc[("ece", "sharp")]
    assert ece["difference"] == pytest.approx(
        metrics.ece(sharp, labels) - metrics.ece(probs, labels)
    )
    assert 0.0 < ece["low"] < ece["difference"] < ece["high"]
    # the same decisions here; on other rows they might differ
    accuracy = frame.loc[("accuracy", "sharp")]
    assert accuracy["difference"] == 0.0 and np.isnan(accuracy["low"])
    assert (result.differences[0] == 0.0).all()
    assert result.difference("ece")[1] == ece["difference"]
    assert result.interval("ece")[1].tolist() == [ece["low"], ece["high"]]
    assert "less plain" in str(result)


def test_one_row():
    result = dfu.assess([[0.3, 0.7]], [1], n_boot=20, n_sim=9, rng=0)
    for name in ("ece", "max_gap", "max_ece", "average_ece", "classwise_ece"):
        assert result[name] == pytest.approx(0.3)
        assert np.isnan(result.interval(name)).all()
    assert result["debiased_ece"] == result["overconfident_ece"] == 0.0


def test_a_thousand_classes_leave_no_gaps():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.full(1000, 0.05), size=80)
    result = dfu.assess(probs, rng.integers(0, 1000, 80), n_boot=20, n_sim=9, rng=0)
    assert not result.to_frame()["estimate"].isna().any()
    assert result.by_class.shape == (1000, 6)


def test_few_wrong_rows_leave_only_intervals_that_cover():
    rng = np.random.default_rng(4)
    confidence = rng.uniform(0.9, 1.0, 300)
    for n_wrong, given in ((19, False), (20, True)):
        labels = np.where(np.arange(300) < n_wrong, 0, 1)
        result = dfu.assess(confidence, labels, n_boot=40, n_sim=0, rng=0)
        assert np.isfinite(result.interval("brier_score")).all() == given
        assert np.isfinite(result.interval("accuracy")).all()
        assert np.isfinite(result.interval("mean_confidence")).all()
        assert ("fewer than 20 wrong rows" in " ".join(str(result).split())) != given
        pair = dfu.compare(confidence, confidence**2, labels, n_boot=40, rng=0)
        assert np.isfinite(pair.interval("nll")[1]).all() == given
        assert "can be trusted" not in str(pair) and "likelihood can" not in str(pair)


def test_infinite_likelihoods_are_printed_and_nothing_leaks():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.3, 0.9, 400)
    labels = (rng.random(400) < p).astype(int)
    certain = p.copy()
    certain[:3] = 1.0 - labels[:3]
    for pair in ((p, certain), (certain, p), (certain, certain)):
        result = dfu.compare(*pair, labels, n_boot=30, rng=0)
        assert np.isnan(result.interval("nll")[1]).all()
        assert "nan" not in str(result) and "inf" in str(result)
        assert "probability zero" in " ".join(str(result).split())
    one = dfu.assess(certain, labels, n_boot=30, rng=0)
    assert np.isnan(one.interval("nll")).all() and "nan" not in str(one)
    assert "fewer than 20 wrong" not in " ".join(str(one).split())


def test_max_ece_says_that_it_rests_on_one_row():
    probs = np.tile([0.7, 0.2, 0.1], (40, 1))
    probs[0] = [0.1, 0.1, 0.8]
    labels = np.arange(40) % 3 // 2
    text = " ".join(str(dfu.assess(probs, labels, n_sim=9, rng=0)).split())
    assert "that of 2, which is predicted in one row only" in text


def test_an_underconfident_classifier_has_no_interval_of_overconfidence():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.0, 1.0, 4000)
    labels = (rng.random(4000) < p).astype(int)
    result = dfu.assess(0.5 + 0.3 * (p - 0.5), labels, n_boot=40, rng=0)
    assert np.isfinite(result.interval("ece")).all()
    assert np.isnan(result.interval("overconfident_ece")).all()
    assert "for the over-confident ECE" in " ".join(str(result).split())


def test_weighted_p_value_by_enumeration():
    # One bin, w (hit - c) = 3 (-3/4) and 1/4. Hits: T = 2.25 - .25 = 2 unless fewer;
    # simulated ones as large are 00: 3, 01: 2, so 1/16 + 3/16 = 1/4. Signs: 2.5 or 2,
    # all as large, so the p-value is 1.
    result = dfu.assess(
        [0.75, 0.75], [0, 1], sample_weight=[3, 1], n_bins=1, n_sim=400, rng=0
    )
    assert result["ece"] == pytest.approx(0.5)
    assert result.test.p_value == 1.0
    assert not result.guarantee  # from two rows
    p, labels = [0.75] * 80, [0, 1] * 40
    many = dfu.assess(p, labels, sample_weight=[3, 1] * 40, n_sim=9, rng=0)
    assert not many.guarantee.finite_sample
    assert "calibrated on the target" in many.guarantee.statement


def test_equal_weights_leave_the_exact_test():
    p, labels = [0.75, 0.75, 0.6], [0, 1, 1]
    one = dfu.assess(p, labels, n_sim=99, rng=0)
    two = dfu.assess(p, labels, sample_weight=[2, 2, 2], n_sim=99, rng=0)
    assert one.test.p_value == two.test.p_value
    assert one.guarantee == two.guarantee and two.guarantee.finite_sample


def test_printed_intervals_are_rounded_outwards():
    assert interval(0.12341, 0.56781) == "[0.1234, 0.5679]"
    assert interval(-0.12341, -0.00001) == "[-0.1235, -1.0e-05]"
    assert interval(0.1 + 0.2, 0.7) == "[0.3000, 0.7000]"
    assert interval(np.nan, 1.0) == "-"
    assert interval(0.0, np.inf) == "[0.0000, inf]"


def test_levels_of_intervals_are_called_level(data):
    probs, sharp, labels = data
    result = dfu.assess(probs, labels, level=0.9, n_sim=0)
    pair = dfu.compare(probs, sharp, labels, level=0.8, n_boot=0)
    assert (result.level, result.reliability.level, pair.level) == (0.9, 0.9, 0.8)
    assert not any(hasattr(one, "confidence") for one in (result, pair))
    assert not hasattr(result.reliability, "confidence")


def test_old_fields_are_translated():
    old = {"confidence": 0.9, "metrics": ("accuracy", "mean_confidence", "ece")}
    table = metrics.reliability([0.9, 0.8], [1, 0])
    right = dfu.AssessmentResult._from_format1({**old, "reliability": table})
    assert right["level"] == 0.9 and right["metrics"] == old["metrics"]
    table = dfu.assess([0.9, 0.8], [1, 0], event="class-1", n_sim=0).reliability
    of_one = dfu.AssessmentResult._from_format1({**old, "reliability": table})
    assert of_one["metrics"] == ("frequency", "mean_probability", "ece")


def test_calibrations_are_compared_on_class_1():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=400)
    labels = (logits + rng.logistic(size=400) > 0).astype(int)
    result = dfu.compare_calibrations(
        logits[:200], labels[:200], logits[200:], labels[200:], event="class-1", n_rep=2
    )
    assert "frequency of class 1" in str(result) and "accuracy" not in str(result)


@pytest.mark.parametrize("event", ["predicted", "class-1"])
def test_the_smooth_error_is_that_of_the_metric(event):
    rng = np.random.default_rng(8)
    probs = rng.random(300)
    labels = (rng.random(300) < probs**2).astype(int)
    for weights in (None, rng.random(300)):
        result = dfu.assess(
            probs, labels, event=event, sample_weight=weights, n_sim=0, rng=0
        )
        found = metrics.smooth_ece(probs, labels, event=event, sample_weight=weights)
        assert result.smooth_ece == found
        assert f"{found:.4f}" in str(result)
        assert "smooth_ece" not in result.metrics  # it has no interval
