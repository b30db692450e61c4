"""Moment equations: what they solve, their standard errors, their intervals."""

import warnings

import numpy as np
import pytest
from scipy import optimize, special

import distfreeuq as dfu
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.data import Samples
from distfreeuq.label_shift.inference.hausman_test import compare_estimates
from distfreeuq.label_shift.inference.moment_estimate import (
    PSEUDO_ROWS,
    MomentEstimate,
    moments_of_posteriors,
    moments_of_predictions,
)
from distfreeuq.label_shift.inference.moments.counted_moments import moments_of_counts
from distfreeuq.label_shift.inference.score_intervals import score_box, score_ends
from distfreeuq.label_shift.scalings.bcts import fit_bcts


def rows(rng, size, prior, bias=(1.0, 1.0, 1.0)):
    """Draw outputs of a classifier that is not calibrated, and labels."""
    labels = rng.choice(len(prior), p=prior, size=size)
    scores = rng.normal(2.0 * np.eye(len(prior))[labels])
    probs = special.softmax(scores + np.log(bias), axis=1)
    return probs, labels


def samples(seed=0, n=400, m=900):
    rng = np.random.default_rng(seed)
    probs, labels = rows(rng, n, [0.2, 0.3, 0.5], [3.0, 1.0, 0.5])
    return Samples(probs, labels, rows(rng, m, [0.6, 0.3, 0.1], [3.0, 1.0, 0.5])[0])


def means(h, labels):
    return np.column_stack([h[labels == k].mean(axis=0) for k in range(3)])


# ---------------------------------------------------------------------- the estimate


def test_the_equations_of_posteriors_are_solved():
    data, q = samples(), np.array([0.5, 0.3, 0.2])
    estimate, _ = moments_of_posteriors(data.rows, q)
    p = np.bincount(data.labels) / 400
    start = (400 * q + 3 * p) / 403  # a row of each class, of the smaller sample's 400
    h, target = (
        f * (start / p) / (f @ (start / p))[:, None]
        for f in (data.probs, data.probs_target)
    )
    want = np.linalg.solve(means(h, data.labels), target.mean(axis=0))
    np.testing.assert_allclose(estimate.prior, want, rtol=1e-10)
    assert estimate.prior.sum() == pytest.approx(1.0)


def test_predictions_give_the_weights_of_bbse():
    data = samples()
    soft = dfu.bbse(data.probs, data.labels, data.probs_target, soft=True)
    hard = dfu.bbse(data.probs, data.labels, data.probs_target)
    for fit in (soft, hard):
        found = fit.moments.prior / fit.moments.source_prior
        np.testing.assert_allclose(found, fit.raw, rtol=1e-9)


def test_class_variances_by_hand():
    # two rows of class 0 and three of class 1; one of the latter is predicted 0
    confusion = Confusion(np.array([[2, 1], [0, 2]]), np.array([3, 1]), 5, 4, False)
    estimate = moments_of_counts(confusion)
    # A = [[1, 1/3], [0, 2/3]], its inverse [[1, -1/2], [0, 3/2]]: phi_0 is 1 or -1/2
    np.testing.assert_allclose(estimate.prior, [0.625, 0.375])
    # class 1: phi_0 is 1, -1/2, -1/2 around 0: squares 1 + 1/4 + 1/4
    # at its word: 5 of 7 are the predicted class, 2 of 7 of the prior (2/5, 3/5);
    # weights of rows predicted 0 and 1: 3 (2/7)(3/5) and 2 (5/7) + 2 (2/7)(3/5)
    a, b = 3 * 2 / 7 * 3 / 5, 2 * 5 / 7 + 2 * 2 / 7 * 3 / 5
    share = a / (a + b)
    said = share * (1 - share) * 1.5**2
    own = 1.5 / 2
    assert said < own  # so the class's own rows decide
    want = (1.5 + PSEUDO_ROWS * own) / (2 + PSEUDO_ROWS)
    assert estimate.class_variance[0, 1] == pytest.approx(want)
    # class 0 shows none: ten rows' worth of what is said, beside its one free row
    a, b = 3 * 5 / 7 + 3 * 2 / 7 * 2 / 5, 2 * 2 / 7 * 2 / 5
    said = a * b / (a + b) ** 2 * 1.5**2
    want = PSEUDO_ROWS * said / (1 + PSEUDO_ROWS)
    assert estimate.class_variance[0, 0] == pytest.approx(want)


