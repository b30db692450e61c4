"""Thousands of classes of which few have rows: the fit of those that do."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq._base import memory
from distfreeuq._numerics import mixture_likelihood
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift import class_matrix
from distfreeuq.label_shift.class_matrix import ClassMatrix
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference.finite_sample_regions import (
    exact_enclosure,
    exact_region,
)
from distfreeuq.label_shift.inference.shift_test import compare_means
from distfreeuq.label_shift.regularized_solution import regularized_weights

FITS = {
    "bbse": (dfu.bbse, {}),
    "soft bbse": (dfu.bbse, {"soft": True}),
    "rlls": (dfu.rlls, {}),
    "soft rlls": (dfu.rlls, {"soft": True}),
    "mlls": (dfu.mlls, {}),
    "mlls by labels": (dfu.mlls, {"calibrate": None, "prior": "labels"}),
}


def samples(n=60, m=50, n_classes=600, n_labelled=6, seed=0):
    """Draw rows of a classifier of many classes; labels are of a few of them."""
    rng = np.random.default_rng(seed)
    own = np.sort(rng.choice(n_classes, n_labelled, replace=False))
    labels, of_target = (rng.choice(own, size) for size in (n, m))

    def classify(y):
        logits = rng.normal(size=(y.size, n_classes))
        logits[:, own] += 4.0
        logits[np.arange(y.size), y] += 2.0
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    return classify(labels), labels, classify(of_target)


@pytest.mark.filterwarnings("ignore::distfreeuq.exceptions.IdentificationWarning")
@pytest.mark.parametrize("some_labels", [False, True])
@pytest.mark.parametrize("name", FITS)
def test_the_fit_of_few_classes_is_that_of_all(name, some_labels, monkeypatch):
    fit, options = FITS[name]
    data = samples()
    if some_labels:
        known = data[1][:12].tolist()
        options = {**options, "labels_target": known + [None] * 38}
    few = fit(*data, **options)
    monkeypatch.setattr(class_matrix, "MANY_CLASSES", 10**9)
    monkeypatch.setattr(mixture_likelihood, "_MANY", 10**9)
    every = fit(*data, **options)
    assert isinstance(few.confusion.joint, ClassMatrix)
    assert isinstance(every.confusion.joint, np.ndarray)
    close = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(few.confusion.counts, every.confusion.counts, **close)
    assert (few.solution is None) == (every.solution is None)
    if few.solution is not None:
        np.testing.assert_allclose(few.raw, every.raw, **close)
        np.testing.assert_allclose(few.label_weight, every.label_weight, **close)
    np.testing.assert_allclose(few.confint(), every.confint(), rtol=1e-6)
    np.testing.assert_allclose(few.std_err, every.std_err, rtol=1e-6)
    ours, theirs = few.to_frame(), every.to_frame()
    if some_labels and name in ("bbse", "rlls"):  # a box that leaves the labels out
        assert (ours["low"] <= theirs["low"]).all()
        assert (ours["high"] >= 0.99 * theirs["high"]).all()
    else:
        np.testing.assert_allclose(ours["low"], theirs["low"], rtol=1e-6)
        np.testing.assert_allclose(ours["high"], theirs["high"], rtol=1e-6)
    assert few.notes == every.notes
    assert few.singular and every.singular
    assert few.shift_test.p_value == every.shift_test.p_value
    if name == "mlls":
        assert few.calibration_test.p_value == every.calibration_test.p_value
        few_ends, every_ends = (f.confint(method="likelihood") for f in (few, every))
        np.testing.assert_allclose(few_ends, every_ends, rtol=1e-6)
        np.testing.assert_allclose(
            np.asarray(few.covariance), every.covariance, rtol=1e-6, atol=1e-9
        )


@pytest.mark.filterwarnings("ignore::distfreeuq.exceptions.IdentificationWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_of_few_classes_is_saved_as_it_is(name, tmp_path):
    fit, options = FITS[name]
    old = fit(*samples(), **options)
    old.save(tmp_path / "fit.npz")
    new = dfu.load(tmp_path / "fit.npz")
    assert str(new) == str(old)
    np.testing.assert_array_equal(new.confint(), old.confint())


def test_a_class_that_is_predicted_and_has_no_rows_is_part_of_the_residual():
    # rows 0 and 7 are predicted in the source; 9 in the target alone
    labels, predicted = np.array([0, 0, 7, 7]), np.array([0, 7, 7, 7])
    confusion = hard_confusion(predicted, labels, np.array([0, 7, 9]), 600)
    assert isinstance(confusion.joint, ClassMatrix)
    whole = confusion.of_those_that_occur()[0]
    assert whole.target.tolist() == [1, 1, 1]
    found = regularized_weights(confusion, 0.01)
    np.testing.assert_allclose(found[[0, 7, 9]], regularized_weights(whole, 0.01))
    assert (np.delete(found, [0, 7]) == 1.0).all()


def test_the_box_around_the_exact_region_needs_no_whole_matrix():
    rng = np.random.default_rng(3)
    labels, predicted = rng.choice([2, 5, 90], (2, 400))
    labels[:300] = predicted[:300]
    confusion = hard_confusion(predicted, labels, rng.choice([2, 5], 300), 600)
    found = exact_enclosure(confusion, 0.1)
    want = exact_region(confusion, 0.1).enclosure()
    np.testing.assert_allclose(found.low, want.low)
    np.testing.assert_allclose(found.high, want.high)
    assert np.isfinite(found.high).any()


def test_the_permutation_test_is_the_same_by_rows_and_by_classes(monkeypatch):
    rng = np.random.default_rng(4)
    p, q = (rng.dirichlet(np.full(40, 0.2), size) for size in (12, 15))
    by_classes = compare_means(RowsInMemory.of(p), RowsInMemory.of(q))
    import distfreeuq.label_shift.inference.shift_test as module

    monkeypatch.setattr(module, "MANY_CLASSES", 0)
    by_rows = compare_means(RowsInMemory.of(p), RowsInMemory.of(q))
    assert by_rows.statistic == pytest.approx(by_classes.statistic, rel=1e-6)
    assert (by_rows.df, by_rows.p_value) == (by_classes.df, by_classes.p_value)


def test_what_does_not_fit_into_the_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)
    probs = np.full((2, 600), 1 / 600)
    with pytest.raises(dfu.InputError, match=r"'probs' parameter of mlls.* GiB"):
        dfu.mlls(probs, [0, 1], probs, calibrate=None)
    labels = np.arange(600)
    rows = np.eye(600)
    for fit in (dfu.bbse, dfu.rlls, dfu.mlls):
        with pytest.raises(dfu.InputError, match=r"'probs' parameter of .* GiB"):
            fit(rows, labels, rows)
    with (
        pytest.warns(dfu.exceptions.IdentificationWarning),
        pytest.raises(dfu.InputError, match="n_classes"),
    ):
        np.asarray(dfu.bbse(probs, [0, 1], probs).confusion.joint)
    with (
        pytest.warns(dfu.exceptions.IdentificationWarning),
        pytest.raises(dfu.InputError, match=r"'self' parameter of .*region .* GiB"),
    ):
        dfu.bbse(probs, [0, 1], probs).region(0.1)
