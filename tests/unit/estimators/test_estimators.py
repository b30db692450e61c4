"""Estimators give what the functions give, and say what the functions say."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import references, scenarios

sklearn = pytest.importorskip("sklearn", "1.6", reason="needs scikit-learn 1.6")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from distfreeuq.estimators import (
    ConformalClassifier,
    PriorCorrectedClassifier,
    ShiftCalibratedClassifier,
    SizeAtCoverage,
)

SCENARIO = scenarios.three_gaussians()
NAMES = np.array(["cat", "dog", "eel"])
X, CODES = SCENARIO.sample(300, "source", rng=0)
Y = NAMES[CODES]
NEW, NEW_CODES = SCENARIO.sample(200, "target", rng=0)
FRAME = pd.DataFrame(X, columns=["a", "b"], index=np.arange(1000, 1300))
conformal = partial(ConformalClassifier, LogisticRegression(), random_state=1)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# --------------------------------------------------------------- what functions give


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("split", dfu.split_conformal),
        ("label-conditional", dfu.label_conditional_conformal),
    ],
)
def test_a_fitted_classifier_has_the_sets_of_the_function(method, function):
    classifier = LogisticRegression().fit(X, Y)
    fit = ConformalClassifier(
        classifier, method=method, alpha=0.2, cv="prefit", random_state=5
    ).fit(X, Y)
    probs = classifier.predict_proba(X)
    same = function(probs, Y, alpha=0.2, classes=NAMES, rng=5)
    assert str(fit.result_) == str(same)
    expected = same.predict(classifier.predict_proba(NEW)).mask
    np.testing.assert_array_equal(fit.predict_set(NEW), expected)
    np.testing.assert_array_equal(fit.predict(NEW), classifier.predict(NEW))
    assert fit.estimators_ == [classifier]


def test_half_the_rows_calibrate_by_default():
    fit = conformal().fit(X, Y)
    assert fit.result_.n == 150
    assert fit.result_.guarantee.assumptions[-1] == references.CLASSES_OF_LABELS
    assert fit.result_.guarantee.lower == 0.9
    again = conformal().fit(X, Y)
    np.testing.assert_array_equal(fit.predict_set(NEW), again.predict_set(NEW))


def test_sets_are_the_same_at_every_call_without_a_seed():
    fit = ConformalClassifier(LogisticRegression()).fit(X, Y)
    np.testing.assert_array_equal(fit.predict_set(NEW), fit.predict_set(NEW))
    one_by_one = np.vstack([fit.predict_set(row[None]) for row in NEW[:20]])
    # the classifier's own sums may differ in the last bit between batches
    assert (one_by_one == fit.predict_set(NEW[:20])).mean() > 0.9


def test_folds_have_classifiers_of_their_own():
    fit = conformal(cv=4).fit(X, Y)
    assert isinstance(fit.result_, dfu.CrossConformalResult)
    assert fit.result_.n == 300 and len(fit.estimators_) == 4
    assert 0.7 < fit.result_.guarantee.lower < 0.8
    parts = [one.predict_proba(NEW) for one in fit.estimators_]
    np.testing.assert_array_equal(fit.predict_set(NEW), fit.result_.predict(parts).mask)
    np.testing.assert_allclose(fit.predict_proba(NEW), np.mean(parts, axis=0))
    by_class = conformal(cv=4, method="label-conditional").fit(X, Y)
    assert by_class.result_.guarantee.kind == "class-conditional"


def test_label_shift_is_estimated_from_target_rows():
    fit = conformal(method="label-shift", shift="bbse").fit(X, Y, X_target=NEW)
    assert fit.shift_.method == "BBSE" and fit.shift_.m == 200
    assert isinstance(fit.result_, dfu.LabelShiftConformalResult)
    robust = conformal(method="label-shift", options={"robust": True, "delta": 0.05})
    assert robust.fit(X, Y, X_target=NEW).result_.guarantee.finite_sample


@pytest.mark.parametrize("cv", [0.5, "prefit"])
def test_covariate_shift_weighs_new_rows_too(cv):
    classifier = LogisticRegression().fit(X, Y)
    fit = ConformalClassifier(
        classifier, method="covariate-shift", cv=cv, random_state=0
    ).fit(X, Y, X_target=NEW)
    assert isinstance(fit.shift_, dfu.DensityRatioResult)
    assert fit.shift_.n_source == (300 if cv == "prefit" else 150)
    assert fit.predict_set(NEW).shape == (200, 3)
    assert not fit.result_.guarantee


@pytest.mark.parametrize("calibrator", ["temperature", "vector", "platt", "isotonic"])
@pytest.mark.parametrize("shift", [None, "label", "covariate"])
def test_calibrated_probabilities_are_those_of_the_function(calibrator, shift):
    classifier = LogisticRegression().fit(X, Y)
    target = {} if shift is None else {"X_target": NEW}
    fit = ShiftCalibratedClassifier(
        classifier, calibrator=calibrator, shift=shift, cv="prefit", random_state=0
    ).fit(X, Y, **target)
    probs = fit.predict_proba(NEW)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, atol=1e-6)
    given = classifier.predict_proba(NEW)
    inputs = given
    if calibrator != "isotonic" or shift == "covariate":
        inputs = dfu.to_logits(given)
    np.testing.assert_array_equal(probs, fit.result_.predict(inputs))
    assert (fit.shift_ is None) == (shift is None)


def test_folds_of_calibration_promise_nothing():
    fit = ShiftCalibratedClassifier(LogisticRegression(), cv=3, random_state=0)
    fit.fit(X, Y)
    assert "several folds" in fit.result_.guarantee.reason
    assert len(fit.estimators_) == 1
    prior = PriorCorrectedClassifier(LogisticRegression(), cv=3, random_state=0)
    prior.fit(X, Y, X_target=NEW)
    assert "several folds" in prior.result_.guarantee.reason


def test_a_given_prior_is_bayes_rule():
    fit = PriorCorrectedClassifier(
        LogisticRegression(), target_prior=[0.2, 0.3, 0.5]
    ).fit(X, Y)
    source = np.bincount(CODES) / 300
    plain = LogisticRegression().fit(X, Y).predict_proba(NEW)
    odds = plain * (np.array([0.2, 0.3, 0.5]) / source)
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.predict_proba(NEW), expected)
    assert fit.shift_ is fit.result_
    weight = 1.0 + (CODES == 2)
    weighted = PriorCorrectedClassifier(
        LogisticRegression(), target_prior=[0.2, 0.3, 0.5]
    ).fit(X, Y, sample_weight=weight)
    shares = np.bincount(CODES, weights=weight) / weight.sum()
    np.testing.assert_allclose(weighted.result_.source_prior, shares)


def test_an_estimated_prior_is_near_the_targets():
    x, codes = SCENARIO.sample(4000, "source", rng=2)
    new, truth = SCENARIO.sample(4000, "target", rng=3)
    fit = PriorCorrectedClassifier(LogisticRegression(), random_state=0)
    fit.fit(x, codes, X_target=new)
    shares = np.bincount(truth) / 4000
    np.testing.assert_allclose(fit.result_.target_prior, shares, atol=0.04)


def test_resampling_inside_is_undone_without_target_rows():
    x, codes = SCENARIO.sample(4000, "source", rng=2)
    balanced = LogisticRegression(class_weight="balanced")
    fit = PriorCorrectedClassifier(balanced, random_state=0).fit(x, codes)
    np.testing.assert_allclose(fit.result_.label_weight, 1.0, atol=1e-6)
    shares = np.bincount(codes) / 4000
    assert abs(balanced.fit(x, codes).predict_proba(x).mean(0) - shares).max() > 0.05
    np.testing.assert_allclose(fit.predict_proba(x).mean(0), shares, atol=0.03)
    assert "no target rows" in fit.result_.guarantee.reason


# ------------------------------------------------------------------- what is guaranteed


def test_a_class_without_training_rows_is_never_predicted_but_may_be_in_sets():
    labels = np.where(np.arange(300) == 7, "zebu", Y)
    for seed in range(8):
        fit = conformal(conformity_score="lac", cv=0.5).set_params(random_state=seed)
        fit.fit(X, labels)
        assert fit.predict_proba(NEW).shape == fit.predict_set(NEW).shape == (200, 4)
        if "zebu" not in fit.estimators_[0].classes_:
            assert (fit.predict_proba(NEW)[:, 3] == 0.0).all()


@pytest.mark.slow
def test_one_row_of_each_group_keeps_coverage():
    """Groups of ten rows that are one row: with all of them sets are too small."""
    rng = np.random.default_rng(0)
    hits, naive = [], []
    for seed in range(400):
        x, codes = SCENARIO.sample(60, "source", rng=rng)
        groups = np.repeat(np.arange(60), 10)
        rows, labels = np.repeat(x, 10, axis=0), np.repeat(codes, 10)
        new, truth = SCENARIO.sample(20, "source", rng=rng)
        fit = ConformalClassifier(
            DecisionTreeClassifier(max_depth=4, random_state=0),
            cv=0.2,
            conformity_score="lac",
            alpha=0.1,
            random_state=seed,
        )
        for found, given in ((hits, groups), (naive, None)):
            sets = fit.fit(rows, labels, groups=given).predict_set(new)
            found.append(sets[np.arange(20), np.minimum(truth, sets.shape[1] - 1)])
    # per calibration draw coverage has a standard deviation of about 0.1
    assert np.mean(hits) > 0.9 - 4 * 0.12 / 20
    assert np.mean(naive) < 0.85
    assert fit.fit(rows, labels, groups=groups).result_.guarantee.assumptions[-1] == (
        references.ONE_ROW_OF_EACH_GROUP
    )


# ------------------------------------------------------- what scikit-learn asks besides


@pytest.mark.parametrize(
    "fit",
    [
        conformal(),
        conformal(cv=3),
        ShiftCalibratedClassifier(LogisticRegression(), random_state=0),
        PriorCorrectedClassifier(LogisticRegression(), random_state=0),
    ],
)
def test_clones_pickles_and_notebooks(fit):
    assert clone(fit).get_params().keys() == fit.get_params().keys()
    fit = clone(fit).fit(FRAME, Y)
    assert fit.feature_names_in_.tolist() == ["a", "b"] and fit.n_features_in_ == 2
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.predict_proba(FRAME), fit.predict_proba(FRAME))
    assert str(again.result_) == str(fit.result_)
    assert type(fit).__name__ in fit._repr_html_()
    assert "LogisticRegression" in fit._repr_html_()


def test_sets_come_back_as_frames_on_request():
    fit = clone(conformal().set_output(transform="pandas")).fit(FRAME, Y)
    sets = fit.predict_set(FRAME)
    assert sets.columns.tolist() == NAMES.tolist()
    assert sets.index.equals(FRAME.index)
    np.testing.assert_array_equal(
        sets.to_numpy(), fit.set_output(transform="default").predict_set(FRAME)
    )
    assert fit.set_output(transform=None) is fit
    with pytest.raises(dfu.InputError, match="'transform' parameter"):
        fit.set_output(transform="frames")


def test_target_rows_go_through_the_steps_of_a_pipeline(routing):
    steps = [
        ("scale", StandardScaler()),
        (
            "sets",
            conformal(method="covariate-shift").set_fit_request(X_target=True),
        ),
    ]
    pipe = Pipeline(steps, transform_input=["X_target"]).fit(X, Y, X_target=NEW)
    scaled = StandardScaler().fit(X)
    alone = conformal(method="covariate-shift").fit(
        scaled.transform(X), Y, X_target=scaled.transform(NEW)
    )
    np.testing.assert_array_equal(
        pipe[-1].predict_set(scaled.transform(NEW)),
        alone.predict_set(scaled.transform(NEW)),
    )


def test_weights_are_routed_to_the_classifier(routing):
    weight = np.where(CODES == 0, 5.0, 1.0)
    inner = LogisticRegression().set_fit_request(sample_weight=True)
    fit = ConformalClassifier(inner, random_state=1).fit(X, Y, sample_weight=weight)
    plain = conformal().fit(X, Y)
    assert (
        fit.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.05
    )
    with pytest.raises(ValueError, match="sample_weight"):
        ConformalClassifier(LogisticRegression()).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("n_target", [200, 300])
def test_a_search_passes_target_rows_on(routing, n_target):
    """As many target rows as rows are cut by the search itself: fewer, but of it."""
    target, _ = SCENARIO.sample(n_target, "target", rng=5)
    fit = conformal(method="label-shift", shift="bbse").set_fit_request(X_target=True)
    search = GridSearchCV(fit, {"alpha": [0.1, 0.3]}, scoring=SizeAtCoverage(0.8), cv=3)
    search.fit(X, Y, X_target=target)
    assert search.best_estimator_.shift_.m == n_target
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_search_prefers_small_sets_that_cover():
    search = GridSearchCV(
        conformal(),
        {"alpha": [0.01, 0.05, 0.5], "conformity_score": ["lac", "aps"]},
        scoring=SizeAtCoverage(0.8),
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["alpha"] == 0.05
    assert search.n_features_in_ == 2
    assert len(cross_val_score(conformal(), X, Y, cv=3)) == 3


def test_the_scorer_by_hand():
    class Fixed:
        classes_ = np.array(["a", "b"])

        def predict_set(self, X):
            return np.array([[True, True], [True, False], [True, False], [False, True]])

    labels = ["a", "a", "b", "c"]  # covered: yes, yes, no, and a class never seen
    # mean size 5/4; coverage 1/2, short of 0.9 by 0.4, times 2 / 0.1
    assert SizeAtCoverage(0.9)(Fixed(), None, labels) == pytest.approx(-1.25 - 8.0)
    assert SizeAtCoverage(0.5)(Fixed(), None, labels) == pytest.approx(-1.25)
    with pytest.raises(dfu.InputError, match="predict_set"):
        SizeAtCoverage()(LogisticRegression(), X, Y)
    with pytest.raises(dfu.InputError, match="'coverage' parameter"):
        SizeAtCoverage(1.5)(Fixed(), None, labels)


@pytest.mark.parametrize(
    ("fit", "options", "parameter"),
    [
        (conformal(method="mondrian"), {}, "method"),
        (conformal(alpha=1.5), {}, "alpha"),
        (conformal(conformity_score="best"), {}, "score"),
        (conformal(cv=301), {}, "cv"),
        (conformal(options=[1]), {}, "options"),
        (conformal(method="label-shift"), {}, "X_target"),
        (conformal(), {"X_target": NEW}, "X_target"),
        (conformal(method="label-shift", cv=3), {"X_target": NEW}, "cv"),
        (
            conformal(method="label-shift", shift="em"),
            {"X_target": NEW},
            "shift",
        ),
        (conformal(), {"groups": [1, 2]}, "groups"),
        (conformal(), {"sample_weight": -np.ones(300)}, "sample_weight"),
        (ConformalClassifier(LinearSVC()), {}, "estimator"),
        (ConformalClassifier(None), {}, "estimator"),
        (ConformalClassifier(LogisticRegression), {}, "estimator"),
        (
            ShiftCalibratedClassifier(LogisticRegression(), calibrator="beta"),
            {},
            "calibrator",
        ),
        (ShiftCalibratedClassifier(LogisticRegression(), shift="prior"), {}, "shift"),
        (
            ShiftCalibratedClassifier(LogisticRegression(), shift="label"),
            {},
            "X_target",
        ),
        (
            PriorCorrectedClassifier(LogisticRegression(), target_prior="balanced"),
            {},
            "target_prior",
        ),
        (
            PriorCorrectedClassifier(LogisticRegression(), target_prior=[0.5, 0.6]),
            {},
            "target_prior",
        ),
        (
            PriorCorrectedClassifier(LogisticRegression(), source_prior=[1 / 3] * 3),
            {},
            "source_prior",
        ),
    ],
)
def test_what_cannot_be_fitted_is_named(fit, options, parameter):
    with pytest.raises(dfu.InputError, match=f"'{parameter}' parameter of "):
        fit.fit(X, Y, **options)


def test_target_rows_without_a_word_on_how_they_shifted():
    with pytest.raises(dfu.InputError, match="method='label-shift' or"):
        conformal().fit(X, Y, X_target=NEW)
    with pytest.raises(
        dfu.InputError, match=r"ShiftCalibratedClassifier\(shift='label'"
    ):
        ShiftCalibratedClassifier(LogisticRegression()).fit(X, Y, X_target=NEW)


def test_labels_that_a_fitted_classifier_does_not_know_are_named():
    classifier = LogisticRegression().fit(X, Y)
    with pytest.raises(dfu.InputError, match=r"'y' parameter .*'yak' at row 1"):
        ConformalClassifier(classifier, cv="prefit").fit(X[:2], ["cat", "yak"])


def test_what_groups_need_is_printed():
    groups = np.arange(len(Y)) // 2
    fit = conformal().fit(X, Y, groups=groups)
    assert fit.result_.guarantee.assumptions[-2:] == (
        references.CLASSES_OF_LABELS,
        references.ONE_ROW_OF_EACH_GROUP,
    )


def test_every_fold_is_of_the_classifier_that_did_not_see_it(monkeypatch):
    from distfreeuq.estimators import conformal_classifier

    seen = []

    def spy(probs, labels, folds, **options):
        seen.append((probs, folds))
        return dfu.cross_conformal(probs, labels, folds, **options)

    monkeypatch.setattr(conformal_classifier, "cross_conformal", spy)
    fit = conformal(cv=4).fit(X, Y)
    ((probs, folds),) = seen
    for k, classifier in enumerate(fit.estimators_):
        own = {tuple(row) for row in classifier.predict_proba(X).round(9)}
        assert {tuple(row) for row in probs[folds == k].round(9)} <= own


def test_rows_that_calibrate_have_the_weights_of_their_own_classes(monkeypatch):
    from distfreeuq.estimators import calibrated_classifier

    seen = []
    function = calibrated_classifier.CALIBRATORS["temperature"]

    def spy(logits, labels, **options):
        seen.append((labels, options["sample_weight"]))
        return function(logits, labels, **options)

    monkeypatch.setitem(calibrated_classifier.CALIBRATORS, "temperature", spy)
    fit = ShiftCalibratedClassifier(
        LogisticRegression(), calibrator="temperature", shift="bbse", random_state=0
    ).fit(X, Y, X_target=NEW)
    ((labels, weights),) = seen
    expected = fit.shift_.label_weight[np.searchsorted(fit.classes_, labels)]
    np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize("cv", [0.5, 3])
def test_sets_of_a_frame_have_its_index(cv):
    fit = ConformalClassifier(LogisticRegression(), cv=cv, random_state=0)
    fit.fit(FRAME, Y)
    assert fit.prediction_sets(FRAME).to_frame().index.equals(FRAME.index)
    for rows in (X, X.tolist()):
        assert fit.fit(X, Y).prediction_sets(rows).index is None