def test_target_variances_by_hand():
    # phi_0 of the four target rows is 1, 1, 1 and -1/2; phi_1 is one less phi_0
    confusion = Confusion(np.array([[2, 1], [0, 2]]), np.array([3, 1]), 5, 4, False)
    phi = np.array([1.0, 1.0, 1.0, -0.5])
    found = moments_of_counts(confusion).target_variance
    np.testing.assert_allclose(found, [phi.var(ddof=1)] * 2)
    # the same rows as probabilities
    probs, labels = np.eye(2)[[0, 0, 0, 1, 1]], np.array([0, 0, 1, 1, 1])
    target = np.eye(2)[[0, 0, 0, 1]]
    soft = moments_of_predictions(
        Samples(probs, labels, target).rows, target.T @ target
    )
    np.testing.assert_allclose(soft.target_variance, [phi.var(ddof=1)] * 2)


def test_standard_errors_are_those_of_the_delta_method():
    # an independent derivation: w as a function of all sample means, differentiated by
    # hand below, with the features held fixed; many rows, so that the ten that are
    # mixed in do not matter
    data, q = samples(n=40_000, m=9000), np.array([0.6, 0.3, 0.1])
    _, covariance = moments_of_posteriors(data.rows, q)
    n, m, y = 40_000, 9000, data.labels
    p = np.bincount(y) / n
    start = (m * q + 3 * p) / (m + 3)
    h, target = (
        f * (start / p) / (f @ (start / p))[:, None]
        for f in (data.probs, data.probs_target)
    )

    def weights(mean_of_products, frequencies, mean_target):
        a = mean_of_products.reshape(3, 3) / frequencies
        return np.linalg.solve(a, mean_target) / frequencies

    products = (h[:, :, None] * np.eye(3)[y][:, None, :]).reshape(n, 9)
    source = np.column_stack([products, np.eye(3)[y]])
    at = source.mean(axis=0)
    by_source = optimize.approx_fprime(
        at, lambda s: weights(s[:9], s[9:], target.mean(axis=0)), 1e-7
    )
    by_target = optimize.approx_fprime(
        target.mean(axis=0), lambda t: weights(at[:9], at[9:], t), 1e-7
    )
    want = by_source @ np.cov(source.T) @ by_source.T / n
    want += by_target @ np.cov(target.T) @ by_target.T / m
    np.testing.assert_allclose(
        np.sqrt(np.diag(covariance)), np.sqrt(np.diag(want)), rtol=2e-3
    )
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    np.testing.assert_allclose(covariance / scale, want / scale, atol=5e-3)


@pytest.mark.slow
def test_standard_errors_are_the_spread_of_fits():
    # BCTS, the likelihood's maximum and all, with n twice m
    rng, prior = np.random.default_rng(7), ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2])
    found, errors = [], []
    for _ in range(400):
        probs, labels = rows(rng, 3000, prior[0], [3.0, 1.0, 0.5])
        fit = dfu.mlls(probs, labels, rows(rng, 1500, prior[1], [3.0, 1.0, 0.5])[0])
        found.append(fit.moments.prior / fit.moments.source_prior)
        errors.append(fit.std_err)
    spread = np.std(found, axis=0, ddof=1)
    # the spread of 400 has a relative standard error of 0.035
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.15)
    np.testing.assert_allclose(
        np.mean(found, axis=0), np.array(prior[1]) / prior[0], rtol=0.01
    )


# --------------------------------------------------------------------- the intervals


def perfect(counts, target):
    """Return the estimate of a classifier without errors: nothing but two multinomials
    is left of the noise."""
    counts, target = np.array(counts, dtype=float), np.array(target, dtype=float)
    k, m = counts.size, int(target.sum())
    q = target / m
    reach = np.tile([0.0, 1.0], (k, 1))
    p, none = counts / counts.sum(), np.zeros((k, k))
    return MomentEstimate(q, p, none, q * (1 - q), reach, counts, m)


def test_intervals_of_a_perfect_classifier_by_hand():
    # half of very many source rows: p is known, and x p has Wilson's interval
    estimate = perfect([10**9, 10**9], [30, 70])
    z, m = special.ndtri(0.95), 100
    for q, (low, high) in zip([0.3, 0.7], score_ends(estimate, 0.1), strict=True):
        center = (q + z**2 / (2 * m)) / (1 + z**2 / m)
        half = z / (1 + z**2 / m) * np.sqrt(q * (1 - q) / m + z**2 / (4 * m**2))
        assert low == pytest.approx((center - half) / 0.5, rel=1e-6)
        assert high == pytest.approx((center + half) / 0.5, rel=1e-6)


