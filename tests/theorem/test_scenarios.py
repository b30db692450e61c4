"""Every scenario is what it says: draws against posteriors, priors and ratios."""

import numpy as np
import pytest
from scipy import stats

from distfreeuq import scenarios

from .binomial import RefutedError

N = 100_000
NAMES = scenarios.names()
# each test below judges at most 52 times: 1e-6 / 52 each, by a tail that is exact
# (binomial) or, with a variance of a hundred at least in every cell, all but exact
LEVEL = 1e-6 / 52
ENOUGH = 100.0


def judge(p_value: float, what: str) -> None:
    if p_value < LEVEL:
        raise RefutedError(f"{what}: p-value {p_value:.2g}")


def judge_posterior(posterior: np.ndarray, labels: np.ndarray) -> int:
    """Labels follow the probabilities, given anything that the probabilities say."""
    judged = 0
    for k in range(posterior.shape[1]):
        prob, hit = posterior[:, k], labels == k
        assert not hit[prob == 0.0].any()
        assert hit[prob == 1.0].all()
        cell = np.digitize(prob, np.quantile(prob, np.linspace(0.1, 0.9, 9)))
        variance = np.bincount(cell, prob * (1.0 - prob), minlength=10)
        gap = np.bincount(cell, hit - prob, minlength=10)
        enough = variance >= ENOUGH
        if enough.any():
            statistic = float((gap[enough] ** 2 / variance[enough]).sum())
            judge(stats.chi2.sf(statistic, enough.sum()), f"class {k}")
            judged += 1
    return judged


def judge_ratio(
    ratio_source: np.ndarray, side: np.ndarray, side_target: np.ndarray, cells: int
) -> None:
    """Source rows weighted by the ratio fall into sets as often as target rows do."""
    n, m = len(side), len(side_target)
    for cell in range(cells):
        weighted = ratio_source * (side == cell)
        share = np.mean(side_target == cell)
        variance = weighted.var() / n + share * (1.0 - share) / m
        if m * share * (1.0 - share) >= ENOUGH:
            score = (weighted.mean() - share) / np.sqrt(variance)
            judge(2.0 * stats.norm.sf(abs(score)), f"cell {cell}")


@pytest.fixture(scope="module")
def draws():
    made = {}
    for name in NAMES:
        scenario = scenarios.get(name)
        made[name] = {
            domain: scenario.sample(N, domain, rng=17)
            for domain in ("source", "target")
        }
    return made


@pytest.mark.parametrize("domain", ["source", "target"])
@pytest.mark.parametrize("name", NAMES)
def test_labels_follow_the_posteriors(name, domain, draws):
    x, labels = draws[name][domain]
    scenario = scenarios.get(name)
    posterior = scenario.posterior(x, domain)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-12)
    judge_posterior(posterior, labels)


@pytest.mark.parametrize("name", ["three-gaussians", "atoms", "label-noise"])
def test_the_other_domain_s_posterior_is_refuted(name, draws):
    x, labels = draws[name]["target"]
    with pytest.raises(RefutedError):
        judge_posterior(scenarios.get(name).posterior(x, "source"), labels)


def test_a_slightly_wrong_posterior_is_refuted(draws):
    x, labels = draws["three-gaussians"]["source"]
    posterior = scenarios.get("three-gaussians").posterior(x)
    with pytest.raises(RefutedError):
        judge_posterior(0.98 * posterior + 0.02 / 3.0, labels)


@pytest.mark.parametrize("domain", ["source", "target"])
@pytest.mark.parametrize("name", NAMES)
def test_labels_have_the_stated_prior(name, domain, draws):
    prior = scenarios.get(name).prior(domain)
    assert prior.sum() == pytest.approx(1.0, abs=1e-12)
    counts = np.bincount(draws[name][domain][1], minlength=prior.size)
    for count, share in zip(counts, prior, strict=True):
        judge(stats.binomtest(int(count), N, min(1.0, share)).pvalue, "prior")


def sides(x, cuts, direction):
    return np.digitize(x @ direction, cuts)


@pytest.mark.parametrize("name", NAMES)
def test_the_density_ratio_turns_source_features_into_target_features(name, draws):
    scenario = scenarios.get(name)
    source, target = draws[name]["source"][0], draws[name]["target"][0]
    ratio = scenario.density_ratio(source)
    generator = np.random.default_rng(5)
    for _ in range(5):
        direction = generator.standard_normal(scenario.n_features)
        cuts = np.quantile(target @ direction, np.linspace(0.1, 0.9, 9))
        judge_ratio(
            ratio,
            sides(source, cuts, direction),
            sides(target, cuts, direction),
            10,
        )


@pytest.mark.parametrize("name", ["three-gaussians", "covariance-shift", "atoms"])
def test_no_ratio_or_the_inverted_one_is_refuted(name, draws):
    scenario = scenarios.get(name)
    source, target = draws[name]["source"][0], draws[name]["target"][0]
    direction = np.array([1.0, 0.3])
    cuts = np.quantile(target @ direction, np.linspace(0.1, 0.9, 9))
    cells = sides(source, cuts, direction), sides(target, cuts, direction)
    ratio = scenario.density_ratio(source)
    with pytest.raises(RefutedError):
        judge_ratio(np.ones_like(ratio), *cells, 10)
    if name != "covariance-shift":  # whose inverted ratio has infinite variance
        with pytest.raises(RefutedError):
            judge_ratio(1.0 / ratio, *cells, 10)


@pytest.mark.parametrize("name", NAMES)
def test_the_factor_that_the_shift_shares_is_shared(name, draws):
    scenario = scenarios.get(name)
    x = draws[name]["source"][0][:1000]
    p, q = scenario.posterior(x), scenario.posterior(x, "target")
    ratio = scenario.density_ratio(x)
    if scenario.shift in ("none", "concept"):
        np.testing.assert_allclose(ratio, 1.0)
    if scenario.shift in ("none", "covariate"):
        np.testing.assert_allclose(p, q)
    if scenario.shift == "label":  # q(y | x) q(x) = w(y) p(y | x) p(x)
        np.testing.assert_allclose(
            q * ratio[:, None], p * scenario.label_weight, rtol=1e-9, atol=1e-12
        )
