"""Comparisons of calibrations: what each line is fitted to, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq import metrics

WEIGHT = np.array([0.25, 4.0])


def draw(n, share, rng):
    """Log-odds and labels; class 1 is the harder one."""
    labels = (rng.random(n) < share).astype(int)
    scale = np.where(labels == 1, 1.0, 4.0)
    return rng.normal((2 * labels - 1) * scale, 2.0), labels


@pytest.fixture(scope="module")
def data():
    """Source and target with class proportions 4:1 and 1:4, weights 1/4 and 4."""
    rng = np.random.default_rng(1)
    return *draw(4000, 0.2, rng), *draw(4000, 0.8, rng)


def ece(result, calibrator, method):
    line = list(zip(result.calibrators, result.methods, strict=True)).index(
        (calibrator, method)
    )
    return result.values[:, line, result.metrics.index("ece")]


class Recorder:
    """A calibrator that notes what it was given, and predicts as it was told."""

    def __init__(self):
        self.calls = []

    def __call__(self, logits, labels, *, sample_weight=None):
        self.calls.append((logits, labels, sample_weight))
        return SimpleNamespace(predict=lambda new: special.softmax(new, axis=1))


def test_what_each_line_is_fitted_to(data):
    """Distinct logits tell which rows a fit has seen."""
    logits, _, logits_target, labels_target = data
    recorder = Recorder()
    result = dfu.compare_calibrations(
        *data,
        label_weight=WEIGHT,
        calibrators={"mine": recorder},
        calibration_share=(0.5, 0.3),
        n_rep=2,
        rng=0,
    )
    assert result.calibrators == ("none", "mine", "mine", "mine")
    assert result.methods == ("Uncalibrated", "Unweighted", "Weighted", "Using target")
    assert len(recorder.calls) == 6
    for unweighted, weighted, target in (recorder.calls[:3], recorder.calls[3:]):
        assert unweighted[0].shape == (2000, 2)
        assert np.isin(unweighted[0][:, 1], logits).all()
        np.testing.assert_array_equal(weighted[0], unweighted[0])
        np.testing.assert_array_equal(weighted[2], WEIGHT[weighted[1]])
        assert unweighted[2] is None
        assert target[0].shape == (1200, 2)
        assert np.isin(target[0][:, 1], logits_target).all()
        assert target[2] is None
    assert result.n_test == 2800
    # this calibrator changes nothing, so all lines are the classifier's own
    np.testing.assert_array_equal(result.values, result.values[:, :1].repeat(4, axis=1))
    # and tests on those target rows that it did not calibrate on
    tested = ~np.isin(logits_target, recorder.calls[2][0][:, 1])
    probs = special.expit(logits_target[tested])
    assert tested.sum() == 2800
    expected = metrics.ece(probs, labels_target[tested])
    assert ece(result, "none", "Uncalibrated")[0] == pytest.approx(expected, rel=1e-12)


def test_weighted_is_near_using_target(data):
    result = dfu.compare_calibrations(
        *data,
        label_weight=WEIGHT,
        calibrators=["temperature", "platt", "vector", "isotonic"],
        calibration_share=0.5,
        rng=0,
    )
    for name in ("temperature", "platt", "vector", "isotonic"):
        unweighted, weighted, target = (
            ece(result, name, method).mean()
            for method in ("Unweighted", "Weighted", "Using target")
        )
        assert weighted < 0.6 * unweighted
        assert abs(weighted - target) < 0.02


def test_all_rows_of_the_source_are_one_fit(data):
    """With every source row, fits are the plain calls; only the test rows change."""
    logits, labels, logits_target, labels_target = data
    result = dfu.compare_calibrations(
        *data, sample_weight=WEIGHT[labels], calibration_share=(1.0, 0.3), rng=3
    )
    fit = dfu.temperature_scaling(logits, labels, sample_weight=WEIGHT[labels])
    whole = metrics.ece(fit.predict(logits_target), labels_target)
    values = ece(result, "temperature", "Weighted")
    assert result.n_calibration == 4000
    assert values.std() > 0.0
    assert values.mean() == pytest.approx(whole, abs=0.01)


def test_isotonic_calibration_is_given_probabilities(data):
    result = dfu.compare_calibrations(*data, calibrators="isotonic", n_rep=2, rng=0)
    again = dfu.compare_calibrations(
        *data, calibrators=dfu.isotonic_calibration, n_rep=2, rng=0
    )
    assert result.calibrators[1] == again.calibrators[1] == "isotonic"
    np.testing.assert_array_equal(result.values, again.values)


def test_weights_by_row_by_label_and_of_results_are_the_same(data):
    by_row = WEIGHT[data[1]]
    shift = dfu.label_weights([0.8, 0.2], [0.2, 0.8])
    results = [
        dfu.compare_calibrations(*data, n_rep=2, rng=0, **weights)
        for weights in (
            {"sample_weight": by_row},
            {"label_weight": WEIGHT},
            {"label_weight": shift},
            {"sample_weight": SimpleNamespace(source_weight=by_row)},
        )
    ]
    for other in results[1:]:
        np.testing.assert_allclose(other.values, results[0].values, rtol=1e-10)
    assert results[0].ess[0] == pytest.approx(by_row.sum() ** 2 / (by_row @ by_row))


def test_several_weights_and_none(data):
    by_row = WEIGHT[data[1]]
    result = dfu.compare_calibrations(
        *data, sample_weight={"true": by_row, "flat": by_row**0.0}, n_rep=3, rng=0
    )
    assert result.methods[2:4] == ("Weighted, true", "Weighted, flat")
    np.testing.assert_allclose(
        ece(result, "temperature", "Weighted, flat"),
        ece(result, "temperature", "Unweighted"),
        rtol=1e-9,
    )
    assert "Effective sample size, flat:" in str(result)
    plain = dfu.compare_calibrations(*data, n_rep=3, rng=0)
    assert plain.methods == ("Uncalibrated", "Unweighted", "Using target")
    assert plain.ess.size == 0


@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_metrics_are_those_that_every_split_has():
    """The debiased error needs equal weights, which some random splits have."""
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(12, 3)), np.array([0, 1, 2] * 4)
    weight = np.append(np.ones(11), 2.0)

    def debiased(n_rep, seed):
        result = dfu.compare_calibrations(
            logits, labels, sample_weight=weight, n_rep=n_rep, rng=seed
        )
        assert result.values.shape == (n_rep, 3, len(result.metrics))
        assert "ece" in result.metrics
        return "debiased_ece" in result.metrics

    assert {debiased(1, seed) for seed in range(12)} == {True, False}
    assert not debiased(12, 0)


def test_without_target_labels_the_target_is_estimated_by_weights(data):
    """On average over many rows, weighted source metrics are the target's."""
    logits, labels = data[:2]
    estimated = dfu.compare_calibrations(logits, labels, label_weight=WEIGHT, rng=0)
    assert estimated.methods == ("Uncalibrated", "Unweighted", "Weighted")
    assert estimated.n_target == estimated.n_calibration_target == 0
    assert estimated.n_test == 2800
    seen = dfu.compare_calibrations(*data, label_weight=WEIGHT, rng=0)
    for name in ("accuracy", "ece", "brier_score"):
        columns = [result.metrics.index(name) for result in (estimated, seen)]
        np.testing.assert_allclose(
            estimated.mean[:, columns[0]], seen.mean[:3, columns[1]], atol=0.05
        )
    assert "estimated on the held-out source rows" in " ".join(str(estimated).split())
    unweighted = dfu.compare_calibrations(
        logits, labels, sample_weight=np.ones(4000), rng=0
    )
    j = estimated.metrics.index("accuracy")
    assert (
        unweighted.mean[0, unweighted.metrics.index("accuracy")]
        > 0.1 + (estimated.mean[0, j])
    )


