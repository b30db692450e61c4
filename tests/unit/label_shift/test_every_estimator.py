"""What every label-shift estimator and its result can do."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu

matplotlib.use("Agg")

ESTIMATORS = {
    "bbse": dfu.bbse,
    "soft bbse": lambda *d, **o: dfu.bbse(*d, soft=True, **o),
    "rlls": dfu.rlls,
    "soft rlls": lambda *d, **o: dfu.rlls(*d, soft=True, **o),
    "mlls": dfu.mlls,
    "mlls uncalibrated": lambda *d, **o: dfu.mlls(*d, calibrate=None, **o),
}


@pytest.fixture(scope="module", params=ESTIMATORS)
def fit(request, data):
    return ESTIMATORS[request.param](*data)


def test_weights_imply_priors_that_sum_to_one(fit):
    assert fit.source_prior.sum() == pytest.approx(1.0, abs=1e-9)
    assert fit.target_prior.sum() == pytest.approx(1.0, abs=1e-12)
    assert (fit.label_weight >= 0).all()
    np.testing.assert_allclose(
        fit.target_prior, fit.source_prior * fit.label_weight, rtol=1e-12
    )


def test_every_estimator_finds_the_shift(fit):
    gap = np.abs(fit.target_prior - [0.1, 0.2, 0.7])
    assert (gap < 5 * fit.source_prior * fit.std_err).all()
    assert fit.test().p_value == fit.test().floor == 0.005
    assert fit.test(n_draws=2999, rng=0).p_value == pytest.approx(1 / 3000)
    assert fit.test().df == 2


def test_permuted_rows_change_nothing(fit, data):
    rng = np.random.default_rng(1)
    rows, target_rows = rng.permutation(900), rng.permutation(700)
    probs, labels, target = data
    again = ESTIMATORS[_name(fit)](probs[rows], labels[rows], target[target_rows])
    np.testing.assert_allclose(again.label_weight, fit.label_weight, rtol=1e-7)
    np.testing.assert_allclose(again.std_err, fit.std_err, rtol=1e-6)


def test_permuted_classes_permute_the_weights(fit, data):
    order = np.array([2, 0, 1])
    probs, labels, target = data
    codes = np.argsort(order)[labels]
    again = ESTIMATORS[_name(fit)](probs[:, order], codes, target[:, order])
    np.testing.assert_allclose(again.label_weight, fit.label_weight[order], rtol=1e-7)
    np.testing.assert_allclose(again.std_err, fit.std_err[order], rtol=1e-6)
    assert again.condition_number == pytest.approx(fit.condition_number)


@pytest.mark.parametrize(
    "names", [["b", "a", "c"], [1, -1, 0], [("x", 1), None, 2.5]], ids=str
)
def test_class_names_of_any_kind(fit, data, names):
    probs, labels, target = data
    named = np.empty(len(labels), dtype=object)
    named[:] = [names[k] for k in labels]
    again = ESTIMATORS[_name(fit)](probs, named, target, classes=names)
    np.testing.assert_array_equal(again.label_weight, fit.label_weight)
    assert list(again.classes) == names
    assert list(again.to_frame()["class"]) == names


def test_frames_name_the_classes_and_must_agree(data):
    probs, labels, target = data
    columns = ["a", "b", "c"]
    named = pd.Series([columns[k] for k in labels])
    fit = dfu.bbse(
        pd.DataFrame(probs, columns=columns),
        named,
        pd.DataFrame(target, columns=columns),
    )
    assert list(fit.classes) == columns
    swapped = pd.DataFrame(target[:, [1, 0, 2]], columns=["b", "a", "c"])
    with pytest.raises(dfu.InputError, match="probs_target"):
        dfu.bbse(pd.DataFrame(probs, columns=columns), named, swapped)


def test_single_precision_stays_close(fit, data):
    probs, labels, target = data
    again = ESTIMATORS[_name(fit)](
        probs.astype(np.float32), labels, target.astype(np.float32)
    )
    np.testing.assert_allclose(again.label_weight, fit.label_weight, rtol=1e-4)
    assert again.adapt(probs.astype(np.float32)).dtype == np.float32


def test_results_survive_saving(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    again = dfu.load(tmp_path / "fit.npz")
    assert str(again) == str(fit)
    np.testing.assert_array_equal(again.label_weight, fit.label_weight)
    np.testing.assert_array_equal(again.covariance, fit.covariance)
    np.testing.assert_array_equal(
        again.confint(0.1, "bootstrap", n_boot=20, rng=0),
        fit.confint(0.1, "bootstrap", n_boot=20, rng=0),
    )
    assert again.region(0.1).support([1, 1, 1]) == fit.region(0.1).support([1, 1, 1])


def test_arrays_are_read_only(fit):
    for array in (fit.label_weight, fit.raw, fit.source_prior, fit.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_the_summary_says_what_a_reader_needs(fit):
    text = str(fit)
    for words in ("source prior", "target prior", "std. err.", "95% interval"):
        assert words in text
    for fact in ("Condition number", "Effective sample size", "No-shift test:"):
        assert fact in text
    assert "Guarantee" in text
    assert fit.summary().as_html()
    assert fit.summary().as_latex()
    assert repr(fit) == f"<LabelShiftResult {fit.method} n=900 m=700 K=3>"


def test_the_plot_draws_points_and_intervals(fit):
    ax = fit.plot()
    points = ax.lines[-1].get_xdata()
    np.testing.assert_allclose(points, fit.label_weight)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0", "1", "2"]


def test_adapted_probabilities_are_bayes_rule(fit, data):
    probs = data[2][:50]
    source = fit.calibration.apply(probs) if fit.calibration else probs
    want = source * fit.label_weight
    want /= want.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.adapt(probs), want, rtol=1e-12)


def test_intervals_are_ordered_and_never_negative(fit):
    methods = ["asymptotic", "bootstrap"]
    methods += ["finite-sample"] if fit.method != "MLLS" else []
    methods += ["anderson-rubin"] if fit.method in ("BBSE", "RLLS") else []
    for method in methods:
        wide = fit.confint(0.01, method, n_boot=99, rng=0)
        narrow = fit.confint(0.3, method, n_boot=99, rng=0)
        assert wide.shape == (3, 2)
        assert (wide[:, 0] >= 0).all()
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 0] <= narrow[:, 1]).all()
        assert (narrow[:, 1] <= wide[:, 1]).all()


def test_resampling_agrees_with_the_delta_method(fit):
    got = fit.confint(0.1, "bootstrap", n_boot=400, rng=0)
    want = fit.confint(0.1)
    spread = np.diff(want, axis=1)
    assert (np.abs(got - want) < 0.3 * spread).all()


def _name(fit):
    suffix = " uncalibrated" if fit.method == "MLLS" and not fit.calibration else ""
    return fit.method.lower() + suffix


# ------------------------------------------------------------------- invalid samples


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda p, y, t: (p, y, t[:, :2] / t[:, :2].sum(1, keepdims=True)),
            "probs_target",
        ),
        (lambda p, y, t: (p, y, t * 0.9), "probs_target.*sum to one"),
        (lambda p, y, t: (p, y, t[:0]), "probs_target.*at least one row"),
        (lambda p, y, t: (p[:0], y[:0], t), "probs.*at least one row"),
        (lambda p, y, t: (p, y + 1, t), "labels"),
        (lambda p, y, t: (p, y[:-1], t), "labels"),
    ],
)
def test_bad_samples_are_refused(estimate, data, change, words):
    with pytest.raises(dfu.InputError, match=words):
        estimate(*change(*data))
