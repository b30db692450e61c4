"""Where n and m stand, and how delta is split: samples of unequal size, by hand."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.anderson_rubin import AndersonRubin
from distfreeuq.label_shift.inference.delta_method import delta_intervals
from distfreeuq.label_shift.inference.finite_sample_regions import (
    exact_region,
    norm_region,
)
from distfreeuq.label_shift.inference.likelihood_delta_method import prior_noise
from distfreeuq.label_shift.inference.prior_distance import total_variation_bound
from distfreeuq.label_shift.inference.resampled_weights import refit_likelihood
from distfreeuq.label_shift.inference.shift_test import compare_counts
from distfreeuq.label_shift.linear_solution import invertibility
from distfreeuq.label_shift.scalings.bcts import fit_bcts
from tests.unit.label_shift.three_classes import draw

SIZES = [(200, 20_000), (20_000, 200)]


def drawn(n, m, seed=0):
    rng = np.random.default_rng(seed)
    probs, labels = draw(rng, n, [0.4, 0.4, 0.2], spread=0.7)
    return probs, labels, draw(rng, m, [0.3, 0.3, 0.4], spread=0.7)[0]


def delta_method(features, labels, target):
    """Return the covariance of C^-1 mu, differentiated numerically."""
    n, m, k = len(features), len(target), features.shape[1]
    products = features[:, :, None] * np.eye(k)[labels][:, None, :]
    source = products.reshape(n, k * k)
    at, mu = source.mean(axis=0), target.mean(axis=0)
    by_source = optimize.approx_fprime(
        at, lambda c: np.linalg.solve(c.reshape(k, k), mu), 1e-8
    )
    by_target = np.linalg.inv(at.reshape(k, k))
    return (
        by_source @ np.cov(source.T, bias=True) @ by_source.T / n
        + by_target @ np.cov(target.T, bias=True) @ by_target.T / m
    )


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("soft", [False, True])
def test_standard_errors_of_bbse_are_those_of_the_delta_method(n, m, soft):
    probs, labels, target = drawn(n, m)
    fit = dfu.bbse(probs, labels, target, soft=soft)
    if not soft:
        probs, target = (np.eye(3)[x.argmax(axis=1)] for x in (probs, target))
    want = delta_method(probs, labels, target)
    np.testing.assert_allclose(fit.covariance, want, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(fit.std_err, np.sqrt(np.diag(want)), rtol=1e-4)


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("soft", [False, True])
def test_resamples_have_the_spread_of_the_delta_method(n, m, soft):
    fit = dfu.bbse(*drawn(n, m), soft=soft)
    found = fit._resampled(300, np.random.default_rng(1), 1, False)
    # the normalisation takes a part of the spread away, the same for all of n and m
    ratio = np.nanstd(found, axis=0) / fit.std_err
    assert (ratio < 1.15).all()
    assert (ratio > 0.6).all()


@pytest.mark.parametrize(("n", "m"), [(300, 2000), (2000, 300)])
def test_resamples_of_mlls_have_the_spread_of_its_likelihood(n, m):
    # BCTS is fitted again to every resample: with few source rows it is most of it
    fit = dfu.mlls(*drawn(n, m))
    found = fit._resampled(80, np.random.default_rng(2), 1, False)
    want = np.sqrt(np.diag(fit.likelihood_covariance))
    np.testing.assert_allclose(np.std(found, axis=0), want, rtol=0.25)


@pytest.mark.parametrize("calibrate", ["bcts", "ts", "vs", "nbvs", None])
@pytest.mark.parametrize("prior", ["predictions", "labels"])
def test_rows_that_count_twice_are_two_rows(calibrate, prior):
    probs, labels, target = drawn(60, 90)
    rng = np.random.default_rng(4)
    twice = rng.multinomial(60, np.ones(60) / 60), rng.multinomial(90, np.ones(90) / 90)
    fit = dfu.mlls(probs, labels, target, calibrate=calibrate, prior=prior)
    found, _ = refit_likelihood(
        fit.samples,
        *(times * 1.0 for times in twice),
        calibration=fit.calibration,
        prior_from=prior,
    )
    source = np.repeat(np.arange(60), twice[0])
    again = dfu.mlls(
        probs[source],
        labels[source],
        np.repeat(target, twice[1], axis=0),
        calibrate=calibrate,
        prior=prior,
    )
    np.testing.assert_allclose(found, again.label_weight, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("calibrate", ["bcts", "ts", "vs", "nbvs", None])
@pytest.mark.parametrize("prior", ["predictions", "labels"])
def test_the_likelihood_s_covariance_is_that_of_its_influence_functions(
    calibrate, prior
):
    # how the weights move if one row counts a little more, and all others less
    n, m, step = 60, 90, 0.02
    fit = dfu.mlls(*drawn(n, m, 8), calibrate=calibrate, prior=prior)
    assert (fit.label_weight > 0.05).all()

    def moved(i, h):
        more = [np.ones(n), np.ones(m)]
        which, row = (0, i) if i < n else (1, i - n)
        more[which] -= h / more[which].size
        more[which][row] += h
        return refit_likelihood(
            fit.samples, *more, calibration=fit.calibration, prior_from=prior
        )[0]

    slopes = np.array([(moved(i, step) - moved(i, -step)) for i in range(n + m)])
    want = slopes.T @ slopes / (2 * step) ** 2
    found = fit.likelihood_covariance
    scale = np.sqrt(np.outer(np.diag(want), np.diag(want)))
    np.testing.assert_allclose(found / scale, want / scale, atol=0.01)


def test_a_class_that_no_drawn_row_has_is_absent_from_the_calibration():
    probs, labels, _ = drawn(200, 10)
    times = np.where(labels == 2, 0.0, 1.0)
    fit, kept = fit_bcts(probs, labels, times), labels != 2
    assert fit.bias[2] == -np.inf
    again = fit_bcts(probs[kept], labels[kept])
    assert fit.slope == pytest.approx(again.slope, abs=1e-5)
    np.testing.assert_allclose(fit.bias[:2], again.bias[:2], atol=1e-5)


def test_anderson_rubin_statistic_by_hand():
    joint, target = np.array([[50, 10], [30, 110]]), np.array([9, 21])
    confusion = Confusion(joint, target, 200, 30, False)
    w = np.array([0.7, 1.2])
    predicted, labels = (
        np.repeat(x.ravel(), joint.ravel()) for x in np.indices((2, 2))
    )
    source = np.eye(2)[predicted] * w[labels][:, None]
    own = np.eye(2)[np.repeat([0, 1], target)]
    noise = np.cov(source.T, bias=True) / 200 + np.cov(own.T, bias=True) / 30
    residual = source.mean(axis=0) - own.mean(axis=0)
    want = residual @ np.linalg.solve(noise, residual)
    assert AndersonRubin(confusion).statistic(w) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize(
    ("source", "target"), [([30, 9, 4], [5, 4, 6]), ([3, 4], [90, 20])]
)
def test_the_statistic_of_counts_is_pearson_s(source, target):
    want = stats.chi2_contingency([source, target], correction=False)
    test = compare_counts(np.array(source), np.array(target))
    assert test.statistic == pytest.approx(want.statistic)
    assert test.df == want.dof


def test_the_noise_of_mean_predictions_by_hand():
    probs, labels, target = drawn(50, 60)
    fit = dfu.mlls(probs, labels, target, calibrate=None)
    found = prior_noise(fit.confusion, probs.T @ probs, "predictions")
    np.testing.assert_allclose(found, np.cov(probs.T, bias=True), rtol=1e-9, atol=1e-15)
    found = prior_noise(fit.confusion, probs.T @ probs, "labels")
    want = np.cov(np.eye(3)[labels].T, bias=True)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-15)


def test_a_weight_at_zero_ends_where_the_likelihood_fell_by_half_of_alpha():
    slope = np.array([0.0, 8.0])
    covariance = np.diag([0.01, np.inf])
    ends = delta_intervals(np.array([1.0, 0.0]), covariance, slope, 2, 0.1)
    assert ends[1].tolist() == [0.0, pytest.approx(math.log(20.0) / 8.0)]


# ------------------------------------------------------------------- splits of delta


def test_every_cell_has_its_share_of_delta():
    joint, target = np.array([[50, 10], [30, 110]]), np.array([9, 21])
    region = exact_region(Confusion(joint, target, 200, 30, False), 0.06)
    # four cells of the confusion matrix and two of the target: 0.01 each
    lower, upper = bounds.clopper_pearson(joint, 200, 0.01)
    low, high = bounds.clopper_pearson(target, 30, 0.01)
    np.testing.assert_array_equal(region.lower, lower)
    np.testing.assert_array_equal(region.upper, upper)
    np.testing.assert_array_equal(region.mu_low, low)
    np.testing.assert_array_equal(region.mu_high, high)


def test_the_norm_region_by_hand():
    joint = np.array([[4000.0, 500.0], [300.0, 5200.0]])
    confusion = Confusion(joint, np.array([70.0, 130.0]), 10_000, 200, True)
    w = np.linalg.solve(joint / 10_000, [0.35, 0.65])
    # half of delta for each sample's mean vector
    noise = 1 + math.sqrt(2 * math.log(1 / 0.025))
    smallest = np.linalg.svd(joint / 10_000, compute_uv=False)[-1]
    assert invertibility(confusion).smallest == pytest.approx(smallest)
    radius = noise / math.sqrt(200) + w.max() * noise / math.sqrt(10_000)
    radius /= smallest - noise / math.sqrt(10_000)
    region = norm_region(confusion, 0.05)
    np.testing.assert_allclose(region.high, w + radius)
    np.testing.assert_allclose(region.low, np.maximum(w - radius, 0.0))


def test_ranges_keep_what_the_region_says_of_itself():
    for finite_sample in (False, True):
        region = dfu.Polytope(
            [[0.2, 0.1]], [[0.4, 0.2]], [0.4], [0.6], finite_sample, 0.1
        )
        assert region.ranges().finite_sample is finite_sample
        assert region.ranges().delta == 0.1


def test_the_total_variation_bound_is_never_exceeded():
    # many classes, so that no subsets are enumerated: the sums alone decide
    rng, k = np.random.default_rng(5), 9
    for _ in range(200):
        p = rng.dirichlet(np.ones(k))
        low, high = p * rng.uniform(0.6, 1.0, k), p * rng.uniform(1.0, 1.6, k)
        q = rng.dirichlet(np.ones(k))
        w = q / p
        used = w * rng.uniform(0.4, 2.0, k)
        box = dfu.Box(w * rng.uniform(0.7, 1.0, k), w * rng.uniform(1.0, 1.1, k), True)
        implied = used * p / (used @ p)
        distance = 0.5 * np.abs(implied - q).sum()
        assert total_variation_bound(used, box, low, high) >= distance - 1e-12