def test_seeded_and_the_same_on_any_number_of_processes(data):
    options = {"label_weight": WEIGHT, "n_rep": 4}
    first = dfu.compare_calibrations(*data, rng=7, **options)
    again = dfu.compare_calibrations(*data, rng=7, n_jobs=2, **options)
    np.testing.assert_array_equal(again.values, first.values)
    other = dfu.compare_calibrations(*data, rng=8, **options)
    assert (other.values != first.values).any()


def test_class_names_and_matrices(data):
    logits, labels, logits_target, labels_target = data
    two = np.column_stack([np.zeros(4000), logits])
    two_target = np.column_stack([np.zeros(4000), logits_target])
    names = np.array(["no", "yes"])
    named = dfu.compare_calibrations(
        two,
        names[labels],
        two_target,
        names[labels_target],
        classes=["no", "yes"],
        n_rep=2,
        rng=0,
    )
    plain = dfu.compare_calibrations(*data, n_rep=2, rng=0)
    np.testing.assert_array_equal(named.values, plain.values)


def test_frames(data):
    result = dfu.compare_calibrations(*data, label_weight=WEIGHT, n_rep=3, rng=0)
    frame = result.to_frame()
    assert list(frame) == ["metric", "calibrator", "method", "mean", "sd"]
    by_repetition = result.to_frame(by_repetition=True)
    grouped = by_repetition.groupby(["metric", "calibrator", "method"])["value"]
    merged = frame.set_index(["metric", "calibrator", "method"])
    np.testing.assert_allclose(grouped.mean().loc[merged.index], merged["mean"])
    np.testing.assert_allclose(grouped.std().loc[merged.index], merged["sd"])
    one = dfu.compare_calibrations(*data, n_rep=1, rng=0)
    assert np.isnan(one.sd).all()
    assert "Spread" not in str(one) and "(" not in str(one).split("\n")[9]


