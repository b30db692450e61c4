"""Numbers by class carry names in a dict or Series, and are matched by them."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu

CLASSES = ["normal", "pathological", "suspect"]
WEIGHTS = [0.5, 3.0, 2.5]
# Ordered as value_counts orders: by frequency, and not as the columns.
NAMED = {"suspect": 2.5, "normal": 0.5, "pathological": 3.0}
PROBS = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]] * 20)
LABELS = CLASSES[::-1] * 6 + CLASSES * 14


def sets(weight):
    return dfu.label_shift_conformal(
        PROBS, LABELS, weight, classes=CLASSES, rng=0
    ).thresholds


def by_class_alpha(alpha):
    return dfu.label_conditional_conformal(
        PROBS, LABELS, alpha=alpha, classes=CLASSES, rng=0
    ).thresholds


def chosen(weight):
    return dfu.prediction_sets(
        PROBS, LABELS, weight, classes=CLASSES, rng=0
    ).fit.thresholds


def bins(weight):
    fit = dfu.histogram_binning(PROBS, LABELS, n_bins=2, classes=CLASSES)
    return fit.under_label_shift(weight).frequencies


def performance(weight):
    return dfu.target_performance(
        PROBS, LABELS, PROBS, shift=weight, metrics=["accuracy"], classes=CLASSES
    ).to_frame()["estimate"]


def prevalence_adjusted(prior):
    fit = dfu.split_conformal(PROBS, LABELS, score=dfu.PAS(prior), classes=CLASSES)
    return fit.score.class_prior


def calibrations(weight):
    logits = dfu.to_logits(PROBS)
    result = dfu.compare_calibrations(
        logits,
        LABELS,
        logits,
        LABELS,
        label_weight=weight,
        classes=CLASSES,
        n_rep=2,
        rng=0,
    )
    return result.to_frame()["mean"]


def rows_needed(prior):
    return dfu.plan(0.1, source_prior=prior, classes=CLASSES).to_frame()["expected"]


TAKERS = {
    "label_shift_conformal": (sets, 1.0),
    "label_conditional_conformal": (by_class_alpha, 0.1),
    "prediction_sets": (chosen, 1.0),
    "under_label_shift": (bins, 1.0),
    "target_performance": (performance, 1.0),
    "PAS": (prevalence_adjusted, 1.0),
    "compare_calibrations": (calibrations, 1.0),
    "plan": (rows_needed, 1 / 6),
}


@pytest.mark.parametrize("name", TAKERS)
def test_names_are_matched_and_not_positions(name):
    takes, scale = TAKERS[name]
    by_position = takes(np.array(WEIGHTS) * scale)
    named = {key: value * scale for key, value in NAMED.items()}
    for given in (named, pd.Series(named), pd.Series(named).convert_dtypes()):
        np.testing.assert_array_equal(takes(given), by_position)


@pytest.mark.parametrize("name", TAKERS)
def test_a_name_that_is_no_class_is_refused(name):
    takes, scale = TAKERS[name]
    named = {"suspect": 0.4 * scale, "normal": 0.3 * scale, "other": 0.3 * scale}
    if name == "plan":
        named = {"suspect": 0.4, "normal": 0.3, "other": 0.3}
    with pytest.raises(dfu.InputError, match=r"one entry for each .* 'other'"):
        takes(named)


def test_priors_are_matched_by_their_own_names():
    source = pd.Series({"normal": 0.78, "suspect": 0.14, "pathological": 0.08})
    target = pd.Series({"suspect": 0.5, "normal": 0.3, "pathological": 0.2})
    known = dfu.label_weights(source, target)
    assert known.classes == ("normal", "suspect", "pathological")
    np.testing.assert_allclose(
        known.label_weight, [0.3 / 0.78, 0.5 / 0.14, 0.2 / 0.08], rtol=1e-12
    )
    again = dfu.label_weights(source, target, classes=CLASSES)
    np.testing.assert_array_equal(again.label_weight, known.label_weight[[0, 2, 1]])


def test_one_prior_with_names_and_one_without_need_classes():
    named = {"a": 0.25, "b": 0.75}
    with pytest.raises(dfu.InputError, match=r"'target_prior'.* as 'source_prior' is"):
        dfu.label_weights(named, [0.5, 0.5])
    with pytest.raises(dfu.InputError, match=r"'source_prior'.* as 'target_prior' is"):
        dfu.label_weights([0.5, 0.5], named)
    known = dfu.label_weights(named, [0.5, 0.5], classes=["b", "a"])
    assert known.source_prior.tolist() == [0.75, 0.25]


def test_an_index_that_counts_from_zero_is_no_name():
    np.testing.assert_array_equal(sets(pd.Series(WEIGHTS)), sets(WEIGHTS))


def test_numbers_of_classes_are_names_in_another_order():
    scores, labels = np.arange(8) / 10, [0, 1] * 4
    settings = {"alpha": 0.2, "n_classes": 2, "method": "label-shift"}
    right = dfu.conformal_thresholds(scores, labels, label_weight=[2, 0.5], **settings)
    series = pd.Series([0.5, 2.0], index=[1, 0])
    named = dfu.conformal_thresholds(scores, labels, label_weight=series, **settings)
    assert named.tolist() == right.tolist()
    box = dfu.Box(pd.Series({1: 3.0, 0: 1.0}), [2.0, 4.0], True)
    assert box.low.tolist() == [1.0, 3.0]
    with pytest.raises(dfu.InputError, match="'low' parameter of Box"):
        dfu.Box({"a": 1.0, "b": 2.0}, [2.0, 4.0], True)
    uniform = dfu.PAS({1: 0.25, 0: 0.75})
    assert dfu.nested_scores([[0.75, 0.25]], score=uniform).tolist() == [[-1.0, -1.0]]


class DataArray:
    """As much of an xarray DataArray as is looked at."""

    ndim = 1
    dims = ("class",)

    def __init__(self, named):
        self.coords = {"class": np.array(list(named))}
        self._values = np.array(list(named.values()))

    def to_numpy(self):
        return self._values


def test_names_of_an_xarray_are_read():
    np.testing.assert_array_equal(sets(DataArray(NAMED)), sets(WEIGHTS))


def test_shift_with_other_classes_is_refused_where_performance_is_asked():
    known = dfu.label_weights(
        {"a": 0.5, "b": 0.25, "c": 0.25}, {"a": 1, "b": 0, "c": 0}
    )
    with pytest.raises(dfu.InputError, match="for the classes 'normal'"):
        performance(known)
