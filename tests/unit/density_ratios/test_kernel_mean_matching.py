"""Kernel mean matching: by hand, against another solver, and what it has not."""

import numpy as np
import pytest
from scipy import optimize

import distfreeuq as dfu
from distfreeuq import InputError
from distfreeuq.density_ratios.gaussian_kernels import gaussian, squared_distances
from distfreeuq.density_ratios.kernel_mean_matching import fit_matched_means
from tests.unit.density_ratios.test_estimation import SOURCE, TARGET, TRUE, fit


def matched(source, target, **options):
    plain = {"bandwidth": 1.0, "ridge": 0.0, "weight_bound": 1000.0, "slack": None}
    return fit_matched_means(source, target, **plain | options)


def test_two_points_by_hand():
    """Of two source points the target holds one three times, the other once."""
    source, target = np.array([[0.0], [1.0]]), np.array([[0.0]] * 3 + [[1.0]])
    found = matched(source, target)
    np.testing.assert_allclose(found.source_ratio, [1.5, 0.5], rtol=1e-4)
    assert found.model.distance_after < 1e-4
    # with k = kernel(0, 1), pooled rows of standard deviation s = sqrt(2/9) apart 1/s
    k = np.exp(-0.5 * 9 / 2)
    before = 0.5 * (1 + k) - 2 * 0.5 * (1 + k) + (10 + 6 * k) / 16
    assert found.model.distance_before == pytest.approx(np.sqrt(before))
    # ridge r: (1 + r) b_0 + k b_1 = 2 (3 + k) / 4 and so on
    ridged = matched(source, target, ridge=0.5, slack=1.0)
    expected = np.linalg.solve(
        np.array([[1.5, k], [k, 1.5]]), [(3 + k) / 2, (1 + 3 * k) / 2]
    )
    np.testing.assert_allclose(ridged.source_ratio, expected, atol=1e-4)
    bounded = matched(source, target, weight_bound=1.2)
    assert bounded.source_ratio[0] == pytest.approx(1.2)