def test_saved_and_loaded(data, tmp_path):
    result = dfu.compare_calibrations(*data, label_weight=WEIGHT, n_rep=2, rng=0)
    result.save(tmp_path / "comparison.npz")
    again = dfu.load(tmp_path / "comparison.npz")
    np.testing.assert_array_equal(again.values, result.values)
    assert str(again) == str(result) and repr(again) == repr(result)
    with pytest.raises(ValueError):
        result.values[0, 0, 0] = 1.0
    assert isinstance(result.guarantee, dfu.NoGuarantee)


def test_infinite_likelihoods_are_printed_and_drawn(data):
    """Isotonic curves reach 0 and 1."""
    few = [part[:60] for part in data]
    result = dfu.compare_calibrations(*few, calibrators="isotonic", n_rep=5, rng=0)
    j = result.metrics.index("nll")
    assert np.isinf(result.mean[1, j])
    assert " inf" in str(result)
    assert len(result.plot(metric="nll").lines) < len(result.plot().lines)


def test_figure(data):
    result = dfu.compare_calibrations(
        *data, label_weight=WEIGHT, calibrators=["temperature", "platt"], rng=0
    )
    ax = result.plot(metric="overconfident_ece")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == result.line_names()
    drawn = [line.get_xdata()[0] for line in ax.lines[1:]]
    j = result.metrics.index("overconfident_ece")
    np.testing.assert_allclose(drawn, result.mean[:, j])
    with pytest.raises(dfu.InputError, match="metric"):
        result.plot(metric="ECE")


