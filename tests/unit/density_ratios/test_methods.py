"""The methods beneath `density_ratio`: by hand, by brute force, against other code."""

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq.density_ratios import kliep, ulsif
from distfreeuq.density_ratios.cross_fitting import deal, fit_inverse_temperature
from distfreeuq.density_ratios.diagnostics import auc_interval, uncovered_share
from distfreeuq.density_ratios.gaussian_kernels import gaussian, squared_distances
from distfreeuq.density_ratios.logistic_discriminator import LogisticLearner
from distfreeuq.density_ratios.nearest_neighbors import fit_neighbors
from distfreeuq.density_ratios.weight_pipeline import condition


def standardised(n=60, m=50, d=3, seed=0):
    """Return samples whose pooled rows have mean zero and deviation one already."""
    rng = np.random.default_rng(seed)
    pooled = rng.normal(size=(n + m, d))
    pooled[n:, 0] += 0.7
    pooled = (pooled - pooled.mean(axis=0)) / pooled.std(axis=0)
    return pooled[:n], pooled[n:]


# --------------------------------------------------------------------- neighbours


def test_neighbours_by_hand():
    source = np.array([[0.0], [1.0], [3.0]])
    target = np.array([[0.5], [2.0], [2.5], [3.5]])
    found = fit_neighbors(source, target, 1)
    # from 1.9: source at distance 0.9; target 2.0 and 2.5 are as near: (3/4) * 2
    # from -1: source at 1; no target nearer than 1.5
    np.testing.assert_allclose(found.model.ratio(np.array([[1.9], [-1.0]])), [1.5, 0.0])
    # source 0 without itself: the next is at 1; one target (0.5); (2/4) * 1
    # source 1: at 1; two targets (0.5, 2.0); source 3: at 2; targets 2, 2.5, 3.5
    np.testing.assert_allclose(found.source_ratio, [0.5, 1.0, 1.5])
    # target 2.0 without itself: two source rows at 1, target 2.5 nearer: (2/4) * 1/2
    # target 3.5: source at 0.5, no other target within
    np.testing.assert_allclose(found.target_ratio, [0.0, 0.25, 0.5, 0.0])


@pytest.mark.parametrize("d", [1, 9], ids=["trees", "all distances"])
def test_neighbours_with_repeated_rows(d):
    rows = np.repeat(np.arange(5.0), 4)[:, None] * np.sqrt(np.arange(1, d + 1))
    found = fit_neighbors(rows, rows, 3)
    # the three others at the same place, at distance 0, and all four targets there
    np.testing.assert_allclose(found.source_ratio, (19 / 20) * 4 / 3)
    # with one neighbour it is the same ball, and the same three rows in it
    one = fit_neighbors(rows, rows, 1)
    np.testing.assert_allclose(one.source_ratio, found.source_ratio)
    np.testing.assert_allclose(one.target_ratio, (19 / 20) * 3 / 4)


# ------------------------------------------------------------------ least squares


def test_least_squares_by_hand():
    source, target = np.array([[1.0], [0.5]]), np.array([[1.0], [1.0], [0.4]])
    # H = (1 + 1/4) / 2 = 5/8, h = 0.8, ridge 1/8: theta = 0.8 / 0.75
    theta = ulsif.coefficients(source, target, 0.125, 0.0)
    np.testing.assert_allclose(theta, [0.8 / 0.75])
    # half relative: H = 5/16 + (2.16 / 3) / 2 = 0.6725
    theta = ulsif.coefficients(source, target, 0.125, 0.5)
    np.testing.assert_allclose(theta, [0.8 / (0.6725 + 0.125)])


@pytest.mark.parametrize("relative", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("n", "m"), [(14, 14), (17, 12), (11, 16)])
def test_leave_one_out_is_what_refitting_gives(n, m, relative):
    source, target = standardised(n, m)
    phi_s, phi_t = (
        gaussian(squared_distances(x, target[:8]), 0.9) for x in (source, target)
    )
    ridges = np.array([1e-3, 0.1, 10.0])
    expected = np.zeros(3)
    for r, ridge in enumerate(ridges):
        for i in range(min(n, m)):
            theta = ulsif.coefficients(
                np.delete(phi_s, i, 0), np.delete(phi_t, i, 0), ridge, relative
            )
            at_s, at_t = phi_s[i] @ theta, phi_t[i] @ theta
            expected[r] += (1 - relative) * at_s**2 / 2 + relative * at_t**2 / 2 - at_t
    found = ulsif.leave_one_out_losses(phi_s, phi_t, ridges, relative)
    np.testing.assert_allclose(found, expected / min(n, m), rtol=1e-8)