@pytest.mark.parametrize(("ridge", "bound"), [(1.0, 1000.0), (0.1, 1000.0), (0.5, 1.5)])
def test_weights_are_those_of_another_solver(ridge, bound):
    source, target = SOURCE[:40], TARGET[:30]
    found = matched(source, target, ridge=ridge, weight_bound=bound, slack=0.05)
    pooled = np.vstack([source, target])
    pooled = (pooled - pooled.mean(axis=0)) / pooled.std(axis=0)
    x, y = pooled[:40], pooled[40:]
    matrix = gaussian(squared_distances(x, x), 1.0) + ridge * np.eye(40)
    vector = 40 * gaussian(squared_distances(x, y), 1.0).mean(axis=1)
    other = optimize.minimize(
        lambda b: 0.5 * b @ matrix @ b - vector @ b,
        np.ones(40),
        jac=lambda b: matrix @ b - vector,
        bounds=[(0.0, bound)] * 40,
        constraints=optimize.LinearConstraint(np.ones(40), 38.0, 42.0),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    np.testing.assert_allclose(found.source_ratio, other.x, atol=2e-3)
    assert found.source_ratio.sum() >= 38.0 - 1e-9


def test_the_published_form_is_that_of_cvxopt():
    cvxopt = pytest.importorskip("cvxopt")
    rng = np.random.default_rng(1)
    source, target = rng.normal(size=(60, 3)), rng.normal(0.5, 1.0, (50, 3))
    found = matched(source, target, ridge=0.0, bandwidth=0.5)
    pooled = np.vstack([source, target])
    pooled = (pooled - pooled.mean(axis=0)) / pooled.std(axis=0)
    x, y = pooled[:60], pooled[60:]
    matrix = gaussian(squared_distances(x, x), 0.5)
    vector = 60 * gaussian(squared_distances(x, y), 0.5).mean(axis=1)
    slack = 1 - 60**-0.5
    limits = np.r_[
        np.zeros(60), np.full(60, 1000.0), 60 * (1 + slack), 60 * (slack - 1)
    ]
    rows = np.vstack([-np.eye(60), np.eye(60), np.ones((1, 60)), -np.ones((1, 60))])
    cvxopt.solvers.options.update(show_progress=False, abstol=1e-11, feastol=1e-11)
    best = cvxopt.solvers.qp(*map(cvxopt.matrix, (matrix, -vector, rows, limits)))
    other = np.array(best["x"]).ravel()
    value = lambda b: 0.5 * b @ matrix @ b - vector @ b  # noqa: E731
    assert value(found.source_ratio) <= value(other) + 1e-5
    np.testing.assert_allclose(found.source_ratio, other, atol=0.02)


def test_weights_follow_the_true_ratio_and_the_ridge_is_why():
    result = fit(method="kmm")
    assert result.source_weight.mean() == pytest.approx(1.0)
    assert np.corrcoef(result.source_weight, TRUE)[0, 1] > 0.9
    published = fit(method="kmm", ridge=0.0)
    assert np.corrcoef(published.source_weight, TRUE)[0, 1] < 0.7
    assert published.ess < 0.5 * result.ess
    assert "steps ended" in published.notes[-1] and "steps" not in result.notes[-1]


def test_scale_order_and_constant_columns_are_irrelevant():
    plain = fit(method="kmm").source_weight
    scale, origin = np.array([1e-6, 1e5]), np.array([3.0, -2e6])
    moved = fit(SOURCE * scale + origin, TARGET * scale + origin, method="kmm")
    np.testing.assert_allclose(moved.source_weight, plain, rtol=1e-3, atol=1e-4)
    wide = fit(np.c_[SOURCE, np.ones(400)], np.c_[TARGET, np.ones(300)], method="kmm")
    np.testing.assert_allclose(wide.source_weight, plain, rtol=1e-6)
    order = np.random.default_rng(0).permutation(400)
    turned = fit(SOURCE[order], TARGET[::-1], method="kmm").source_weight
    # the median distance is of a sample's rows in their order
    np.testing.assert_allclose(turned, plain[order], rtol=0.02, atol=1e-3)
    flat = fit(np.full((40, 2), 3.0), np.full((60, 2), 3.0), method="kmm")
    np.testing.assert_allclose(flat.source_weight, 1.0, rtol=1e-6)


def test_more_features_than_rows_and_separated_samples():
    rng = np.random.default_rng(3)
    wide = fit(rng.normal(size=(40, 90)), rng.normal(size=(30, 90)), method="kmm")
    assert np.isfinite(wide.source_weight).all()
    far = fit(target=TARGET + 50.0, method="kmm")
    assert np.isfinite(far.source_weight).all()


def test_other_rows_have_no_weights_and_the_message_says_so():
    result = fit(method="kmm")
    assert np.isnan(result.target_weight).all() and result.n_target == 300
    assert result.auc is None and result.uncovered is None
    for call in (
        lambda: result.weight(SOURCE),
        lambda: dfu.covariate_shift_calibration(
            SOURCE[:50], np.zeros(50, int), SOURCE[:50], TARGET, ratio=result
        ),
    ):
        with pytest.raises(InputError, match="kernel mean matching has no ratio"):
            call()
    page = str(result)
    assert "AUC" not in page.split("Note")[0] and "Support" not in page
    assert "holds no row out" in page and "Weights held out" not in page
    result.plot().figure.canvas.draw()


def test_calibration_says_that_the_weights_have_seen_the_rows():
    labels = (np.arange(400) % 3 == 0).astype(int)
    found = dfu.covariate_shift_calibration(
        labels + SOURCE[:, 0], labels, SOURCE, TARGET, ratio="kmm", rng=0
    )
    assert found.bound is None and found.rows.n_target == 300
    assert found.rows.weights_from == "matched"
    text = " ".join(str(found).split())
    assert "by kernel mean matching of these rows, which it has seen, to 300" in text


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"bandwidth": [1.0, 2.0]}, "bandwidth"),
        ({"ridge": -1.0}, "ridge"),
        ({"weight_bound": 0.5}, "weight_bound"),
        ({"slack": -0.1}, "slack"),
        ({"n_kernels": 5}, "n_kernels"),
        ({"method": "ulsif", "slack": 0.1}, "slack"),
        ({"method": "mlp", "n_hidden": ()}, "n_hidden"),
        ({"method": "mlp", "n_hidden": (4, 0)}, "n_hidden"),
        ({"method": "mlp", "n_hidden": (2,) * 9}, "n_hidden"),
        ({"method": "mlp", "loss": "hinge"}, "loss"),
        ({"loss": "brier"}, "loss"),
    ],
)
def test_bad_options_are_refused(options, parameter):
    with pytest.raises(InputError, match=f"The '{parameter}' parameter of density_rat"):
        fit(**{"method": "kmm"} | options)


