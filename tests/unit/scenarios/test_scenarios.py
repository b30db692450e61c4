"""Scenarios: shapes, streams, names, and what is refused."""

import pickle

import numpy as np
import pytest

from distfreeuq import InputError, nested_scores, scenarios


@pytest.mark.parametrize("name", scenarios.names())
def test_many_replicates_at_once_are_the_same_rows_reshaped(name):
    scenario = scenarios.get(name)
    x, labels = scenario.sample((7, 5), "target", rng=3)
    flat, flat_labels = scenario.sample(35, "target", rng=3)
    d, n_classes = scenario.n_features, scenario.n_classes
    assert x.shape == (7, 5, d)
    assert labels.shape == (7, 5)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(x.reshape(-1, d), flat)
    np.testing.assert_array_equal(labels.ravel(), flat_labels)
    posterior = scenario.posterior(x, "target")
    assert posterior.shape == (7, 5, n_classes)
    np.testing.assert_array_equal(
        posterior.reshape(35, -1), scenario.posterior(flat, "target")
    )
    assert scenario.density_ratio(x).shape == (7, 5)
    np.testing.assert_array_equal(
        scenario.bayes_rule(x, "target"), posterior.argmax(axis=-1)
    )


@pytest.mark.parametrize("name", scenarios.names())
def test_a_seed_gives_the_same_rows_again(name):
    scenario = scenarios.get(name)
    for domain in ("source", "target"):
        once, again = (scenario.sample(50, domain, rng=1) for _ in range(2))
        np.testing.assert_array_equal(once[0], again[0])
        np.testing.assert_array_equal(once[1], again[1])


@pytest.mark.parametrize("name", scenarios.names())
def test_a_scenario_travels_to_other_processes(name):
    scenario = scenarios.get(name)
    again = pickle.loads(pickle.dumps(scenario))
    np.testing.assert_array_equal(
        again.sample(20, "target", rng=0)[0], scenario.sample(20, "target", rng=0)[0]
    )
    assert repr(again) == repr(scenario)
    assert "\n" not in repr(scenario)


def test_a_seed_gives_source_and_target_streams_of_their_own():
    rare = scenarios.rare_feature()  # where the two have one distribution
    source, target = (rare.sample(200, d, rng=1)[1] for d in ("source", "target"))
    assert not np.array_equal(source, target)


def test_shifts_are_named():
    shifts = {name: scenarios.get(name).shift for name in scenarios.names()}
    assert shifts["label-noise"] == "concept"
    assert shifts["rare-feature"] == "none"
    assert shifts["covariance-shift"] == "covariate"
    others = set(shifts) - {"label-noise", "rare-feature", "covariance-shift"}
    assert {shifts[name] for name in others} <= {"label", "none"}


def test_weights_of_classes_that_a_domain_lacks():
    scenario = scenarios.FiniteScenario(
        description="a class leaves, another comes",
        points=[[0.0]],
        source=[[0.5, 0.5, 0.0]],
        target=[[0.25, 0.0, 0.75]],
    )
    assert scenario.label_weight.tolist() == [0.5, 0.0, np.inf]
    assert scenario.shift == "label"


def test_three_gaussians_posterior_by_hand():
    # at the center of the triangle all three densities are equal
    center = [[0.0, 2.0 / np.sqrt(3.0)]]
    toy = scenarios.three_gaussians()
    np.testing.assert_allclose(toy.posterior(center), [[0.1, 0.6, 0.3]])
    np.testing.assert_allclose(toy.posterior(center, "target"), [[0.3, 0.2, 0.5]])
    np.testing.assert_allclose(toy.density_ratio(center), 1.0)


def test_covariance_shift_ratio_by_hand():
    toy = scenarios.covariance_shift_gaussians(
        source_covariance=[[4.0]], target_covariance=[[1.0]]
    )
    # N(0, 1) over N(0, 4): 2 exp(-x^2 (1 - 1/4) / 2)
    np.testing.assert_allclose(
        toy.density_ratio([0.0, 1.0]), [2.0, 2.0 * np.exp(-0.375)]
    )
    assert toy.upper == pytest.approx(2.0)
    wider = scenarios.covariance_shift_gaussians(
        source_covariance=[[1.0]], target_covariance=[[4.0]]
    )
    assert wider.upper == np.inf


def test_one_s_own_scenario_has_a_name():
    @scenarios.register("test-of-names")
    def made():
        return scenarios.label_noise(0.2, 0.2, 0.3)

    assert "test-of-names" in scenarios.names()
    assert scenarios.get("test-of-names").prior("source") == pytest.approx([0.5, 0.5])
    with pytest.raises(InputError, match="'name' parameter of register"):
        scenarios.register("test-of-names")
    with pytest.raises(InputError, match="makes a Scenario"):
        scenarios.register("another")(lambda: 3)
    assert "another" not in scenarios.names()
    scenarios.unregister("test-of-names")
    assert "test-of-names" not in scenarios.names()