def test_rows_beyond_all_kernels_are_no_trouble():
    phi_s, phi_t = np.zeros((5, 2)), np.zeros((4, 2))
    phi_t[0] = [1.0, 0.2]
    losses = ulsif.leave_one_out_losses(phi_s, phi_t, np.array([0.1]), 0.0)
    assert np.isfinite(losses).all()


def test_the_smallest_loss_is_chosen():
    source, target = standardised(200, 150)
    grid, ridges = np.array([0.05, 0.7, 20.0]), np.array([1e-3, 0.1])
    result = dfu.density_ratio(
        source, target, method="ulsif", bandwidth=grid, ridge=ridges, rng=0
    )
    assert result.model.bandwidth in grid and result.model.ridge in ridges
    only = dfu.density_ratio(
        source,
        target,
        method="ulsif",
        bandwidth=result.model.bandwidth,
        ridge=result.model.ridge,
        rng=0,
    )
    np.testing.assert_array_equal(only.source_weight, result.source_weight)


# -------------------------------------------------------------------------- KLIEP


def test_kliep_by_hand():
    # kernels that never overlap: a mixture with known memberships. The target has 3 of
    # 4 rows at the first, the source half of its rows: (3/4) / (1/2), (1/4) / (1/2)
    source = np.array([[1.0, 0.0], [0.0, 1.0]])
    target = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]])
    np.testing.assert_allclose(kliep.coefficients(source, target), [1.5, 0.5])


def test_kliep_is_at_the_maximum():
    source, target = standardised()
    phi_s, phi_t = (
        gaussian(squared_distances(x, target), 1.0) for x in (source, target)
    )
    alpha = kliep.coefficients(phi_s, phi_t)
    assert (alpha >= 0).all()
    assert (phi_s @ alpha).mean() == pytest.approx(1.0)
    # the conditions of optimality: no direction on the simplex gains
    slope = (phi_t / (phi_t @ alpha)[:, None]).mean(axis=0) / phi_s.mean(axis=0)
    assert slope.max() <= 1 + 1e-6
    np.testing.assert_allclose(slope[alpha > 0], 1.0, atol=1e-6)


# --------------------------------------------------------- against other packages


@pytest.mark.parametrize(("method", "relative"), [("uLSIF", 0.0), ("RuLSIF", 0.2)])
def test_least_squares_agree_with_densratio(method, relative):
    densratio = pytest.importorskip("densratio", reason="densratio is not installed")
    source, target = standardised(80, 60)
    # all target rows are centres, so that both have the same kernels
    options = {"sigma": 0.8, "lambda_": 0.05, "kernel_num": 60, "verbose": False}
    if relative:
        options["alpha"] = relative
    theirs = densratio.densratio(target, source, method=method, **options)
    ours = dfu.density_ratio(
        source,
        target,
        method=method.lower(),
        bandwidth=0.8,
        ridge=0.05,
        relative=relative or None,
        rng=0,
    )
    x = np.random.default_rng(1).normal(size=(40, 3))
    expected = theirs.compute_density_ratio(x)
    np.testing.assert_allclose(ours.model.ratio(x), expected, rtol=1e-8)


def log_likelihood(alpha, phi_s, phi_t):
    return np.log(phi_t @ alpha).mean() - np.log((phi_s @ alpha).mean())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("d", "m", "width"), [(1, 8, 0.5), (1, 30, 0.3), (3, 40, 1.0)])