def test_an_estimate_of_zero_has_an_interval():
    estimate = perfect([10**9, 10**9], [0, 50])
    z = special.ndtri(0.975)
    low, high = score_ends(estimate, 0.05)[0]
    assert low == 0.0
    assert high == pytest.approx(2 * z**2 / (50 + z**2), rel=1e-6)
    # and so does one that is clipped: BBSE solves for a negative weight
    rng = np.random.default_rng(0)
    right = rng.random(4000) < 0.8
    guesses = np.where(right, np.arange(4000) % 2, 1 - np.arange(4000) % 2)
    fit = dfu.bbse(
        np.eye(2)[guesses], np.arange(4000) % 2, np.eye(2)[np.ones(500, int)]
    )
    assert fit.raw[0] < -3 * fit.std_err[0]
    assert 0.0 < fit.confint()[0, 1] < 0.3
    assert "[0.0000, 0.0000]" not in str(fit)


def test_the_region_spends_delta_over_the_classes_of_the_source():
    estimate, _ = moments_of_posteriors(samples().rows, np.array([0.5, 0.3, 0.2]))
    np.testing.assert_array_equal(score_box(estimate, 0.3), score_ends(estimate, 0.1))
    # of four classes one has no source rows: three intervals, and one without bounds
    counts, target = [40, 30, 0, 30], [10, 20, 0, 30]
    box = score_box(perfect(counts, target), 0.3)
    np.testing.assert_array_equal(box, score_ends(perfect(counts, target), 0.1))
    np.testing.assert_array_equal(box[2], [0.0, np.inf])
    fit = dfu.mlls(*_arrays(samples()))
    ranges = fit.region(0.3).ranges()
    np.testing.assert_array_equal(
        np.column_stack([ranges.low, ranges.high]), fit.confint(0.1)
    )


def test_more_rows_make_shorter_intervals():
    width = [
        np.diff(score_ends(moments_of_posteriors(samples(n=n, m=m).rows, Q)[0], 0.05))
        for n, m in ((400, 900), (400, 9000), (8000, 900), (8000, 18_000))
    ]
    assert (width[1] < width[0]).all()
    assert (width[2] < width[0]).all()
    assert (width[3] < 0.3 * width[0]).all()


Q = np.array([0.6, 0.3, 0.1])


def _arrays(data):
    return data.probs, data.labels, data.probs_target


# ----------------------------------------------------------- what is not identified