def test_too_many_source_rows_are_refused_before_their_matrix_is_made():
    with pytest.raises(InputError, match="at most 10000 rows for 'kmm'"):
        fit(source=np.zeros((10_001, 1)), target=np.zeros((5, 1)), method="kmm")


def test_round_trip(tmp_path):
    for options in ({"method": "kmm"}, {"method": "mlp", "n_hidden": (4, 3)}):
        result = fit(**options)
        result.save(tmp_path / "ratio.npz")
        again = dfu.load(tmp_path / "ratio.npz")
        assert str(again) == str(result)
        np.testing.assert_array_equal(again.source_weight, result.source_weight)
    np.testing.assert_array_equal(again.weight(TARGET), result.weight(TARGET))


# --------------------------------------------------------------- networks, both losses


@pytest.mark.parametrize("n_hidden", [(8,), (16, 16), (4, 5, 6)])
def test_networks_give_what_scikit_learn_gives_with_the_same_weights(n_hidden):
    sklearn = pytest.importorskip("sklearn.neural_network")
    from distfreeuq._numerics.networks import Parameters, as_network
    from distfreeuq._numerics.standardization import unchanged

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    labels = rng.integers(0, 3, 80)
    theirs = sklearn.MLPClassifier(n_hidden, max_iter=200, random_state=0)
    with pytest.warns(Warning):  # that it has not converged
        theirs.fit(x, labels)
    pairs = zip(theirs.coefs_, theirs.intercepts_, strict=True)
    ours = as_network(Parameters(a for pair in pairs for a in pair), *unchanged(3))
    logits = ours.logits(x)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probs, theirs.predict_proba(x), rtol=1e-9)


@pytest.mark.parametrize("loss", ["nll", "brier"])
def test_two_hidden_layers_follow_the_true_ratio(loss):
    result = fit(method="mlp", n_hidden=(16, 16), loss=loss)
    assert np.corrcoef(result.source_weight, TRUE)[0, 1] > 0.8
    page = str(result)
    assert "a network with 2 hidden layers" in page and "16, 16" in page


def test_the_squared_error_has_a_temperature_of_its_own():
    from distfreeuq.density_ratios.cross_fitting import (
        least_squares_inverse_temperature,
    )

    rng = np.random.default_rng(0)
    source, target = rng.normal(-1.0, 2.0, 60), rng.normal(1.0, 2.0, 40)
    found = least_squares_inverse_temperature(source, target)
    error = lambda b: (  # noqa: E731
        0.5 * ((1 / (1 + np.exp(-b * source)) - 1 / 42) ** 2).mean()
        + 0.5 * ((1 / (1 + np.exp(b * target)) - 1 / 42) ** 2).mean()
    )
    grid = np.geomspace(1e-3, 30.0, 3000)
    assert error(found) <= min(map(error, grid)) + 1e-12
    assert least_squares_inverse_temperature(source, -source) > 0.0
    assert least_squares_inverse_temperature(-source, source) == 0.0  # worse than none
    assert least_squares_inverse_temperature(np.zeros(3), np.zeros(3)) == 0.0
    apart = least_squares_inverse_temperature(np.full(5, -700.0), np.full(5, 700.0))
    assert 0.0 < apart < 1.0 and np.isfinite(apart)