def test_kliep_finds_the_maximum_that_densratio_climbs_towards(d, m, width, seed):
    """Theirs stops below it, mostly far below; from ours, its steps gain nothing."""
    pytest.importorskip("densratio", reason="densratio is not installed")
    from densratio.KLIEP import KLIEP_optimize_alpha, compute_next_alpha

    rng = np.random.default_rng(seed)
    source, target = rng.normal(size=(80, d)), rng.normal(0.5, 1, (m, d))
    phi_s, phi_t = (
        gaussian(squared_distances(x, target), width) for x in (source, target)
    )
    ours = kliep.coefficients(phi_s, phi_t)
    reached = log_likelihood(ours, phi_s, phi_t)
    climbed = KLIEP_optimize_alpha(phi_t, phi_s)
    assert reached >= log_likelihood(climbed, phi_s, phi_t)
    for epsilon in 10.0 ** np.arange(3, -7, -1):
        step = ours + epsilon * phi_t.T @ (1 / (phi_t @ ours))
        step = compute_next_alpha(step, phi_s.mean(axis=0))
        assert log_likelihood(step, phi_s, phi_t) <= reached + 1e-9


def test_kliep_agrees_with_densratio_where_that_converges():
    pytest.importorskip("densratio", reason="densratio is not installed")
    from densratio.KLIEP import KLIEP_optimize_alpha

    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(80, 1)), rng.normal(0.5, 1, (8, 1))
    phi_s, phi_t = (
        gaussian(squared_distances(x, target), 0.5) for x in (source, target)
    )
    ours = kliep.coefficients(phi_s, phi_t)
    theirs = KLIEP_optimize_alpha(phi_t, phi_s)
    np.testing.assert_allclose(phi_s @ ours, phi_s @ theirs, atol=0.1)


def test_logistic_agrees_with_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4)) * [1, 10, 0.1, 1]
    is_target = np.arange(500) >= 300
    x[is_target, 0] += 1
    learner = LogisticLearner(x, is_target, ridge=3.0)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    theirs = linear_model.LogisticRegression(C=1 / 3.0, tol=1e-10).fit(
        scaled, is_target
    )
    fitted = learner.fit_all()
    np.testing.assert_allclose(fitted.coef, theirs.coef_[0], atol=1e-6)
    np.testing.assert_allclose(
        fitted.log_odds(x), theirs.decision_function(scaled), atol=1e-5
    )
    # and each part is what a fit on its rows alone would be
    parts = rng.random((500, 3)) < 0.6
    together = learner.held_out_log_odds(parts)
    for part, log_odds in zip(parts.T, together.T, strict=True):
        alone = linear_model.LogisticRegression(C=1 / 3.0, tol=1e-10)
        alone.fit(scaled[part], is_target[part])
        np.testing.assert_allclose(log_odds, alone.decision_function(scaled), atol=1e-5)


def test_logistic_beyond_newton():
    """Many columns are fitted by L-BFGS, and to the same optimum."""
    rng = np.random.default_rng(0)
    x, is_target = rng.normal(size=(60, 450)), np.arange(60) % 2 == 0
    rows = LogisticLearner(x, is_target, ridge=2.0).rows
    theta, metric = rows.fit_all()
    assert metric is None
    gradient = rows.evaluate(theta[:, None], np.ones((60, 1)))[1]
    assert np.abs(gradient).max() < 1e-7


def test_many_rows_start_from_few():
    rng = np.random.default_rng(0)
    x, is_target = rng.normal(size=(41_000, 3)), np.arange(41_000) >= 15_000
    x[is_target, 0] += 1.0
    learner = LogisticLearner(x, is_target, ridge=1.0)
    gradient = learner.rows.evaluate(learner.theta[:, None], np.ones((41_000, 1)))[1]
    assert np.abs(gradient).max() < 1e-9


def test_standard_errors_are_those_of_statsmodels():
    import statsmodels.api as sm

    source, target = standardised(300, 200)
    result = dfu.density_ratio(source, target, rng=0)
    fit = result.model.discriminator
    x = np.concatenate([source, target])
    x = np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.ones(500)])
    glm = sm.GLM(np.arange(500) >= 300, x, family=sm.families.Binomial()).fit()
    np.testing.assert_allclose(fit.glm_coef, glm.params[:-1], rtol=1e-6)
    np.testing.assert_allclose(fit.glm_std_err, glm.bse[:-1], rtol=1e-6)
    np.testing.assert_allclose(fit.coef, fit.glm_coef, rtol=0.05, atol=0.01)


# --------------------------------------------------------------------- temperature