def test_a_class_that_is_told_too_badly_has_the_whole_range():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], [40, 30, 30])
    probs = special.softmax(
        rng.normal(size=(100, 3)) + 4.0 * np.eye(3)[np.minimum(labels, 1)], axis=1
    )
    fit = dfu.mlls(probs, labels, probs[::2])
    low, high = fit.confint().T
    np.testing.assert_array_equal(low[1:], 0.0)
    assert (high[1:] > 1 / fit.source_prior[1:]).all()
    assert high[0] < 2.0


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("m", [1, 5])
@pytest.mark.parametrize("k", [2, 3, 100])
def test_few_rows_give_wide_intervals_and_no_error(n, m, k):
    rng = np.random.default_rng(n * m * k)
    probs, labels = rng.dirichlet(np.ones(k), n), rng.integers(0, k, n)
    target = rng.dirichlet(np.ones(k), m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        fits = [
            dfu.mlls(probs, labels, target),
            dfu.mlls(probs, labels, target, calibrate=None),
            dfu.rlls(probs, labels, target),
            dfu.bbse(probs, labels, target, soft=True),
        ]
    for fit in fits:
        ends = fit.confint()
        assert not np.isnan(ends).any()
        assert (ends[:, 0] >= 0).all()
        assert (ends[:, 1] > ends[:, 0]).all()
        assert np.isinf(ends[fit.source_counts == 0, 1]).all()
        assert np.isfinite(ends[fit.source_counts > 0, 1]).all()
        assert not np.isnan(fit.std_err).any()
        assert str(fit)


def test_single_precision_and_blocks_of_rows_change_little():
    data = samples(n=20_000, m=500)
    single = Samples(
        data.probs.astype(np.float32),
        data.labels,
        data.probs_target.astype(np.float32),
    )
    gram = data.probs_target.T @ data.probs_target
    for found, want in (
        (
            moments_of_posteriors(single.rows, Q)[0],
            moments_of_posteriors(data.rows, Q)[0],
        ),
        (
            moments_of_predictions(single.rows, gram),
            moments_of_predictions(data.rows, gram),
        ),
    ):
        np.testing.assert_allclose(found.prior, want.prior, rtol=1e-4)
        np.testing.assert_allclose(found.class_variance, want.class_variance, rtol=1e-3)


# ---------------------------------------------------------- weights outside, and tests


def distorted(f):
    """What no temperature and bias undo."""
    power = 0.3 + 2.5 * f[:, :1]
    g = np.maximum(f, 1e-12) ** power
    return g / g.sum(axis=1, keepdims=True)


def test_a_weight_outside_its_interval_is_told():
    rng = np.random.default_rng(2)
    probs, labels = rows(rng, 20_000, [0.2, 0.3, 0.5])
    target, _ = rows(rng, 20_000, [0.6, 0.3, 0.1])
    fit = dfu.mlls(distorted(probs), labels, distorted(target))
    low, high = fit.confint().T
    outside = (fit.label_weight < low) | (fit.label_weight > high)
    assert outside.any()
    assert "calibration after BCTS is doubtful there" in fit.notes[-1]
    for k in range(3):
        assert (str(k) in fit.notes[-1]) == outside[k]
    truth = np.array([3.0, 1.0, 0.2])
    assert ((low <= truth) & (truth <= high)).all()
    assert fit.calibration_test.p_value == fit.calibration_test.floor == 0.005
    assert "Calibration after BCTS:" in str(fit)
    assert "p <= 0.005" in str(fit)


def test_calibration_is_not_tested_where_nothing_depends_on_it():
    f = np.array([[0.5, 0.5]] * 6)
    with pytest.warns(dfu.IdentificationWarning):
        fit = dfu.mlls(f, [0, 1] * 3, f)
    assert fit.calibration_test.p_value == 1.0
    np.testing.assert_array_equal(fit.calibration_test.gap, 0.0)


def test_the_gap_is_the_difference_of_the_two_estimates():
    data = samples(n=5000, m=5000)
    fit = dfu.mlls(
        *map(distorted, (data.probs,)), data.labels, distorted(data.probs_target)
    )
    want = fit.moments.prior - fit.target_prior
    np.testing.assert_allclose(
        fit.calibration_test.gap, want, atol=0.25 * abs(want).max()
    )


def test_the_gap_of_other_labels_is_that_of_bcts_fitted_to_them():
    # in the first order, which is how drawn labels are treated
    data = samples(n=8000, m=500)
    fit = dfu.mlls(*_arrays(data))
    w, old = fit.label_weight, fit.calibration
    g = old.apply(data.probs)
    rng = np.random.default_rng(0)
    labels = (g.cumsum(axis=1) < rng.random((len(g), 1))).sum(axis=1)
    other = Samples(data.probs, labels, data.probs_target).rows
    new = fit_bcts(data.probs, labels)
    found = compare_estimates(other.calibrated(old.apply), old, w).gap
    want = compare_estimates(other.calibrated(new.apply), new, w).gap
    without = compare_estimates(other.calibrated(old.apply), None, w).gap
    np.testing.assert_allclose(found, want, atol=0.3 * abs(without - want).max())


def test_a_classifier_without_errors_is_calibrated():
    # labels drawn from it are always the same: every gap is that of the rows
    labels = np.repeat([0, 1, 2], [20, 30, 50])
    data = np.eye(3)[labels], labels, np.eye(3)[labels[10:60]]
    assert dfu.mlls(*data, calibrate=None).calibration_test.p_value == 1.0


def test_the_same_rows_print_the_same_bytes():
    data = _arrays(samples())
    assert str(dfu.mlls(*data)) == str(dfu.mlls(*data))
    fit = dfu.mlls(*data)
    assert fit.test() == dfu.mlls(*data).test()
    assert fit.test(rng=1) == fit.test(rng=1)


def test_likelihood_intervals_are_those_of_mlls_alone():
    data = _arrays(samples())
    with pytest.raises(dfu.InputError, match="method"):
        dfu.bbse(*data).confint(method="likelihood")
    assert dfu.mlls(*data).confint(method="likelihood").shape == (3, 2)
