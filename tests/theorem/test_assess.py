"""The calibration test is exact, the debiased error unbiased, the intervals cover."""

import numpy as np
import pytest
from scipy import stats

from distfreeuq.assessment.bootstrap import intervals, resample
from distfreeuq.assessment.classifier_assessment import assess
from distfreeuq.assessment.classifier_comparison import compare
from distfreeuq.assessment.measures import bin_rows
from distfreeuq.assessment.monte_carlo_test import calibration_test
from distfreeuq.metrics.bins import debiased_square
from distfreeuq.metrics.data import Rows
from tests.theorem.binomial import Judge, RefutedError

pytestmark = pytest.mark.slow

N_BINS = 10


def rows_of(confidence, hits, n_bins=N_BINS):
    weights = np.ones(confidence.size)
    rows = Rows(confidence, hits.astype(np.uint8), weights, 1.0)
    return bin_rows(rows, n_bins, "equal-width", by_class=False)


def p_values(shift, n=60, n_rep=1000, n_sim=99):
    """Return p-values where the truth is the confidence less `shift`."""
    rng = np.random.default_rng(11)
    out = np.empty(n_rep)
    for r in range(n_rep):
        confidence = rng.uniform(0.5, 1.0, n)
        hits = rng.random(n) < confidence - shift
        out[r] = calibration_test(rows_of(confidence, hits), n_sim, rng).p_value
    return out


def judge_uniform(values, n_sim=99):
    """Claim that p-values are uniform on 1/100, ..., 1: at five levels exactly."""
    judge = Judge(claims=5)
    for level in (0.05, 0.1, 0.25, 0.5, 0.9):
        judge.exactly(int((values <= level + 1e-9).sum()), values.size, level)


def test_p_value_is_uniform_under_calibration():
    judge_uniform(p_values(0.0))


def test_uniformity_is_refuted_for_an_overconfident_classifier():
    with pytest.raises(RefutedError):
        judge_uniform(p_values(0.05))


@pytest.fixture(scope="module")
def simulated_squares():
    """Return estimates with fixed bins by method, and the true squared error."""
    rng = np.random.default_rng(3)
    n, n_rep, n_bins = 80, 20_000, 2
    confidence = rng.random((n_rep, n))
    truth = confidence**1.5
    hits = rng.random((n_rep, n)) < truth
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gap = confidence - hits
    sums = np.zeros((n_rep, n_bins, 5))
    for m in range(n_bins):
        there = bins == m
        parts = (there, confidence * there, hits & there, there, gap**2 * there)
        sums[:, m] = np.column_stack([part.sum(axis=1) for part in parts])
    # E[c - c^1.5 | bin] by integration
    ends = np.arange(n_bins + 1) / n_bins
    mean = n_bins * np.diff(ends**2 / 2 - ends**2.5 / 2.5)
    plain = (((sums[..., 1] - sums[..., 2]) ** 2) / sums[..., 0]).sum(axis=1) / n
    found = {method: debiased_square(sums, method) for method in ("exact", "kumar")}
    return {**found, "plain": plain}, float((mean**2).mean())


def z_score(sample, truth):
    return (sample.mean() - truth) / (sample.std(ddof=1) / np.sqrt(sample.size))


def test_debiased_square_is_unbiased(simulated_squares):
    estimates, truth = simulated_squares
    assert abs(z_score(estimates["exact"], truth)) < stats.norm.isf(0.5e-6)


@pytest.mark.parametrize("method", ["plain", "kumar"])
def test_bias_of_the_others_is_seen(simulated_squares, method):
    # plain squares are too large; the variance of hits alone is not that of gaps
    estimates, truth = simulated_squares
    assert abs(z_score(estimates[method], truth)) > stats.norm.isf(0.5e-6)


def coverage(shift, n=1500, n_rep=120, n_boot=120):
    """Return how often 90% intervals hold the ECE, and a percentile interval does."""
    rng = np.random.default_rng(5)
    hits = np.zeros(2, dtype=int)
    for _ in range(n_rep):
        confidence = rng.uniform(0.5, 1.0, n)
        measures = rows_of(confidence, rng.random(n) < confidence - shift)
        estimate = measures.values(measures.sums())[0]
        (samples,) = resample([measures], n_boot, rng, 1, False)
        _, low, high = intervals(measures.names, estimate, samples, 0.9)
        j = measures.names.index("ece")
        ends = np.quantile(samples[:, j], [0.05, 0.95])
        hits += (low[j] <= shift <= high[j], ends[0] <= shift <= ends[1])
    return hits, n_rep


def test_bootstrap_intervals_cover_an_ece_well_above_zero():
    (basic, _), n_rep = coverage(0.15)
    judge = Judge(claims=2)
    judge.at_least(int(basic), n_rep, 0.85)  # 90% but for the bootstrap's own error
    judge.at_most(int(basic), n_rep, 0.95)


def paired_coverage(n_rep, wrong=0.0):
    """Return how often 90% intervals hold a difference of two ECEs, and widths.

    The first classifier is 0.15 too high everywhere, the second over-confident on both
    sides of 1/2, by 0.6 |q - 1/2|: 0.09 on average.
    """
    rng = np.random.default_rng(7)
    hits, width = 0, 0.0
    for _ in range(n_rep):
        q = rng.uniform(0.2, 0.8, 6000)
        labels = (rng.random(6000) < q).astype(int)
        pair = q + 0.15, 0.5 + 1.6 * (q - 0.5)
        options = {"event": "class-1", "n_boot": 128, "level": 0.9, "rng": rng}
        result = compare(*pair, labels, **options)
        assert result.near_zero == ()
        low, high = result.interval("ece")[1]
        hits += low <= 0.09 - 0.15 + wrong <= high
        width += (high - low) / n_rep
    return int(hits), n_rep, width


def test_paired_intervals_cover_the_difference():
    hits, n_rep, _ = paired_coverage(150)
    judge = Judge(claims=2)
    judge.at_least(hits, n_rep, 0.85)  # 90% but for the bootstrap's own error
    judge.at_most(hits, n_rep, 0.97)


def test_another_difference_is_refuted():
    hits, n_rep, width = paired_coverage(60, wrong=0.02)
    assert width < 0.05
    with pytest.raises(RefutedError):
        Judge(claims=1).at_least(hits, n_rep, 0.85)


def test_percentile_intervals_cover_nothing_at_zero():
    (_, percentile), n_rep = coverage(0.0, n=300, n_rep=60)
    with pytest.raises(RefutedError):
        Judge(claims=1).at_least(int(percentile), n_rep, 0.5)


def test_result_says_so_at_zero():
    rng = np.random.default_rng(6)
    said = 0
    for _ in range(40):
        p = rng.random(300)
        labels = (rng.random(300) < p).astype(int)
        said += assess(p, labels, n_sim=0).near_zero
    assert said == 40
