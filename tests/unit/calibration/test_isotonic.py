"""Isotonic calibration by hand, and against scikit-learn."""

import numpy as np
import pytest

import distfreeuq as dfu


def test_pool_adjacent_violators_by_hand():
    """Labels 0 1 0 | 1 1 0 | 1: the middle pools to 1/2 and to 2/3."""
    probs = [0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.9]
    fit = dfu.isotonic_calibration(probs, [0, 1, 0, 1, 1, 0, 1])
    fitted = fit.predict(probs)[:, 1]
    np.testing.assert_allclose(fitted, [0, 1 / 2, 1 / 2, 2 / 3, 2 / 3, 2 / 3, 1])
    assert fit.n_blocks == (4,)
    assert fit.knots[0].tolist() == [0.1, 0.2, 0.3, 0.5, 0.7, 0.9]


def test_between_knots_linear_beyond_them_constant():
    fit = dfu.isotonic_calibration([0.2, 0.4], [0, 1])
    np.testing.assert_allclose(
        fit.predict([0.0, 0.2, 0.25, 0.4, 1.0])[:, 1], [0, 0, 0.25, 1, 1]
    )


def test_tied_probabilities_are_pooled_first():
    fit = dfu.isotonic_calibration([0.3, 0.3, 0.3, 0.8], [1, 0, 0, 1])
    assert fit.predict([0.3])[0, 1] == pytest.approx(1 / 3)


def test_weights_by_hand():
    """1 (weight 1) before 0 (weight 3) pools to 1/4."""
    fit = dfu.isotonic_calibration([0.3, 0.6], [1, 0], sample_weight=[2.0, 6.0])
    np.testing.assert_allclose(fit.predict([0.3, 0.6])[:, 1], 0.25)
    dropped = dfu.isotonic_calibration(
        [0.3, 0.6, 0.5], [1, 0, 1], sample_weight=[1, 3, 0]
    )
    assert dropped.knots[0].tolist() == fit.knots[0].tolist()


def multiclass(seed, n=400, n_classes=4):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(n_classes, 0.7), n)
    sharp = probs**1.6
    labels = np.array([rng.choice(n_classes, p=row / row.sum()) for row in sharp])
    return probs, labels, rng.exponential(size=n)


def test_equals_scikit_learn_binary():
    isotonic = pytest.importorskip("sklearn.isotonic")
    probs, labels, weights = multiclass(0, n_classes=2)
    x = probs[:, 1]
    other = isotonic.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    other.fit(x, labels, sample_weight=weights)
    fit = dfu.isotonic_calibration(probs, labels, sample_weight=weights)
    grid = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(fit.predict(grid)[:, 1], other.predict(grid), atol=1e-12)


def test_equals_scikit_learn_one_against_all():
    calibration = pytest.importorskip("sklearn.calibration")
    frozen = pytest.importorskip("sklearn.frozen")
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):
        """Its features are its probabilities."""

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.asarray(X)

        def predict(self, X):
            return np.argmax(X, axis=1)

    probs, labels, _ = multiclass(1)
    other = calibration.CalibratedClassifierCV(
        frozen.FrozenEstimator(Given().fit(probs, labels)), method="isotonic"
    )
    other.fit(probs, labels)
    fit = dfu.isotonic_calibration(probs, labels)
    new = multiclass(2)[0]
    np.testing.assert_allclose(fit.predict(new), other.predict_proba(new), atol=1e-12)


def test_a_row_on_which_all_curves_are_zero_becomes_uniform():
    """Each class's curve is 0 up to 0.4, and 1 from 0.6 on."""
    rows = [[0.4, 0.6, 0.0], [0.0, 0.4, 0.6], [0.6, 0.0, 0.4]]
    fit = dfu.isotonic_calibration(rows, [1, 2, 0])
    np.testing.assert_allclose(fit.predict(rows), np.eye(3)[[1, 2, 0]])
    np.testing.assert_allclose(fit.predict([[0.34, 0.33, 0.33]]), 1 / 3)
    np.testing.assert_allclose(fit.predict([[0.5, 0.5, 0.0]]), [[0.5, 0.5, 0.0]])


def test_the_likelihood_of_exact_zeros_is_told_as_infinite():
    fit = dfu.isotonic_calibration([[1.0, 0.0], [0.4, 0.6], [0.5, 0.5]], [1, 1, 0])
    assert fit.loss_before == np.inf
    assert fit.loss_after < np.inf


def test_a_class_without_rows_keeps_its_probabilities():
    probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.5, 0.1, 0.4]])
    with pytest.warns(dfu.IdentificationWarning, match=r"labelled 2 \(1 of 3 classes"):
        fit = dfu.isotonic_calibration(probs, [0, 1, 0])
    # curves of 0 and 1 are 1, 0, 1 and 0, 1, 0; that of 2 is the identity
    expected = np.array([[1.0, 0.0, 0.1], [0.0, 1.0, 0.2], [1.0, 0.0, 0.4]])
    np.testing.assert_allclose(
        fit.predict(probs), expected / expected.sum(axis=1, keepdims=True)
    )
    assert fit.n_blocks[2] == 0
    with pytest.warns(dfu.IdentificationWarning, match="labelled 0"):
        fit = dfu.isotonic_calibration([0.3, 0.6], [1, 1])
    np.testing.assert_allclose(fit.predict([0.3, 0.8])[:, 1], [0.3, 0.8])


def test_probabilities_are_checked():
    with pytest.raises(dfu.InputError, match="sum to one"):
        dfu.isotonic_calibration([[0.5, 0.6]], [0])
    with pytest.raises(dfu.InputError, match="n >= 1"):
        dfu.isotonic_calibration(np.zeros((0, 2)), [])


def test_an_impossible_row_without_weight_does_not_count():
    scores, labels = [0.1, 0.4, 0.6, 0.9, 0.95], [0, 1, 0, 1, 0]
    fit = dfu.isotonic_calibration(scores, labels, sample_weight=[1, 1, 1, 1, 0])
    assert fit.predict([0.95])[0, 1] == 1.0
    assert fit.loss_after == pytest.approx(0.5 * np.log(2))
    with_weight = dfu.isotonic_calibration(scores[:4], labels[:4])
    assert with_weight.loss_after == fit.loss_after


def test_probabilities_a_subnormal_distance_apart():
    tiny = np.nextafter(0.0, 1.0)
    fit = dfu.isotonic_calibration(np.array([0.0, tiny] * 2), [0, 1] * 2)
    assert fit.predict([0.0, tiny, 0.5])[:, 1].tolist() == [0.0, 1.0, 1.0]


def test_three_classes_of_which_one_has_underflown():
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 1e-310, 0.0], [0.0, 0.0, 1.0]] * 2)
    fit = dfu.isotonic_calibration(rows, [0, 1, 2] * 2)
    assert fit.predict(rows[:3])[1].argmax() == 1
    assert not np.isnan(fit.predict(rows)).any()
    # half of the rows with a first probability of 1 are of class 0
    assert fit.predict(rows[:3])[0].tolist() == [1.0, 0.0, 0.0]
