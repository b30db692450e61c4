"""Label-shift estimators and what their results can do, on small or simple inputs."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq._numerics.mixture_likelihood import maximise_likelihood
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.anderson_rubin import (
    AndersonRubin,
    anderson_rubin_intervals,
)
from distfreeuq.label_shift.inference.delta_method import hard_covariance
from distfreeuq.label_shift.inference.finite_sample_regions import exact_region
from distfreeuq.label_shift.inference.resampled_weights import percentile_intervals
from distfreeuq.label_shift.inference.shift_test import compare_means

matplotlib.use("Agg")

ESTIMATORS = {
    "bbse": dfu.bbse,
    "soft bbse": lambda *d, **o: dfu.bbse(*d, soft=True, **o),
    "rlls": dfu.rlls,
    "soft rlls": lambda *d, **o: dfu.rlls(*d, soft=True, **o),
    "mlls": dfu.mlls,
    "mlls uncalibrated": lambda *d, **o: dfu.mlls(*d, calibrate=None, **o),
}


def draw(rng, n, prior, spread=1.0):
    """Draw three overlapping classes; return posteriors under prior (.4, .4, .2)."""
    labels = rng.choice(3, p=prior, size=n)
    x = rng.normal(1.5 * np.eye(3)[labels], spread)
    logits = 1.5 * x / spread**2 + np.log([0.4, 0.4, 0.2])
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    return probs / probs.sum(axis=1, keepdims=True), labels


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    probs, labels = draw(rng, 900, [0.4, 0.4, 0.2])
    target, _ = draw(rng, 700, [0.1, 0.2, 0.7])
    return probs, labels, target


@pytest.fixture(scope="module", params=ESTIMATORS)
def fit(request, data):
    return ESTIMATORS[request.param](*data)


# ------------------------------------------------------------------ every estimator


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
    assert fit.test().p_value < 1e-6
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
    for fact in ("Condition number", "Effective sample size", "No-shift test"):
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


# -------------------------------------------------------------------- BBSE by hand


def test_standard_errors_are_the_numerical_delta_method():
    joint = np.array([[60.0, 20, 4], [20, 160, 20], [5, 20, 91]])
    target, m = np.array([70.0, 90.0, 140.0]), 300
    n = int(joint.sum())
    w = np.linalg.solve(joint / n, target / m)
    cells, step = joint.ravel() / n, 1e-6

    def weights(cell_probs, mu):
        return np.linalg.solve(cell_probs.reshape(3, 3), mu)

    by_cell = np.array(
        [(weights(cells + step * e, target / m) - w) / step for e in np.eye(9)]
    ).T
    by_mu = np.linalg.inv(joint / n)
    source = (np.diag(cells) - np.outer(cells, cells)) / n
    mu = target / m
    noise = (np.diag(mu) - np.outer(mu, mu)) / m
    want = by_cell @ source @ by_cell.T + by_mu @ noise @ by_mu.T
    got = hard_covariance(Confusion(joint, target, n, m, False), w)
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_kappa_and_effective_sample_size_by_hand():
    # C = diag(.5, .25, .25), mu = (.25, .75, 0): w = (.5, 3, 0)
    probs, labels = np.eye(3)[[0, 0, 1, 2]], [0, 0, 1, 2]
    fit = dfu.bbse(probs, labels, np.eye(3)[[0, 1, 1, 1]])
    np.testing.assert_allclose(fit.label_weight, [0.5, 3.0, 0.0])
    assert fit.kappa == 6.0
    assert fit.ess == pytest.approx(4.0**2 / (2 * 0.25 + 9.0))
    assert fit.condition_number == pytest.approx(2.0)


def test_ties_go_to_the_first_class():
    fit = dfu.bbse([[0.5, 0.5], [0.2, 0.8]], [0, 1], [[0.5, 0.5]])
    np.testing.assert_array_equal(fit.confusion.joint, np.eye(2))
    np.testing.assert_array_equal(fit.confusion.target, [1, 0])


def test_negative_solutions_are_noted():
    rng = np.random.default_rng(0)
    guesses = np.where(
        rng.random(400) < 0.8, np.arange(400) % 2, 1 - np.arange(400) % 2
    )
    fit = dfu.bbse(np.eye(2)[guesses], np.arange(400) % 2, np.eye(2)[np.ones(50, int)])
    assert fit.raw[0] < 0 == fit.label_weight[0]
    assert "class 0" in fit.notes[-1]
    assert "Note" in str(fit)
    np.testing.assert_array_equal(fit.confint(0.05)[0], [0.0, fit.confint(0.05)[0, 1]])


def test_a_never_predicted_class_is_named():
    probs = [[0.7, 0.2, 0.1]] * 5 + [[0.2, 0.7, 0.1]] * 5
    labels = list("aabacbbbcb")
    target = [[0.2, 0.7, 0.1]] * 4
    with pytest.warns(dfu.IdentificationWarning, match="class 'c' never predicted"):
        fit = dfu.bbse(probs, labels, target, classes=["a", "b", "c"])
    assert fit.singular
    assert fit.raw is None
    assert fit.condition_number == np.inf
    for attribute in ("label_weight", "target_prior", "kappa", "ess"):
        with pytest.raises(dfu.InputError, match="singular"):
            getattr(fit, attribute)
    with pytest.raises(dfu.InputError, match="singular"):
        fit.adapt(probs)
    np.testing.assert_array_equal(fit.confint(), [[0, np.inf]] * 3)
    assert not fit.region(0.05).is_empty
    frame = fit.to_frame()
    assert frame["weight"].isna().all()
    assert np.isfinite(frame["low"]).all()
    assert "not identified" in str(fit)
    assert fit.plot() is not None
    assert dfu.rlls(probs, labels, target, classes=["a", "b", "c"]).singular


def test_a_class_without_source_rows_but_predicted_is_noted():
    probs, labels = np.eye(3)[[0, 1, 0, 1]], [0, 1, 0, 1]
    target = np.eye(3)[[0, 2, 2]]
    with pytest.warns(dfu.IdentificationWarning, match="class 2 without source rows"):
        fit = dfu.bbse(probs, labels, target)
    assert any("no source row" in note for note in fit.notes)


def test_dependent_columns_are_called_by_their_cause():
    probs, labels = np.eye(2)[[0, 1, 0, 1]], [0, 0, 1, 1]
    with pytest.warns(dfu.IdentificationWarning, match="tell some classes apart"):
        dfu.bbse(probs, labels, np.eye(2)[[0, 1, 1]])


def test_a_weak_confusion_matrix_is_noted(data):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([5, 5, 5], size=900)
    fit = dfu.bbse(probs, data[1], probs[:500])
    assert "nearly singular" in str(fit)
    assert "nearly singular" not in str(dfu.bbse(*data))


# ---------------------------------------------------------------------- RLLS


def test_rlls_is_bbse_then_no_shift_as_regularisation_grows(data):
    plain = dfu.bbse(*data)
    np.testing.assert_allclose(
        dfu.rlls(*data, regularization=0.0).label_weight, plain.label_weight
    )
    np.testing.assert_array_equal(dfu.rlls(*data, regularization=9.0).label_weight, 1.0)
    sizes = [
        np.linalg.norm(dfu.rlls(*data, regularization=r).raw - 1.0)
        for r in np.linspace(0.0, 0.5, 30)
    ]
    assert (np.diff(sizes) <= 1e-9).all()


def test_rlls_solves_a_singular_problem():
    probs, labels = np.eye(3)[[0, 1, 0, 1]], [0, 1, 0, 1]
    fit = dfu.rlls(probs, labels, np.eye(3)[[0, 0, 0, 1]])
    assert fit.singular
    np.testing.assert_allclose(fit.label_weight, [1.5, 0.5, 1.0], rtol=1e-9)
    np.testing.assert_array_equal(fit.std_err, np.inf)
    assert "rest on the regulariser" in str(fit)


@pytest.mark.parametrize("value", [-0.1, np.inf, np.nan, "x", True])
def test_bad_regularisers_are_refused(data, value):
    with pytest.raises(dfu.InputError, match="regularization"):
        dfu.rlls(*data, regularization=value)


# ---------------------------------------------------------------------- MLLS


def test_calibration_is_applied_to_both_samples():
    rng = np.random.default_rng(5)
    truth = np.array([0.25, 0.5, 3.5])
    probs, labels = draw(rng, 20_000, [0.4, 0.4, 0.2])
    target, _ = draw(rng, 20_000, [0.1, 0.2, 0.7])

    def distort(f):
        sharp = f**2.5 * [1.0, 2.0, 0.5]
        return sharp / sharp.sum(axis=1, keepdims=True)

    fit = dfu.mlls(distort(probs), labels, distort(target))
    assert fit.calibration.slope == pytest.approx(1 / 2.5, rel=0.05)
    assert (np.abs(fit.label_weight - truth) < 4 * fit.std_err).all()
    assert (fit.std_err < 0.1).all()
    # what a peer does: the prior of calibrated rows, the likelihood of raw ones
    wrong = maximise_likelihood(distort(target), fit.source_prior).prior
    assert (np.abs(wrong / fit.source_prior - truth) > 8 * fit.std_err).any()


def test_bcts_makes_mean_predictions_the_label_frequencies(data):
    by_predictions = dfu.mlls(*data)
    by_labels = dfu.mlls(*data, prior="labels")
    frequencies = np.bincount(data[1]) / 900
    np.testing.assert_allclose(by_predictions.source_prior, frequencies, atol=1e-7)
    np.testing.assert_allclose(by_labels.source_prior, frequencies)
    np.testing.assert_allclose(by_predictions.raw, by_labels.raw, rtol=1e-5)
    np.testing.assert_allclose(by_predictions.std_err, by_labels.std_err, rtol=1e-5)


def test_mean_predictions_give_the_smaller_standard_errors(data):
    by_predictions = dfu.mlls(*data, calibrate=None)
    by_labels = dfu.mlls(*data, calibrate=None, prior="labels")
    assert (by_predictions.std_err < by_labels.std_err).all()


def test_an_uninformative_classifier_is_told_so():
    probs = np.tile([0.5, 0.3, 0.2], (40, 1))
    labels = np.repeat([0, 1, 2], [20, 12, 8])
    with pytest.warns(dfu.IdentificationWarning, match="flat"):
        fit = dfu.mlls(probs, labels, probs[:10], calibrate=None)
    np.testing.assert_allclose(fit.label_weight, 1.0, rtol=1e-12)
    np.testing.assert_array_equal(fit.std_err, np.inf)
    np.testing.assert_array_equal(fit.confint(), [[0, np.inf]] * 3)
    assert fit.singular
    assert fit.test().df == 0
    assert fit.test().p_value == 1.0


def test_two_classes_that_look_alike_are_named_and_the_third_is_not():
    rng = np.random.default_rng(0)
    f = rng.dirichlet([2, 3], size=400)
    probs = np.column_stack([f[:, 0], 0.5 * f[:, 1], 0.5 * f[:, 1]])
    labels = np.array([rng.choice(3, p=row) for row in probs])
    with pytest.warns(dfu.IdentificationWarning, match="classes 1, 2"):
        fit = dfu.mlls(probs, labels, probs[:200], calibrate=None)
    assert np.isfinite(fit.std_err[0])
    assert np.isinf(fit.std_err[1:]).all()
    assert fit.label_weight[1] == pytest.approx(fit.label_weight[2], rel=1e-4)


@pytest.mark.parametrize("options", [{}, {"calibrate": None, "prior": "labels"}])
def test_a_class_absent_from_the_source_gets_no_weight(data, options):
    probs, labels, target = data
    kept = labels != 2
    with pytest.warns(dfu.IdentificationWarning, match="class 2"):
        fit = dfu.mlls(probs[kept], labels[kept], target, **options)
    assert fit.label_weight[2] == 0.0
    assert fit.target_prior.sum() == pytest.approx(1.0)
    assert np.isinf(fit.std_err[2])
    assert np.isfinite(fit.std_err[:2]).all()
    assert fit.adapt(target)[:, 2].max() == 0.0


def test_rows_that_no_source_class_explains_are_left_out():
    probs = np.eye(3)[[0, 1, 0, 1]] * 0.8 + [0.1, 0.1, 0.0]
    target = np.vstack([probs[:3], [[0.0, 0.0, 1.0]]])
    with pytest.warns(dfu.IdentificationWarning, match="class 2"):
        fit = dfu.mlls(probs, [0, 1, 0, 1], target, calibrate=None)
    assert any("1 of 4 target rows" in note for note in fit.notes)
    assert fit.target_prior[2] == 0.0


def test_exact_zeros_in_the_probabilities_are_no_obstacle():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 600)
    guesses = np.where(rng.random(600) < 0.8, labels, rng.integers(0, 3, 600))
    fit = dfu.mlls(np.eye(3)[guesses], labels, np.eye(3)[guesses[:200]])
    assert np.isfinite(fit.label_weight).all()
    assert np.isfinite(fit.std_err).all()
    # with hard predictions, MLLS solves BBSE's equations
    plain = dfu.bbse(np.eye(3)[guesses], labels, np.eye(3)[guesses[:200]])
    assert fit.label_weight == pytest.approx(plain.label_weight, abs=0.15)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [({"calibrate": "platt"}, "calibrate"), ({"prior": "uniform"}, "prior")],
)
def test_bad_choices_are_refused(data, options, parameter):
    with pytest.raises(dfu.InputError, match=parameter):
        dfu.mlls(*data, **options)


# ----------------------------------------------------------------- known priors


def test_known_priors_with_absent_classes():
    known = dfu.label_weights([0.5, 0.5, 0.0, 0.0], [0.2, 0.0, 0.8, 0.0])
    np.testing.assert_array_equal(known.label_weight, [0.4, 0.0, np.inf, 0.0])
    np.testing.assert_array_equal(known.target_prior, [0.2, 0.0, 0.8, 0.0])
    assert known.known
    assert known.kappa == np.inf
    assert known.ess is None
    np.testing.assert_array_equal(known.std_err, 0.0)
    np.testing.assert_array_equal(known.confint()[:, 0], known.label_weight)
    assert known.region(0.1).contains([0.4, 0.0, np.inf, 0.0])
    assert not known.guarantee
    with pytest.raises(dfu.InputError, match="nothing to test"):
        known.test()
    assert "known priors" in str(known)
    assert known.plot() is not None
    adapted = known.adapt(
        [[0.5, 0.5, 0.0, 0.0], [0.3, 0.3, 0.4, 0.0], [0.0, 1.0, 0.0, 0.0]]
    )
    np.testing.assert_allclose(adapted, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ([0.5, 0.6], [0.5, 0.5], "source_prior.*sum of 1.1"),
        ([0.5, 0.5], [1.5, -0.5], "target_prior.*-0.5 at position 1"),
        ([0.5, 0.5], [1.0], "target_prior.*length 2"),
        ([1.0], [1.0], "two classes"),
        ([0.5, np.nan], [0.5, 0.5], "nan"),
    ],
)
def test_bad_priors_are_refused(source, target, words):
    with pytest.raises(dfu.InputError, match=words):
        dfu.label_weights(source, target)


# -------------------------------------------------------- intervals, tests, input


def test_resamples_do_not_depend_on_the_number_of_processes(data):
    fit = dfu.mlls(*data)
    one = fit.confint(0.1, "bootstrap", n_boot=8, rng=3)
    two = fit.confint(0.1, "bootstrap", n_boot=8, rng=3, n_jobs=2)
    np.testing.assert_array_equal(one, two)
    other = fit.confint(0.1, "bootstrap", n_boot=8, rng=4)
    assert (one != other).any()


def test_unsolvable_resamples_widen_the_interval():
    replicates = np.vstack([np.full((19, 2), 1.0), np.full((1, 2), np.nan)])
    np.testing.assert_array_equal(
        percentile_intervals(replicates, 0.05), [[0.0, np.inf]] * 2
    )
    np.testing.assert_array_equal(
        percentile_intervals(replicates[:-1], 0.05), [[1.0, 1.0]] * 2
    )


def test_methods_that_an_estimator_lacks_are_refused(data):
    with pytest.raises(dfu.InputError, match="MLLS"):
        dfu.mlls(*data).confint(0.1, "finite-sample")
    for fit in (dfu.mlls(*data), dfu.bbse(*data, soft=True)):
        with pytest.raises(dfu.InputError, match="soft"):
            fit.confint(0.1, "anderson-rubin")
    with pytest.raises(dfu.InputError, match="method"):
        dfu.bbse(*data).confint(0.1, "wald")
    with pytest.raises(dfu.InputError, match="alpha"):
        dfu.bbse(*data).confint(1.5)
    with pytest.raises(dfu.InputError, match="delta"):
        dfu.bbse(*data).region(0.0)


@pytest.mark.parametrize(
    ("joint", "target"),
    [([[80, 20], [25, 75]], [30, 70]), ([[60, 45], [45, 50]], [52, 48])],
    ids=["good", "weak"],
)
def test_anderson_rubin_intervals_are_the_region_projected(joint, target):
    confusion = Confusion(np.array(joint), np.array(target), 200, 100, False)
    test, limit = AndersonRubin(confusion), special.chdtri(2, 0.1)
    grid = np.linspace(0.0, 4.0, 161)
    inside = np.array(
        [[test.statistic(np.array([a, b])) <= limit for b in grid] for a in grid]
    )
    first, second = grid[inside.any(axis=1)], grid[inside.any(axis=0)]
    want = [[first.min(), first.max()], [second.min(), second.max()]]
    got = anderson_rubin_intervals(confusion, 0.1)
    np.testing.assert_allclose(got, want, atol=0.025)
    # the wider for what is on the grid
    assert (got[:, 0] <= np.array(want)[:, 0] + 1e-6).all()
    assert (got[:, 1] >= np.array(want)[:, 1] - 1e-6).all()


def test_an_empty_anderson_rubin_region_is_told():
    # the source's predictions hardly depend on the class, the target's are one-sided
    joint = np.array([[500, 500], [500, 510]])
    confusion = Confusion(joint, np.array([1000, 10]), 2010, 1010, False)
    with pytest.warns(dfu.DistFreeWarning, match="label shift is contradicted"):
        ends = anderson_rubin_intervals(confusion, 0.05)
    np.testing.assert_array_equal(ends[:, 0], ends[:, 1])
    assert exact_region(confusion, 0.05).is_empty


def test_regions_say_what_kind_they_are(data):
    hard, soft = dfu.bbse(*data).region(0.1), dfu.bbse(*data, soft=True).region(0.1)
    likelihood = dfu.mlls(*data).region(0.1)
    assert isinstance(hard, dfu.Polytope)
    assert isinstance(soft, dfu.Box)
    assert isinstance(likelihood, dfu.Box)
    assert (hard.finite_sample, soft.finite_sample, likelihood.finite_sample) == (
        True,
        True,
        False,
    )
    assert hard.contains(dfu.bbse(*data).raw)


def test_equal_samples_show_no_shift(data):
    probs, labels, _ = data
    for fit in (
        dfu.bbse(probs, labels, probs),
        dfu.bbse(probs, labels, probs, soft=True),
    ):
        assert fit.test().statistic == pytest.approx(0.0, abs=1e-9)
        assert fit.test().p_value == pytest.approx(1.0)
        np.testing.assert_allclose(fit.label_weight, 1.0, rtol=1e-9)


def test_the_mean_test_is_the_squared_t_statistic_for_two_classes():
    a, b = np.array([0.2, 0.4, 0.9, 0.5]), np.array([0.7, 0.8, 0.6])
    both = [np.column_stack([x, 1 - x]) for x in (a, b)]
    test = compare_means(
        *(x.mean(axis=0) for x in both), *(x.T @ x for x in both), 4, 3
    )
    pooled = np.concatenate([a, b]).var()
    want = (a.mean() - b.mean()) ** 2 / (pooled * (1 / 4 + 1 / 3))
    assert test.statistic == pytest.approx(want)
    assert test.df == 1


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
