"""Calibration errors and scores: golden cases, numbers by hand, edges, refusals."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import metrics

PROBS = np.array([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.9, 0.1]])
LABELS = np.array([0, 1, 1, 0])
CALIBRATION_ERRORS = [
    metrics.ece,
    metrics.overconfident_ece,
    metrics.max_ece,
    metrics.average_ece,
    metrics.classwise_ece,
]
SCORES = [
    metrics.brier_score,
    metrics.nll,
    metrics.accuracy,
    metrics.mean_confidence,
]


@pytest.mark.golden("metrics", "ece")
def test_golden_ece(case):
    given, expected = case["inputs"], case["expected"]
    options = {
        "n_bins": int(given["M"]),
        "closed": given.get("convention", "right"),
        "sample_weight": given.get("weights"),
    }
    if expected["ece"] is None:
        with pytest.raises(dfu.InputError, match="sample_weight"):
            metrics.reliability(given["conf"], given["correct"], **options)
        return
    table = metrics.reliability(given["conf"], given["correct"], **options)
    assert table.ece == pytest.approx(expected["ece"], rel=1e-9)
    assert table.overconfident_ece == pytest.approx(expected["over"], rel=1e-9)
    if "under" in expected:
        assert table.underconfident_ece == pytest.approx(expected["under"], rel=1e-9)
    for m, row in enumerate(expected.get("table", [])):
        assert table.weight[m] == row["weight"]
        for ours, key in ((table.mean_confidence, "conf"), (table.accuracy, "acc")):
            if row[key] is None:
                assert np.isnan(ours[m])
            else:
                assert ours[m] == pytest.approx(row[key], rel=1e-9)


@pytest.mark.golden("metrics", "brier_decomposition")
def test_golden_brier_decomposition(case):
    given = case["inputs"]
    groups = given.get("groups", "forecasts")
    parts = metrics.brier_decomposition(given["probs"], given["labels"], groups=groups)
    for name, value in case["expected"].items():
        assert getattr(parts, name) == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert metrics.brier_score(given["probs"], given["labels"]) == parts.brier


@pytest.mark.parametrize("groups", ["bins", "forecasts", "given"])
@pytest.mark.parametrize("weighted", [False, True])
def test_brier_terms_add_up(groups, weighted):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], size=200).round(1)
    probs[:, 2] = 1.0 - probs[:, 0] - probs[:, 1]
    probs = np.abs(probs)
    labels = rng.integers(0, 3, 200)
    weight = rng.exponential(size=200) * (rng.random(200) < 0.8) if weighted else None
    if groups == "given":
        groups = rng.integers(-5, 5, 200)
    p = metrics.brier_decomposition(probs, labels, groups=groups, sample_weight=weight)
    total = p.calibration + 1.0 - p.sharpness + p.within_var - 2.0 * p.within_cov
    assert total == pytest.approx(p.brier, abs=1e-13)
    assert p.uncertainty - p.resolution == pytest.approx(1.0 - p.sharpness, abs=1e-13)
    if isinstance(groups, str) and groups == "forecasts":
        assert p.within_var == pytest.approx(0.0, abs=1e-13)


def test_by_hand():
    # bins of ten: (0.6, 0.7] holds .7 (right), (0.7, 0.8] two .8 (one right),
    # (0.8, 0.9] holds .9 (right)
    gaps = np.array([0.7 - 1.0, 0.8 - 0.5, 0.9 - 1.0])
    share = np.array([1, 2, 1]) / 4
    options = {"n_bins": 10}
    assert metrics.ece(PROBS, LABELS, **options) == pytest.approx(share @ abs(gaps))
    l2 = np.sqrt(share @ gaps**2)
    assert metrics.ece(PROBS, LABELS, norm="l2", **options) == pytest.approx(l2)
    assert metrics.ece(PROBS, LABELS, norm="max", **options) == pytest.approx(0.3)
    assert metrics.overconfident_ece(PROBS, LABELS, **options) == pytest.approx(0.15)
    by_class = [(2 * 0.3 + 0.1) / 3, 0.3]
    assert metrics.max_ece(PROBS, LABELS, **options) == pytest.approx(max(by_class))
    mean = metrics.average_ece(PROBS, LABELS, **options)
    assert mean == pytest.approx(np.mean(by_class))
    assert metrics.accuracy(PROBS, LABELS) == 0.75
    assert metrics.mean_confidence(PROBS, LABELS) == pytest.approx(0.8)
    assert metrics.brier_score(PROBS, LABELS) == pytest.approx(
        2 * (0.04 + 0.64 + 0.09 + 0.01) / 4
    )
    assert metrics.nll(PROBS, LABELS) == pytest.approx(
        -np.log([0.8, 0.2, 0.7, 0.9]).mean()
    )


def test_binary_event_is_class_1_on_request():
    # P(class 1) = .2, .2, .7, .1: gaps of the bins (0, .5] and (.5, 1]
    top = metrics.ece(PROBS, LABELS, n_bins=2)
    one = metrics.ece(PROBS, LABELS, n_bins=2, event="class-1")
    assert top == pytest.approx(abs(3.2 - 3) / 4)
    assert one == pytest.approx((abs(0.5 - 1) + abs(0.7 - 1)) / 4)
    assert metrics.ece(PROBS[:, 1], LABELS, n_bins=2, event="class-1") == one
    with pytest.raises(dfu.InputError, match="event"):
        metrics.ece(np.full((3, 3), 1 / 3), [0, 1, 2], event="class-1")
    for error in (metrics.ece, metrics.overconfident_ece, metrics.debiased_ece):
        with pytest.raises(dfu.InputError, match="'event' parameter"):
            error(PROBS, LABELS, event=np.array(["predicted", "class-1"]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [3, 7, 10, 15, 100])
def test_decimal_edges_are_exact(n_bins, dtype):
    edges = np.array([float(f"{m / n_bins:.17g}") for m in range(n_bins + 1)])
    values = edges.astype(dtype)
    zeros = np.zeros(n_bins + 1)
    right = metrics.reliability(values, zeros, n_bins=n_bins)
    left = metrics.reliability(values, zeros, n_bins=n_bins, closed="left")
    assert right.weight.tolist() == [2.0] + [1.0] * (n_bins - 1)
    assert left.weight.tolist() == [1.0] * (n_bins - 1) + [2.0]


def test_seven_hundredths_is_the_seventh_of_a_hundred_bins():
    assert 0.07 * 100 > 7
    assert metrics.reliability([0.07], [1], n_bins=100).weight[6] == 1.0
    single = metrics.reliability(np.array([0.07], np.float32), [1], n_bins=100)
    assert single.weight[6] == 1.0
    probs = np.array([[0.07, 0.93]])
    errors = metrics.classwise_ece(probs, [0], n_bins=100, average=False)
    np.testing.assert_allclose(errors, [0.93, 0.93])


@pytest.mark.parametrize("metric", [*CALIBRATION_ERRORS, *SCORES])
def test_equal_weights_change_nothing(metric):
    for weight in (1.0, 0.3, 1e-300, 7e200):
        weighted = metric(PROBS, LABELS, sample_weight=np.full(4, weight))
        assert weighted == metric(PROBS, LABELS)


@pytest.mark.parametrize("metric", [*CALIBRATION_ERRORS, *SCORES])
def test_integer_weights_are_repetitions(metric):
    weight = np.array([3, 1, 0, 2])
    repeated = metric(np.repeat(PROBS, weight, axis=0), np.repeat(LABELS, weight))
    assert metric(PROBS, LABELS, sample_weight=weight) == pytest.approx(repeated)


@pytest.mark.parametrize("metric", [*CALIBRATION_ERRORS, *SCORES])
def test_sure_and_right_or_wrong(metric):
    best = {metrics.accuracy: 1.0, metrics.mean_confidence: 1.0}.get(metric, 0.0)
    assert metric([[0.0, 1.0]], [1]) == best
    worst = {metrics.accuracy: 0.0, metrics.nll: np.inf, metrics.brier_score: 2.0}
    assert metric([[0.0, 1.0]], [0]) == worst.get(metric, 1.0)


@pytest.mark.parametrize("metric", [*CALIBRATION_ERRORS, *SCORES])
def test_one_class_in_the_labels(metric):
    value = metric(PROBS, np.zeros(4, dtype=int))
    assert np.isfinite(value) and not isinstance(value, np.generic)


def test_nll_of_rows_without_weight_does_not_count():
    probs = [[1.0, 0.0], [0.5, 0.5]]
    assert metrics.nll(probs, [1, 0], sample_weight=[0, 1]) == pytest.approx(np.log(2))


def test_names_and_frames():
    import pandas as pd

    names = np.array(["cat", "dog"])
    frame = pd.DataFrame(PROBS, columns=names)
    for metric in (*CALIBRATION_ERRORS, *SCORES):
        assert metric(frame, names[LABELS]) == metric(PROBS, LABELS)


def test_predicted_labels_without_a_matrix():
    top, predicted = PROBS.max(axis=1), PROBS.argmax(axis=1)
    for metric in (
        metrics.ece,
        metrics.overconfident_ece,
        metrics.max_ece,
        metrics.average_ece,
        metrics.debiased_ece,
    ):
        expected = metric(PROBS, LABELS, n_bins=10)
        got = metric(top, LABELS, predicted=predicted, n_bins=10)
        assert got == pytest.approx(expected, abs=1e-15)
        names = np.array(["no", "yes"])
        named = metric(
            top,
            names[LABELS],
            predicted=names[predicted],
            n_bins=10,
            classes=["no", "yes"],
        )
        assert named == got
    with pytest.raises(dfu.InputError, match="classes"):
        metrics.ece(top, names[LABELS], predicted=names[predicted])


def test_uniform_mass_bins_hold_equal_shares():
    rng = np.random.default_rng(1)
    confidence = rng.random(60)
    table = metrics.reliability(
        confidence, rng.random(60) < 0.5, n_bins=6, scheme="uniform-mass"
    )
    assert table.weight.tolist() == [10.0] * 6
    assert not table.guarantee
    tied = metrics.reliability(
        [0.2] * 9 + [0.7], [0] * 10, n_bins=5, scheme="uniform-mass"
    )
    assert tied.weight.tolist() == [9.0, 1.0]
    same = metrics.reliability([0.2] * 9, [0] * 9, n_bins=5, scheme="uniform-mass")
    assert same.weight.tolist() == [9.0]


def test_debiased_square_by_hand():
    # one bin; gaps c - z are .8 - 1, .7 - 0, .75 - 1
    gaps = np.array([-0.2, 0.7, -0.25])
    probs = [[0.8, 0.2], [0.7, 0.3], [0.75, 0.25]]
    options = {"n_bins": 1, "squared": True}
    exact = metrics.debiased_ece(probs, [0, 1, 0], **options)
    assert exact == pytest.approx(gaps.mean() ** 2 - gaps.var(ddof=1) / 3)
    kumar = metrics.debiased_ece(probs, [0, 1, 0], method="kumar", **options)
    assert kumar == pytest.approx(gaps.mean() ** 2 - (2 / 9) / 2)
    assert metrics.debiased_ece([[0.8, 0.2]], [0]) == 0.0


def test_intervals_of_the_bins():
    confidence = np.repeat([0.25, 0.75], [40, 60])
    correct = np.arange(100) % 4 == 0
    table = metrics.reliability(confidence, correct, n_bins=4, level=0.9)
    low, high = dfu.bounds.clopper_pearson(10, 40, 0.1 / 4)
    np.testing.assert_allclose([table.low[0], table.high[0]], [low, high])
    assert (table.low[1], table.high[1]) == (0.0, 1.0)  # nothing known
    weighted = metrics.reliability(
        confidence, correct, n_bins=4, sample_weight=1 + np.arange(100) % 2, level=0.9
    )
    # the larger the spread of the weights, the fewer rows they are worth
    assert weighted.high[0] - weighted.low[0] > high - low
    assert "Hoeffding" in weighted.guarantee.reference


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n_bins": 0}, "n_bins"),
        ({"scheme": "equal"}, "scheme"),
        ({"closed": "both"}, "closed"),
        ({"sample_weight": [1, 1, 1]}, "sample_weight"),
        ({"sample_weight": [0, 0, 0, 0]}, "all zero"),
        ({"sample_weight": [1, 1, -1, 1]}, "sample_weight"),
        ({"sample_weight": [1, 1, np.nan, 1]}, "sample_weight"),
    ],
)
@pytest.mark.parametrize("metric", CALIBRATION_ERRORS)
def test_refusals(metric, arguments, match):
    with pytest.raises(dfu.InputError, match=match):
        metric(PROBS, LABELS, **arguments)


@pytest.mark.parametrize("metric", [*CALIBRATION_ERRORS, *SCORES])
def test_no_rows_are_refused(metric):
    with pytest.raises(dfu.InputError, match="at least one row"):
        metric(np.empty((0, 3)), [])


@pytest.mark.parametrize("metric", [*CALIBRATION_ERRORS, *SCORES])
def test_bad_rows_are_refused(metric):
    for row, match in (([0.5, 0.6], "sum to one"), ([np.nan, 0.5], "finite")):
        with pytest.raises(dfu.InputError, match=f"{match}.*row 4"):
            metric([*PROBS.tolist(), row], [*LABELS, 0])


def test_other_refusals():
    with pytest.raises(dfu.InputError, match="correct"):
        metrics.reliability([0.5], [0.5])
    with pytest.raises(dfu.InputError, match="confidence"):
        metrics.reliability([1.5], [1])
    with pytest.raises(dfu.InputError, match="norm"):
        metrics.ece(PROBS, LABELS, norm="l3")
    with pytest.raises(dfu.InputError, match="groups"):
        metrics.brier_decomposition(PROBS, LABELS, groups=[0, 1])


def test_table_prints_and_saves(tmp_path):
    table = metrics.reliability(PROBS.max(axis=1), [1, 0, 1, 1], n_bins=10)
    assert repr(table) == "<ReliabilityTable ece=0.2500 n=4 bins=10>"
    assert "0.7 to 0.8" in str(table)
    table.save(tmp_path / "table.npz")
    again = dfu.load(tmp_path / "table.npz")
    assert again.ece == table.ece and again.guarantee == table.guarantee


def test_edges_of_ones_own_are_the_bins():
    p, labels = [0.2, 0.4, 0.5, 0.9], [0, 1, 0, 1]
    own = {"scheme": [0.0, 0.4, 0.6, 1.0], "event": "class-1"}
    # {0.2, 0.4}, {0.5} and {0.9}
    assert metrics.ece(p, labels, **own) == pytest.approx((0.4 + 0.5 + 0.1) / 4)
    # an edge at the beginning of its bin: {0.2}, {0.4, 0.5}, {0.9}
    left = metrics.ece(p, labels, closed="left", **own)
    assert left == pytest.approx((0.2 + 0.1 + 0.1) / 4)
    table = metrics.reliability(p, labels, scheme=[0.4, 0.6])
    assert table.edges.tolist() == [0.0, 0.4, 0.6, 1.0]
    assert table.weight.tolist() == [2.0, 1.0, 1.0]
    assert any("without these rows" in part for part in table.guarantee.assumptions)


def test_edges_of_equal_bins_give_every_metric_of_equal_width():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), size=300)
    labels = rng.integers(4, size=300)
    edges = np.arange(1, 10) / 10
    names = ["ece", "overconfident_ece", "debiased_ece", "max_ece", "average_ece"]
    for name in [*names, "classwise_ece"]:
        measure = getattr(metrics, name)
        want = measure(probs, labels, n_bins=10)
        assert measure(probs, labels, scheme=edges) == want, name
    parts = metrics.brier_decomposition(probs, labels, scheme=edges)
    assert parts == metrics.brier_decomposition(probs, labels, n_bins=10)
    own, given = (
        dfu.assess(probs, labels, n_boot=20, rng=0, **how)
        for how in ({"n_bins": 10}, {"scheme": edges})
    )
    np.testing.assert_array_equal(own.to_frame()["low"], given.to_frame()["low"])
    np.testing.assert_array_equal(own.estimates, given.estimates)


@pytest.mark.parametrize("edges", [[0.5, 0.4], [0.5, 0.5], [-0.1], [np.nan], ["a"]])
def test_edges_that_are_none_are_refused(edges):
    with pytest.raises(dfu.InputError, match="'scheme' parameter of ece"):
        metrics.ece([0.5], [1], scheme=edges)
