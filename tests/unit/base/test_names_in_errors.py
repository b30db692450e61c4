"""Errors name the parameter of the function that was called, wherever they arise."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from tests.unit.argument_data import LABELS, PROBS, N


@pytest.fixture
def without_weights():
    """A BBSE result whose confusion matrix is singular."""
    same = np.tile(PROBS[0], (N, 1))
    with pytest.warns(dfu.IdentificationWarning):
        return dfu.bbse(same, LABELS, PROBS)


def test_results_without_weights_are_refused_as_label_weight(without_weights):
    bins = dfu.histogram_binning(PROBS, LABELS, n_bins=3)
    for call in (
        lambda: dfu.label_shift_conformal(PROBS, LABELS, without_weights),
        lambda: bins.under_label_shift(without_weights),
        lambda: dfu.compare_calibrations(
            np.log(PROBS), LABELS, label_weight=without_weights
        ),
    ):
        with pytest.raises(dfu.InputError, match=r"^The 'label_weight' parameter of "):
            call()


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, None, "2", np.zeros(2)])
def test_numbers_of_jobs(n_jobs):
    for call in (
        lambda: dfu.assess(PROBS, LABELS, n_jobs=n_jobs),
        lambda: dfu.compare(PROBS, PROBS, labels=LABELS, n_jobs=n_jobs),
        lambda: dfu.compare_calibrations(
            np.log(PROBS), LABELS, sample_weight=np.ones(N), n_jobs=n_jobs
        ),
        lambda: dfu.bbse(PROBS, LABELS, PROBS).confint(n_jobs=n_jobs),
        lambda: dfu.simulate("atoms", len, 1, n_jobs=n_jobs),
    ):
        with pytest.raises(dfu.InputError, match=r"^The 'n_jobs' parameter of "):
            call()


def test_compared_classifiers_are_called_so():
    for names in (3, "ab", [1, 2], {"a": 1, "b": 2}):
        with pytest.raises(dfu.InputError, match=r"^The 'names' parameter of compare"):
            dfu.compare(PROBS, PROBS, labels=LABELS, names=names)
    with pytest.raises(
        dfu.InputError, match=r"^The 'classifiers' parameter of compare"
    ):
        dfu.compare(PROBS, -PROBS, labels=LABELS)


def test_isotonic_predictions_name_their_own_parameter():
    fit = dfu.isotonic_calibration(PROBS, LABELS)
    with pytest.raises(dfu.InputError, match=r"^The 'logits' parameter of Isotonic"):
        fit.predict(logits=-PROBS)


@pytest.mark.parametrize("score", [dfu.APS(), dfu.RAPS(), dfu.SAPS(), dfu.LAC()])
def test_scores_describe_themselves_for_a_flag(score):
    assert score.describe(True) and score.describe(np.bool_(False))
    with pytest.raises(dfu.InputError, match=r"^The 'randomized' parameter of "):
        score.describe(np.ones(2))


def test_a_class_called_none_stays_so_in_tables():
    names = [None, 2.5, 4.0]
    labels = [names[k] for k in LABELS]
    with pytest.warns(dfu.FitAtBoundWarning):
        tied = dfu.classwise_temperature_scaling(np.log(PROBS), labels, classes=names)
    for fit in (
        dfu.label_weights([0.2, 0.3, 0.5], [0.5, 0.2, 0.3], classes=names),
        dfu.vector_scaling(np.log(PROBS), labels, classes=names),
        tied,
        dfu.isotonic_calibration(PROBS, labels, classes=names),
        dfu.histogram_binning(PROBS, labels, classes=names, mode="classwise", n_bins=3),
    ):
        column = fit.to_frame()["class"].tolist()
        assert list(dict.fromkeys(column)) == names


def test_one_curve_of_two_classes_is_that_of_the_second():
    fit = dfu.isotonic_calibration(PROBS[:, 0], LABELS > 0, classes=[False, True])
    assert set(fit.to_frame()["class"]) == {True}
    fit = dfu.isotonic_calibration(PROBS[:, 0], (LABELS > 0).astype(int))
    assert set(fit.to_frame()["class"]) == {1}


def test_groups_that_cannot_share_so_little():
    groups = np.arange(N) % 3
    below = float(np.nextafter(1.0, 0.0))
    with pytest.raises(dfu.InputError, match=r"^The 'confidence' parameter of split"):
        dfu.split_conformal(PROBS, LABELS, confidence=below, groups=groups)


def test_lists_of_classes_without_a_length():
    given = {"predicted": LABELS}
    confidence = PROBS.max(axis=1)
    for classes in (3, iter(range(3)), np.array(3)):
        with pytest.raises(dfu.InputError, match=r"^The 'classes' parameter of "):
            dfu.metrics.average_ece(confidence, LABELS, classes=classes, **given)


def test_predicted_labels_of_one_class():
    """By hand: 4 of 5 right with confidence 0.5 each, in one bin of one class."""
    result = dfu.assess([0.5] * 5, [0, 0, 0, 0, 1], predicted=[0] * 5, n_sim=0)
    assert result["max_ece"] == result["ece"] == pytest.approx(0.3)
    result = dfu.assess([0.5] * 5, [0] * 5, predicted=[0] * 5, n_sim=0)
    assert result["max_ece"] == result["average_ece"] == pytest.approx(0.5)


def test_regions_are_made_of_finite_bounds_and_a_flag():
    square, ends = np.full((2, 2), 0.3), [0.2, 0.2]
    for call, parameter in (
        (lambda: dfu.Box([0.0], [1.0], np.ones(2)), "finite_sample"),
        (lambda: dfu.Polytope(square, square, ends, ends, 1), "finite_sample"),
        (lambda: dfu.Polytope(square, square, [0.2, np.inf], ends, True), "mu_low"),
        (lambda: dfu.Polytope(square, square, ends, [1e200, 0.2], True), "mu_high"),
        (lambda: dfu.Polytope(1e200 * square, square, ends, ends, True), "lower"),
        (lambda: dfu.Box([0.0], [1.0], True).support([np.inf]), "direction"),
    ):
        with pytest.raises(dfu.InputError, match=rf"^The '{parameter}' parameter of "):
            call()


def test_regions_without_numbers_limit_nothing():
    assert dfu.Box([-np.inf, 1e300], [0.0, np.inf], True).support([-1e50, -1e50]) == (
        np.inf
    )
    tiny = np.array([[5e-324, 0.5], [0.5, 0.5]])
    box = dfu.Polytope(tiny, tiny, [0.1, 0.1], [0.9, 0.9], True).enclosure()
    assert not np.isnan([box.low, box.high]).any()


def test_weights_beyond_the_floats_are_infinite():
    fit = dfu.label_weights([1.0, 5e-324], [0.5, 0.5])
    assert fit.label_weight.tolist() == [0.5, np.inf]


def test_weights_of_no_size_are_none():
    table = dfu.metrics.reliability([0.2, 0.7], [0, 1], sample_weight=[1.0, 1e-200])
    plain = dfu.metrics.reliability([0.2, 0.7], [0, 1], sample_weight=[1.0, 0.0])
    np.testing.assert_array_equal(table.high, plain.high)


def test_isotonic_curves_are_the_parameters_of_their_map():
    fit = dfu.isotonic_calibration(PROBS, LABELS)
    assert fit.plot(kind="parameters").get_title() == fit.plot().get_title()
    with pytest.raises(dfu.InputError, match=r"^The 'fit' parameter of calibration_pa"):
        dfu.plots.calibration_parameters(fit)


def test_plans_of_a_tolerance_that_no_sample_reaches():
    with pytest.raises(dfu.InputError, match=r"^The 'tolerance' parameter of plan "):
        dfu.plan(tolerance=5e-324)


def test_features_at_the_end_of_the_floats_pass_through_a_network():
    x = np.random.default_rng(0).normal(size=(12, 2)) * 1e-3
    fit = dfu.indistinguishable_features(
        x, np.arange(12) % 2, x + 1e-3, n_hidden=2, n_epochs=1, rng=0
    )
    far = [[1.7e308, -1.7e308]]
    for values in (fit.transform(far), fit.logits(far), fit.source_probability(far)):
        assert np.isfinite(values).all()


def test_events_of_predicted_labels():
    frame = pd.DataFrame(PROBS)
    for event in ("class-1", frame, PROBS, None):
        with pytest.raises(dfu.InputError, match=r"^The 'event' parameter of "):
            dfu.metrics.ece(PROBS[:, 0], LABELS, predicted=LABELS, event=event)


def test_scores_adjusted_by_prevalence_keep_their_digits_and_their_flag(tmp_path):
    with pytest.raises(dfu.InputError, match=r"^The 'counted' parameter of PAS "):
        dfu.PAS(counted=np.ones(2))
    prior = np.random.default_rng(3).dirichlet(np.ones(3))
    for given in (prior, 7.0 * prior):
        fit = dfu.split_conformal(PROBS, LABELS, score=dfu.PAS(given), rng=0)
        fit.save(tmp_path / "fit.npz")
        again = dfu.load(tmp_path / "fit.npz")
        np.testing.assert_array_equal(again.score.class_prior, fit.score.class_prior)


def test_plans_for_a_level_that_no_sample_reaches():
    with pytest.raises(dfu.InputError, match=r"^The 'alpha' parameter of plan "):
        dfu.plan(5e-324, 1e-9)


def test_bounds_of_weights_without_a_confidence():
    class NoText:
        def __repr__(self):
            raise RuntimeError("no text")

    with pytest.raises(dfu.InputError, match=r"^The 'weight_bound' parameter of "):
        dfu.covariate_shift_conformal(PROBS, LABELS, np.ones(N), weight_bound=NoText())


def test_labels_that_would_be_too_many_classes():
    x = np.arange(4.0)
    for largest in (10**6, 2**62):
        with pytest.raises(dfu.InputError, match=r"^The 'labels' parameter of indis"):
            dfu.indistinguishable_features(x, [0, 1, 0, largest], x, n_hidden=2)


def test_ragged_labels_of_a_comparison():
    with pytest.raises(dfu.InputError, match=r"^The 'labels' parameter of compare"):
        dfu.compare(PROBS, PROBS, [[0.5, 0.5], [1.0]])


def test_upper_bounds_of_ratios_that_no_number_can_square():
    x = np.arange(float(N))
    with pytest.raises(dfu.InputError, match=r"^The 'upper' parameter of covariate_"):
        dfu.covariate_shift_calibration(np.log(PROBS), LABELS, x, x, upper=1e150)


def test_groups_without_weight_to_speak_of_use_the_common_map():
    groups = np.arange(N) % 2
    weights = np.where(groups == 0, 1.0, 1e-300)
    fit = dfu.groupwise_calibration(
        "vector", np.log(PROBS), LABELS, groups=groups, sample_weight=weights
    )
    assert fit.counts.tolist() == [N // 2, 0] and len(fit.fits) == 1


def test_one_row_with_weight_that_no_sample_of_rows_holds():
    """With 500 rows the fit starts from every so many of them: none has a weight."""
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    weights = np.zeros(500)
    weights[int(np.argmax(np.arange(500) % 2 * (logits.argmax(axis=1) != labels)))] = 1
    with pytest.warns(dfu.FitAtBoundWarning):
        fit = dfu.vector_scaling(logits, labels, sample_weight=weights)
    assert np.isfinite(fit.predict(logits)).all()


def test_integers_in_objects_are_predicted_labels():
    given = (PROBS.max(axis=1), LABELS.astype(object))
    found = dfu.metrics.ece(*given, predicted=LABELS.astype(object))
    assert found == dfu.metrics.ece(given[0], LABELS, predicted=LABELS)


def test_scores_of_any_size_are_clustered():
    fits = [
        dfu.clustered_conformal(
            PROBS, LABELS, score=dfu.RAPS(penalty, 0), alpha=0.5, rng=0
        )
        for penalty in (1e10, 1e290)
    ]
    assert fits[0].predict(PROBS).mask.shape == fits[1].predict(PROBS).mask.shape
