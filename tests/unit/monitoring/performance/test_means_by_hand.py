"""Means over the target, their errors and intervals, from formulas written out."""

import math

import numpy as np
import pytest
from scipy import stats

import distfreeuq as dfu
from distfreeuq.bounds import unchecked
from distfreeuq.monitoring.performance.certificates import known_prior_interval
from distfreeuq.monitoring.performance.indicator_functions import (
    class_indicators,
    one_hot,
)
from distfreeuq.monitoring.performance.labelled_rows import combine
from distfreeuq.monitoring.performance.mean_intervals import (
    absolute_sum_interval,
    bounded_mean_interval,
)
from distfreeuq.monitoring.performance.target_means import (
    EstimatedPriors,
    GivenPriors,
)

K, N, M = 3, 90, 400


@pytest.fixture(scope="module")
def rows():
    """Samples of unequal size, predictions of 80 % accuracy, and a loss."""
    rng = np.random.default_rng(1)
    labels = rng.choice(K, p=[0.5, 0.3, 0.2], size=N)
    said = np.where(rng.random(N) < 0.8, labels, rng.integers(K, size=N))
    new = rng.choice(K, p=[0.2, 0.3, 0.5], size=M)
    return labels, said, new, 0.4 * labels + 0.2 * rng.random(N)


def stratified(values, labels, weight, extra):
    """Sum of w_j^2 Var_j / n_j; each Var_j mixed with that of all as `extra` rows."""
    means = np.array([values[labels == j].mean() for j in range(K)])
    inner = values - means[labels]
    pool = (inner @ inner + np.ptp(values) ** 2 / 4.0) / (N - K)
    total = 0.0
    for j in range(K):
        own = inner[labels == j]
        spread = (own @ own + extra * pool) / (own.size - 1.0 + extra)
        total += weight[j] ** 2 * spread / own.size
    return total


def test_the_variance_with_estimated_proportions(rows):
    labels, said, new, loss = rows
    phi = class_indicators(one_hot(said, K), labels, one_hot(new, K), K)
    found = EstimatedPriors(labels, phi).estimate(loss[:, None], np.zeros((M, 1)))
    means = np.array([loss[labels == j].mean() for j in range(K)])
    h, h_target, q = phi.source @ means, phi.target @ means, phi.prior
    noise = np.zeros(K)
    for k in range(K):
        for j in range(K):
            off = phi.source[labels == j, k] - (j == k)
            noise[k] += (q[j] / off.size) ** 2 * (off @ off)
        noise[k] += phi.target[:, k].var() / M
    of_source = stratified(loss - h, labels, q, 10.0)
    of_target = h_target.var(ddof=1) / M
    second = stratified(h, labels, np.sqrt(noise), 0.0)
    assert found.values[0] == pytest.approx(h_target.mean())
    assert found.covariance[0, 0] == pytest.approx(of_source + of_target + second)
    assert min(of_source, of_target, second) > 1e-6


def test_the_variance_with_given_proportions(rows):
    labels, _, new, loss = rows
    prior, known = np.array([0.2, 0.3, 0.5]), (new == 1) * 0.7
    found = GivenPriors(labels, prior).estimate(loss[:, None], known[:, None])
    expected = stratified(loss, labels, prior, 10.0) + known.var(ddof=1) / M
    assert found.covariance[0, 0] == pytest.approx(expected)


def maurer_pontil(values, weight, bound, delta):
    mean = weight @ values / weight.sum()
    error = weight * (values - mean)
    n = values.size
    log = math.log(4.0 / delta)
    radius = math.sqrt(2.0 * error.var(ddof=1) * log / n) + 7.0 * bound * log / (
        3.0 * (n - 1)
    )
    room = weight.mean() - math.sqrt(2.0 * weight.var(ddof=1) * log / n)
    return mean, radius / room


def chernoff(values, weight, bound, delta):
    n, mass = values.size, weight.mean()
    mean = weight @ values / weight.sum()
    low, high = unchecked.weighted_chernoff([n], [mean], [mass], bound, delta)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize("n", [4000, 100])
def test_weighted_means_have_the_common_part_of_two_intervals(n):
    """Each has half of delta; the one or the other is shorter."""
    rng = np.random.default_rng(2)
    values = 0.5 + 0.1 * (rng.random(n) - 0.5)
    weight = rng.uniform(0.2, 2.0, n)
    low, high = bounded_mean_interval(values, weight, 2.5, 0.0, 1.0, 0.1)
    mean, radius = maurer_pontil(values, weight, 2.5, 0.05)
    start, stop = chernoff(values, weight, 2.5, 0.05)
    assert (mean + radius < stop) == (n > 1000)
    assert low == pytest.approx(max(start, mean - radius))
    assert high == pytest.approx(min(stop, mean + radius))


