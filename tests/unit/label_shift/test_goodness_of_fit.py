"""Is it label shift at all? Cells, the mixture, and the two statistics."""

import numpy as np
import pytest
from scipy import optimize, stats

import distfreeuq as dfu
from distfreeuq._numerics.passes.class_rows import RowsInMemory
from distfreeuq.label_shift.inference.goodness_of_fit import compare_with_mixtures
from distfreeuq.label_shift.mixture_of_classes import fit_class_mixture
from distfreeuq.label_shift.output_cells import OutputCells, count_cells


def classify(rng, labels, spread=0.5, n_classes=3):
    logits = rng.normal(0.0, spread, (labels.size, n_classes))
    logits[np.arange(labels.size), labels] += 1.0
    scores = np.exp(4.0 * logits)
    return scores / scores.sum(axis=1, keepdims=True)


def rows(seed, n=1000, prior=(0.2, 0.3, 0.5), spread=0.5):
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=n, p=prior)
    return classify(rng, labels, spread), labels


PROBS, LABELS = rows(0)
TARGET, _ = rows(1, prior=(0.6, 0.3, 0.1))
NOISY, _ = rows(2, prior=(0.6, 0.3, 0.1), spread=0.8)


def cells_of(probs, labels, target):
    return count_cells(RowsInMemory.of(probs, labels), RowsInMemory.of(target))


@pytest.mark.parametrize("fit", [dfu.bbse, dfu.rlls, dfu.mlls])
def test_label_shift_fits_and_noise_does_not(fit):
    shifted = fit(PROBS, LABELS, TARGET)
    assert shifted.goodness_of_fit().p_value > 0.1
    assert "Label shift: " in shifted.summary().as_text()
    assert "is refuted" not in shifted.summary().as_text()
    noisy = fit(PROBS, LABELS, NOISY)
    assert noisy.goodness_of_fit().p_value < 1e-3
    assert "label shift is refuted at the level 0.01" in noisy.summary().as_text()


def test_the_test_prints_its_statistics():
    test = dfu.bbse(PROBS, LABELS, TARGET).goodness_of_fit()
    text = str(test)
    for number, df in (
        (test.cells_statistic, test.cells_df),
        (test.confidence_statistic, test.confidence_df),
    ):
        assert f"{number:.3f}" in text and f"{stats.chi2.sf(number, df):.3f}" in text
    assert f"{test.p_value:.3f}" in text and "does not show it" in text
    assert "<table" in test._repr_html_()
    noisy = str(dfu.bbse(PROBS, LABELS, NOISY).goodness_of_fit())
    assert noisy.count("< 0.001") >= 2
    one = np.array([[30]]), np.array([60]), np.array([0]), np.array([0.5])
    untested = compare_with_mixtures(OutputCells(*one))
    assert not untested.testable and "too few cells" in str(untested)


def test_every_row_is_in_one_cell_and_labels_have_no_part_in_the_edges():
    cells = cells_of(PROBS, LABELS, TARGET)
    assert cells.source.sum() == cells.target.sum() == 1000
    np.testing.assert_array_equal(cells.source.sum(axis=0), np.bincount(LABELS))
    others = cells_of(PROBS, np.roll(LABELS, 1), TARGET)
    np.testing.assert_array_equal(others.source.sum(axis=1), cells.source.sum(axis=1))
    np.testing.assert_array_equal(others.target, cells.target)
    # quartiles of both samples together
    pooled = cells.source.sum(axis=1) + cells.target
    for group in range(3):
        own = pooled[cells.group == group]
        assert own.size == 4 and own.max() - own.min() <= 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_last_bits_of_equal_confidences_part_no_rows(dtype):
    # ten confidences, so that quartiles lie on some of them
    sure = np.repeat(np.linspace(0.6, 0.95, 10), 40).astype(dtype)
    labels = np.arange(400) % 3 % 2
    bits = np.random.default_rng(0).integers(-2, 3, size=400)
    noisy = sure + bits.astype(dtype) * np.finfo(dtype).eps / 2
    assert np.unique(noisy).size > 10
    exact, shaken = (
        cells_of(np.c_[x, 1 - x].astype(dtype), labels, np.c_[x, 1 - x][::3])
        for x in (sure, noisy)
    )
    np.testing.assert_array_equal(shaken.source, exact.source)
    np.testing.assert_array_equal(shaken.target, exact.target)


