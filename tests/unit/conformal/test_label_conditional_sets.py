"""Label-conditional thresholds on data small enough to do by hand."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds

P1 = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Probabilities of class 1; with LAC, a row of class 1 scores 1 - p."""


@pytest.fixture
def fit():
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    return dfu.label_conditional_conformal(P1, labels, alpha=[0.25, 0.2], score="lac")


def test_each_class_has_its_own_rank(fit):
    # class 0: n = 4, rank ceil(.75 * 5) = 4; class 1: n = 5, rank ceil(.8 * 6) = 5
    assert fit.ranks.tolist() == [4, 5]
    np.testing.assert_allclose(fit.thresholds, [0.4, 0.4])
    assert fit.class_counts.tolist() == [4, 5]


def test_p_values_are_of_the_own_class(fit):
    # label 0 scores p1 = 0.25: two of class 0's scores are >= 0.25, plus the row itself
    p_values = fit.p_values([0.25])
    assert p_values[0, 0] == pytest.approx(3 / 5)
    # label 1 scores 0.75: none of class 1's
    assert p_values[0, 1] == pytest.approx(1 / 6)


def test_sets_are_p_values_above_alpha(fit):
    new = np.linspace(0.01, 0.99, 50)
    expected = fit.p_values(new) > np.array([0.25, 0.2])
    np.testing.assert_array_equal(fit.predict(new).mask, expected)


def test_class_with_too_few_rows_is_named_and_always_in():
    labels = np.array(["a"] * 8 + ["b"])
    with pytest.warns(dfu.SmallCalibrationWarning, match="'b'.*At least 9 rows"):
        fit = dfu.label_conditional_conformal(
            P1, labels, alpha=0.1, classes=["a", "b"], score="lac"
        )
    assert np.isinf(fit.thresholds).tolist() == [True, True]  # 8 rows are too few too
    with pytest.warns(dfu.SmallCalibrationWarning, match="of class 'b':"):
        fit = dfu.label_conditional_conformal(
            P1, labels, alpha=0.2, classes=["a", "b"], score="lac"
        )
    assert np.isinf(fit.thresholds).tolist() == [False, True]
    assert fit.predict([0.01]).mask[0, 1]
    assert "always in the set" in str(fit)


def test_absent_class_is_legal():
    with pytest.warns(dfu.SmallCalibrationWarning, match="of class 2"):
        fit = dfu.label_conditional_conformal(
            np.full((40, 3), 1 / 3), [0, 1] * 20, alpha=0.1, rng=0
        )
    assert np.isinf(fit.thresholds[2])


def test_confidence_splits_delta_over_the_classes():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1], size=400)
    labels = rng.integers(0, 2, 400)
    fit = dfu.label_conditional_conformal(probs, labels, confidence=0.9, rng=1)
    expected = [bounds.pac_rank(int(n), 0.1, 0.05) for n in fit.class_counts]
    assert fit.ranks.tolist() == expected
    assert fit.guarantee.kind == "training-conditional"


def test_one_alpha_equals_the_same_for_each_class():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], size=300)
    labels = rng.integers(0, 3, 300)
    one = dfu.label_conditional_conformal(probs, labels, alpha=0.2, rng=1)
    each = dfu.label_conditional_conformal(probs, labels, alpha=[0.2] * 3, rng=1)
    np.testing.assert_array_equal(one.thresholds, each.thresholds)
    assert one.guarantee.lower == each.guarantee.lower == 0.8
    assert one.predict(probs).nominal == 0.8


@pytest.mark.parametrize(
    "alpha", [[0.1], [0.1, 1.0], [0.1, np.nan], "0.1", [[0.1, 0.2]]]
)
def test_bad_alpha_is_refused(alpha):
    with pytest.raises(dfu.InputError, match="'alpha' parameter"):
        dfu.label_conditional_conformal(P1, [0] * 9, alpha=alpha)