REFUSALS = [
    (lambda: scenarios.get("nothing"), "'name' parameter of get"),
    (lambda: scenarios.register(3), "'name' parameter of register"),
    (lambda: scenarios.three_gaussians().sample(-1), "'n' parameter of sample"),
    (lambda: scenarios.three_gaussians().sample((3, 1.5)), "'n' parameter of sample"),
    (lambda: scenarios.three_gaussians().sample(3, "test"), "'domain' parameter"),
    (lambda: scenarios.three_gaussians().prior("test"), "'domain' parameter"),
    (lambda: scenarios.label_noise().prior("test"), "'domain' parameter"),
    (
        lambda: scenarios.three_gaussians().posterior([[1.0, 2.0, 3.0]]),
        r"'x' parameter of posterior must be of shape \(..., 2\)",
    ),
    (
        lambda: scenarios.label_noise().posterior([[1.0], [0.5]]),
        r"at one of the 2 points of the scenario. Got \[0.5\] at row 1",
    ),
    (lambda: scenarios.label_noise(0.6), "'p_plus' parameter of label_noise"),
    (lambda: scenarios.rare_feature(0), "'n' parameter of rare_feature"),
    (
        lambda: scenarios.covariance_shift_gaussians(
            source_covariance=[[1, 2], [2, 1]]
        ),
        "positive definite",
    ),
    (
        lambda: scenarios.covariance_shift_gaussians(source_covariance=[[1.0]]),
        "'target_covariance' parameter",
    ),
    (
        lambda: scenarios.FiniteScenario("", [[0.0], [0.0]], [[1], [0]], [[1], [0]]),
        "'points' parameter",
    ),
    (
        lambda: scenarios.FiniteScenario("", [[0.0]], [[0.5, 0.6]], [[0.5, 0.5]]),
        "'source' parameter",
    ),
    (
        lambda: scenarios.FiniteScenario("", [[0.0]], [[0.5, 0.5]], [[1.0]]),
        "'target' parameter",
    ),
    (
        lambda: scenarios.FiniteScenario(
            "", [[0.0], [1.0]], [[0.5, 0.5], [0, 0]], [[0.5, 0.5], [0, 0]]
        ),
        "a row of zeros",
    ),
    (
        lambda: scenarios.FiniteScenario(
            "", [[0.0], [1.0]], [[0.3, 0.2], [0.1, 0.4]], [[0.1, 0.1], [0.1, 0.7]]
        ),
        "with another factor",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSALS)
def test_bad_input_is_told_so(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_oracle_s_sets_by_hand():
    """P(Y = 1 | x) = x, so that both labels are needed between alpha and 1 - alpha."""

    class Ramp(scenarios.Scenario):
        description, shift, n_classes, n_features = "ramp", "none", 2, 1

        def prior(self, domain):
            return np.array([0.5, 0.5])

        def draw(self, n, domain, rng):
            x = rng.random(n)
            return x[:, None], rng.binomial(1, x)

        def posterior_of(self, x, domain):
            return np.column_stack([1 - x[:, 0], x[:, 0]])

        def density_ratio_of(self, x):
            return np.ones(len(x))

    ramp, x = Ramp(), [0.1, 0.4, 0.5, 0.95]
    plain = ramp.oracle_sets(x, 0.2, randomized=False)
    assert plain.tolist() == [[1, 0], [1, 1], [1, 1], [0, 1]]
    # u = 1: the second label's whole mass would exceed 0.8, also of equals
    # both of 0.5 have no likelier label: each is judged by its own half
    most = ramp.oracle_sets(x, 0.2, uniforms=[1.0] * 4)
    assert most.tolist() == [[0, 0], [1, 0], [1, 1], [0, 0]]
    # at 0.4: 0.6 + u 0.4 <= 0.8 for u up to one half
    for u, inside in ((0.49, True), (0.51, False)):
        assert ramp.oracle_sets([0.4], 0.2, uniforms=[u])[0, 1] == inside
    with pytest.raises(InputError, match="uniforms"):
        ramp.oracle_sets(x, 0.2, uniforms=[0.5])


def test_the_oracle_s_sets_are_a_threshold_on_aps_scores():
    for name in ("three-gaussians", "fifty-classes"):
        scenario = scenarios.get(name)
        x, _ = scenario.sample((40, 5), "target", rng=0)
        u = np.random.default_rng(1).random((40, 5))
        sets = scenario.oracle_sets(x, 0.2, "target", uniforms=u)
        probs = scenario.posterior(x, "target").reshape(200, -1)
        scores = nested_scores(probs, uniforms=u.ravel())
        np.testing.assert_array_equal(sets.reshape(200, -1), scores <= 0.8)
        plain = scenario.oracle_sets(x, 0.2, "target", randomized=False)
        assert (plain >= sets).all() and (plain.sum(axis=-1) - sets.sum(-1) <= 1).all()
        mass = (plain.reshape(200, -1) * probs).sum(axis=1)
        assert (mass >= 0.8 - 1e-9).all()
        once, again = (scenario.oracle_sets(x, rng=3) for _ in range(2))
        np.testing.assert_array_equal(once, again)