def test_equal_weights_below_their_bound_are_no_shares():
    """Clopper and Pearson's interval is for weights that are all at the bound."""
    hits = np.repeat([0.0, 1.0], [20, 30])
    low, high = bounded_mean_interval(hits, np.full(50, 0.5), 2.0, 0.0, 1.0, 0.1)
    start, stop = chernoff(hits, np.full(50, 0.5), 2.0, 0.05)
    assert (low, high) == pytest.approx((start, stop))
    exact = unchecked.clopper_pearson(30.0, 50, 0.1)
    assert low < float(exact[0]) and high > float(exact[1])


def test_the_interval_of_a_sum_of_absolute_values():
    gaps = np.array([0.2, -0.1])
    covariance = np.array([[1e-4, -4e-5], [-4e-5, 4e-4]])
    z = stats.norm.ppf(0.95)
    half = z * math.sqrt(1e-4 + 4e-4 + 8e-5)
    noise = math.sqrt(2.0 / math.pi) * (0.01 + 0.02)
    expected = 0.3 - noise - half, 0.3 + half
    assert absolute_sum_interval(gaps, covariance, 0.1) == pytest.approx(expected)


def test_the_labelled_rows_are_among_the_target_s():
    """The weights of least variance, found here on a grid."""
    rng = np.random.default_rng(3)
    h = rng.random(50)
    labelled_h, losses = h[:20], np.clip(h[:20] + rng.normal(0.0, 0.1, 20), 0.0, 1.0)
    variance, width = 0.004, 1.0
    found = combine(variance, losses, h, labelled_h, width)
    r, m = 20, 50
    spread = (np.square(losses - losses.mean()).sum() + 0.25) / (r - 1)
    both = np.sum((losses - losses.mean()) * (labelled_h - labelled_h.mean())) / (r - 1)
    of_h = h.var()
    slope = both / of_h
    own = losses.mean() - slope * (labelled_h.mean() - h.mean())
    # Var(mean l - slope (mean h of r - mean h of m)), the r rows among the m
    of_own = spread / r - both**2 / of_h * (1.0 / r - 1.0 / m)
    share = np.linspace(0.0, 1.0, 10_001)
    total = (
        (1 - share) ** 2 * variance
        + share**2 * of_own
        + 2 * share * (1 - share) * both / m
    )
    assert found.own == pytest.approx(own)
    assert found.share == pytest.approx(share[total.argmin()], abs=1e-3)
    assert found.variance == pytest.approx(total.min(), rel=1e-4)


def probs_of(said):
    return 0.7 * one_hot(said, K) + 0.1


def test_a_precision_has_half_of_delta_for_either_mean(rows):
    labels, said, new, _ = rows
    prior = np.array([0.2, 0.3, 0.5])
    known = dfu.label_weights([0.5, 0.3, 0.2], prior)
    result = dfu.target_performance(
        probs_of(said),
        labels,
        probs_of(new),
        shift=known,
        metrics="precision",
        delta=0.1,
    )
    for k in range(K):
        hits = ((said == labels) & (said == k)) * 1.0
        low, high = known_prior_interval(hits, 0.0, 1.0, labels, prior, 0.05)
        least, most = unchecked.clopper_pearson(float((new == k).sum()), M, 0.05)
        ends = result.certified_low[k], result.certified_high[k]
        assert ends == pytest.approx((low / most, min(high / least, 1.0)))


def test_labelled_rows_have_half_of_delta(rows):
    labels, said, new, _ = rows
    some = np.full(M, np.nan)
    some[:40] = np.where(np.arange(40) % 4, new[:40], (new[:40] + 1) % K)
    result = dfu.target_performance(
        probs_of(said),
        labels,
        probs_of(new),
        shift=np.ones(K),
        labels_target=some,
        metrics="accuracy",
        delta=0.1,
    )
    of_source = unchecked.clopper_pearson(float((said == labels).sum()), N, 0.05)
    of_target = unchecked.clopper_pearson(30.0, 40, 0.05)
    assert result.certified_low[0] == pytest.approx(max(of_source[0], of_target[0]))
    assert result.certified_high[0] == pytest.approx(min(of_source[1], of_target[1]))


def test_the_bound_of_class_weights_is_that_of_all_classes(rows):
    """The rows at hand may lack the class of the largest weight."""
    labels, said, new, _ = rows
    few = labels < 2
    weights = np.array([0.5, 1.0, 4.0])
    result = dfu.target_performance(
        probs_of(said[few]), labels[few], probs_of(new), shift=weights,
        metrics="accuracy", delta=0.1,
    )  # fmt: skip
    hits = (said[few] == labels[few]) * 1.0
    own = bounded_mean_interval(hits, weights[labels[few]], 4.0, 0.0, 1.0, 0.1)
    assert (result.certified_low[0], result.certified_high[0]) == pytest.approx(own)


def test_the_likelihood_is_clipped_where_it_is_said():
    probs = np.array([[1.0, 0.0], [0.5, 0.5]])
    result = dfu.target_performance(
        probs, [1, 0], probs, shift=np.ones(2), metrics="nll"
    )
    assert result["nll"] == pytest.approx((math.log(1e6) + math.log(2.0)) / 2.0)