def test_the_order_of_rows_and_constant_outputs_change_nothing():
    order = np.random.default_rng(0).permutation(1000)
    again = cells_of(PROBS[order], LABELS[order], TARGET[::-1])
    np.testing.assert_array_equal(again.source, cells_of(PROBS, LABELS, TARGET).source)
    constant = np.tile([0.5, 0.3, 0.2], (50, 1))
    with pytest.warns(dfu.IdentificationWarning):
        fit = dfu.bbse(constant, np.arange(50) % 3, constant)
    test = fit.goodness_of_fit()
    assert not test.testable and test.p_value == 1.0
    assert "too few cells" in fit.summary().as_text()


def test_the_mixture_is_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(3)
    source, target = rng.poisson(6.0, (4, 2)) + 1.0, rng.poisson(15.0, 4) + 1.0
    fit = fit_class_mixture(source, target)

    def loss(x):
        shares = np.exp(x[:8].reshape(4, 2))
        shares /= shares.sum(axis=0)
        prior = np.array([1.0, np.exp(x[8])]) / (1.0 + np.exp(x[8]))
        likelihood = (source * np.log(shares)).sum() + target @ np.log(shares @ prior)
        return -likelihood

    best = min(optimize.minimize(loss, rng.normal(size=9)).fun for _ in range(3))
    found = -(source * np.log(fit.shares)).sum() - target @ np.log(fit.target)
    assert found == pytest.approx(best, abs=1e-4)


def test_a_target_that_is_a_mixture_has_statistics_of_zero():
    cells = OutputCells(
        np.array([[40, 10], [30, 20], [20, 30], [10, 40]]),
        np.array([25, 25, 25, 25]),
        np.array([0, 0, 1, 1]),
        np.array([0.25, 0.75, 0.25, 0.75]),
    )
    test = compare_with_mixtures(cells)
    assert test.cells_statistic == pytest.approx(0.0, abs=1e-4)
    assert test.confidence_statistic == pytest.approx(0.0, abs=1e-4)
    assert (test.p_value, test.cells_df, test.n_cells) == (1.0, 2, 4)


def test_a_class_without_source_rows_is_taken_to_be_absent():
    probs, labels = PROBS[LABELS != 2], LABELS[LABELS != 2]
    fit = dfu.rlls(probs, labels, TARGET[TARGET.argmax(axis=1) != 2])
    said = " ".join(fit.summary().as_text().split())
    assert "takes for granted that the target has no row of class 2" in said


def test_known_priors_and_many_classes_are_not_tested():
    known = dfu.label_weights([0.5, 0.5], [0.4, 0.6])
    with pytest.raises(dfu.InputError, match="at most 200 classes"):
        known.goodness_of_fit()
    probs = np.eye(250)
    fit = dfu.mlls(probs, np.arange(250), probs, calibrate=None)
    assert fit.output_cells is None
    assert "not tested" in fit.summary().as_text()


def test_early_files_have_the_test_where_they_kept_rows(tmp_path):
    fit = dfu.mlls(PROBS, LABELS, TARGET)
    added = dfu.LabelShiftResult._added({"samples": fit.samples})
    np.testing.assert_array_equal(added["output_cells"].source, fit.output_cells.source)
    added = dfu.LabelShiftResult._added({"samples": None})
    assert added == {"output_cells": None, "labelled": None, "predicted": None}
    fit.save(tmp_path / "fit.npz")
    assert dfu.load(tmp_path / "fit.npz").goodness_of_fit() == fit.goodness_of_fit()


def test_two_tests_share_the_level_and_classes_without_target_rows_are_free():
    """Twice the smaller p-value; cells less the classes that the fit gives a row."""
    rng = np.random.default_rng(8)
    labels = rng.integers(3, size=600)
    new = rng.integers(2, size=400)  # the target has none of the third class

    def classify(y, noise=1.0):
        logits = 4.0 * np.eye(3)[y] + noise * rng.normal(size=(y.size, 3))
        powers = np.exp(logits)
        return powers / powers.sum(axis=1, keepdims=True)

    found = dfu.bbse(classify(labels), labels, classify(new, 1.3)).goodness_of_fit()
    p_values = [
        stats.chi2.sf(found.cells_statistic, found.cells_df),
        stats.chi2.sf(found.confidence_statistic, found.confidence_df),
    ]
    assert found.p_value == pytest.approx(min(2.0 * min(p_values), 1.0))
    assert found.p_value < 1.0
    assert found.cells_df == found.n_cells - 2


def test_the_noise_of_few_target_rows_is_theirs():
    """Twenty times as many source rows: noise by these would be far too small."""
    probs, labels = rows(9, n=8000)
    target, _ = rows(10, n=400)
    found = dfu.bbse(probs, labels, target).goodness_of_fit()
    assert 0 < found.confidence_df < 5
    assert stats.chi2.sf(found.confidence_statistic, found.confidence_df) > 1e-3