def test_temperature_by_hand():
    # every log-ratio is +-1, right with probability 3/4 in both (large) samples:
    # the calibrated log-odds are ln 3
    right = np.repeat([1.0, -1.0], [30_000, 10_000])
    beta = fit_inverse_temperature(-right, right)
    assert beta == pytest.approx(np.log(3), rel=1e-3)


def test_temperature_of_useless_and_of_perfect_ratios():
    assert fit_inverse_temperature(np.array([1.0, -1.0]), np.array([0.5, -2.0])) == 0.0
    assert fit_inverse_temperature(np.zeros(3), np.zeros(4)) == 0.0
    alike = fit_inverse_temperature(np.full(3, 0.1), np.full(40, 0.1))
    assert alike == pytest.approx(0.0, abs=1e-12)
    # perfectly apart: Platt's smoothing ends at log-odds of ln(n + 1)
    perfect = fit_inverse_temperature(np.full(9, -2.0), np.full(9, 2.0))
    assert perfect == pytest.approx(np.log(10) / 2)


def test_unequal_samples_weigh_the_same_in_the_temperature():
    rng = np.random.default_rng(0)
    source, target = rng.normal(-0.5, 1, 3000), rng.normal(0.5, 1, 3000)
    often = np.repeat(source, 10)
    assert fit_inverse_temperature(often, target) == pytest.approx(
        fit_inverse_temperature(source, target), rel=1e-3
    )


# ------------------------------------------------------------- folds, conditioning


def test_folds_hold_out_each_row_once():
    folds = deal(23, 10, 5, np.random.default_rng(0))
    rounds = list(folds.rounds(calibrate=True))
    held_out = np.array([r.held_out for r in rounds])
    assert (held_out.sum(axis=0) == 1).all()
    for r in rounds:
        assert ((r.fit.astype(int) + r.calibrate + r.held_out) == 1).all()
        assert r.held_out[23:].sum() == 2 and r.calibrate[23:].sum() == 2
    for r in folds.rounds(calibrate=False):
        assert (r.fit == ~r.held_out).all()


def test_golden_order_of_conditioning(golden):
    case = golden("calibration", "weight-transform")
    inputs = case["inputs"]
    ratio = np.array(inputs["w"])
    clip = (inputs["clip_lo"], inputs["clip_hi"])
    # so many rows that the limits of the ratio are none
    tamed = condition(np.tile(ratio, 1000), 10**9, flatten=inputs["flatten"], clip=clip)
    np.testing.assert_allclose(tamed.weights(ratio), case["expected"]["w"], rtol=1e-9)


# ---------------------------------------------------------------------- diagnostics


def test_auc_by_hand():
    # pairs: 2 > 1, 2 = 2 (half), 2 < 3, 4 > all three: 4.5 of 6
    found = auc_interval(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))
    assert found.estimate == pytest.approx(0.75)
    assert 0.0 < found.low < 0.75 < found.high < 1.0


def test_auc_interval_by_hand():
    """DeLong's variance from the placements, on the logit scale."""
    source, target = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.5, 2.5, 3.5])
    above_source = np.array([2, 3, 4]) / 4
    above_target = np.array([3, 3, 2, 1]) / 3
    variance = above_source.var(ddof=1) / 3 + above_target.var(ddof=1) / 4
    half = 1.959963984540054 * np.sqrt(variance) / (0.75 * 0.25)
    found = auc_interval(source, target)
    odds = np.exp(np.log(3) + np.array([-half, half]))
    np.testing.assert_allclose([found.low, found.high], odds / (1 + odds))


def test_auc_of_separated_samples_has_an_interval_too():
    found = auc_interval(np.zeros(40), np.ones(90))
    assert found.estimate == 1.0 == found.high
    assert found.low == pytest.approx(40 / (40 + 1.959964**2))
    assert auc_interval(np.ones(5), np.ones(5)).estimate == 0.5


def test_uncovered_share_by_hand():
    source = np.array([0.5, 0.5, 1.0, 2.0])  # mean one
    target = np.array([1.0, 19.0, 21.0, 400.0])
    assert uncovered_share(source, target) == 0.5
    assert uncovered_share(10 * source, 10 * target) == 0.5