def test_warnings_are_told_once(data):
    """Rows that are all right have no finite temperature."""
    logits = data[0]
    labels = dfu.temperature_scaling(logits, data[1]).predict(logits).argmax(axis=1)
    with pytest.warns(dfu.FitAtBoundWarning, match="5 more of the fits warn") as caught:
        dfu.compare_calibrations(logits, labels, logits, labels, n_rep=3, rng=0)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("changes", "parameter", "must", "got"),
    [
        ({"logits": [[1.0, np.nan]]}, "logits", "finite logits", "nan at row 0"),
        ({"logits": np.empty((0, 2))}, "logits", "n >= 1", "shape (0, 2)"),
        ({"labels": [0] * 9}, "labels", "each of the 10 rows", "9 labels"),
        ({"labels_target": [2] * 8}, "labels_target", "", "2"),
        ({"labels_target": None}, "labels_target", "together with", "None"),
        ({"logits_target": None}, "logits_target", "together with", "None"),
        (
            {"logits_target": np.ones((8, 3))},
            "logits_target",
            "of shape (n, 2)",
            "shape (8, 3)",
        ),
        (
            {"logits_target": [0.1], "labels_target": [0]},
            "logits_target",
            "at least 2 rows",
            "shape (1, 2)",
        ),
        ({"sample_weight": [1.0]}, "sample_weight", "of length 10", "length 1"),
        ({"sample_weight": [-1.0] * 10}, "sample_weight", "non-negative", "-1.0"),
        ({"sample_weight": [0.0] * 10}, "sample_weight", "positive", "all zero"),
        (
            {"sample_weight": [1.0] + [0.0] * 9, "rng": 0},
            "sample_weight",
            "some rows of every random split",
            "all 3 rows",
        ),
        ({"sample_weight": {}}, "sample_weight", "a mapping", "{}"),
        (
            {
                "label_weight": dfu.label_weights(
                    [0.5, 0.5], [0.1, 0.9], classes=["a", "b"]
                )
            },
            "label_weight",
            "weights for the classes 0, 1",
            "weights for 'a', 'b'",
        ),
        ({"label_weight": [1, 2, 3]}, "label_weight", "of length 2", "length 3"),
        (
            {"label_weight": [1, 2], "sample_weight": [1.0] * 10},
            "label_weight",
            "None",
            "both",
        ),
        ({"calibrators": "magic"}, "calibrators", "'temperature'", "'magic'"),
        ({"calibrators": []}, "calibrators", "at least one", "none"),
        ({"calibrators": ["platt", "platt"]}, "calibrators", "different", "twice"),
        ({"calibrators": 3}, "calibrators", "'temperature'", "3"),
        (
            {"calibrators": lambda x, y, *, sample_weight: None},
            "calibrators",
            "'predict'",
            "which returns None",
        ),
        ({"calibration_share": 1.0}, "calibration_share", "in (0, 1)", "1.0"),
        ({"calibration_share": 0}, "calibration_share", "in (0, 1)", "0"),
        ({"calibration_share": (0.5, 1.0)}, "calibration_share", "two", "(0.5, 1.0)"),
        ({"calibration_share": (0.1, 0.1, 0.1)}, "calibration_share", "two", "(0.1,"),
        ({"n_rep": 0}, "n_rep", "at least 1", "0"),
        ({"n_bins": 0}, "n_bins", "at least 1", "0"),
        ({"scheme": "equal"}, "scheme", "one of", "'equal'"),
        ({"event": "class-2"}, "event", "'class-1'", "'class-2'"),
        ({"rng": "zero"}, "rng", "seed", "'zero'"),
        (
            {"logits_target": None, "labels_target": None},
            "sample_weight",
            "one set of weights",
            "None",
        ),
        (
            {
                "logits_target": None,
                "labels_target": None,
                "sample_weight": [1.0] * 10,
                "calibration_share": (1.0, 0.5),
            },
            "calibration_share",
            "",
            "(1.0, 0.5)",
        ),
    ],
)
def test_what_is_refused(changes, parameter, must, got):
    arguments = {
        "logits": np.linspace(-2, 2, 10),
        "labels": [0, 1] * 5,
        "logits_target": np.linspace(-2, 2, 8),
        "labels_target": [0, 1] * 4,
        **changes,
    }
    with pytest.raises(dfu.InputError) as error:
        dfu.compare_calibrations(**arguments)
    message = str(error.value)
    assert message.startswith(
        f"The '{parameter}' parameter of compare_calibrations must be "
    )
    assert must in message and got in message.rpartition("Got ")[2]
