"""Directional label-shift sets: one bound for each label."""

import numpy as np
import pytest
from scipy import special

import distfreeuq as dfu
from distfreeuq import label_shift_conformal, scenarios
from distfreeuq.conformal.thresholds import label_shift_thresholds
from distfreeuq.conformal.under_label_shift.directional_search import (
    directional_pac_threshold,
    directional_thresholds,
)
from distfreeuq.label_shift.inference.moments.limiting_law import LimitLaw


@pytest.fixture(scope="module")
def toy():
    scenario = scenarios.three_gaussians()
    x, labels = scenario.sample(600, "source", rng=0)
    x_target, labels_target = scenario.sample(600, "target", rng=0)
    probs, probs_target = scenario.posterior(x), scenario.posterior(x_target)
    return scenario, probs, labels, probs_target, labels_target


@pytest.fixture(scope="module")
def estimate(toy):
    _, probs, labels, probs_target, _ = toy
    return dfu.bbse(probs, labels, probs_target)


def test_directional_thresholds_without_noise_are_those_of_the_weights():
    rng = np.random.default_rng(0)
    for n in (1, 8, 300, 700):
        scores, labels = np.sort(rng.integers(0, 50, n) / 50.0), rng.integers(0, 3, n)
        weight, everywhere = rng.uniform(0.1, 3.0, 3), np.ones(3, dtype=bool)
        law = LimitLaw(weight, np.zeros((3, 3)), everywhere, everywhere)
        for alpha in (0.1, 0.4):
            np.testing.assert_array_equal(
                directional_thresholds(scores, labels, law, alpha, 0.01),
                label_shift_thresholds(scores, labels, weight, alpha),
            )


def test_directional_thresholds_by_hand():
    # class 0 has scores 1 and 3, class 1 has 2 and 4; weights 1 and 1, of standard
    # errors 0 and 1/2, alpha = 1/4, z = 1 at delta = 1 - Phi(1). At t = 3: N = (2, 1).
    # Label 0: c = (9/4 - 2, 3/2 - 1), c.w = 3/4 > 0. At t = 4: c = (1/4, -1/2),
    # U = -1/4 + 1/2 * 1/2 = 0, which is enough.
    scores, labels = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1])
    everywhere = np.ones(2, dtype=bool)
    for error, expected in ((0.4999, 4.0), (0.5001, np.inf)):
        law = LimitLaw(np.ones(2), np.diag([0.0, error**2]), everywhere, everywhere)
        found = directional_thresholds(
            scores, labels, law, 0.25, 1.0 - float(special.ndtr(1.0))
        )
        assert found[0] == expected


@pytest.mark.parametrize("soft", [False, True])
def test_directional_sets_lie_between_plug_in_and_union_sets(toy, estimate, soft):
    _, probs, labels, target, _ = toy
    fit = dfu.bbse(probs, labels, target, soft=soft)
    plug_in = label_shift_conformal(probs, labels, fit, rng=1).thresholds
    one_way = label_shift_conformal(probs, labels, fit, robust="directional", rng=1)
    union = label_shift_conformal(probs, labels, estimate, robust=True, rng=1)
    assert (plug_in <= one_way.thresholds).all()
    assert (one_way.thresholds <= union.thresholds).all()
    assert one_way.robust == "directional"
    assert not one_way.guarantee.finite_sample
    with pytest.raises(dfu.InputError, match="union and directional sets have no p"):
        one_way.p_values(probs)


def test_directional_sets_need_an_estimate(toy):
    scenario, probs, labels, _, _ = toy
    priors = dfu.label_weights(scenario.source_prior, scenario.target_prior)
    for given in (scenario.label_weight, priors, dfu.Box([1] * 3, [1] * 3, True)):
        with pytest.raises(dfu.InputError, match="bbse, rlls or mlls"):
            label_shift_conformal(probs, labels, given, robust="directional")
    with pytest.raises(dfu.InputError, match="True, False or 'directional'"):
        label_shift_conformal(probs, labels, scenario.label_weight, robust="yes")


def test_a_class_that_is_not_told_from_others_makes_directional_sets_hold_everything():
    probs = np.repeat([[0.4, 0.3, 0.3], [0.2, 0.4, 0.4]], 60, axis=0)
    labels = np.tile([0, 0, 1, 2, 1, 2], 20)
    with pytest.warns(dfu.IdentificationWarning):
        estimate = dfu.bbse(probs, labels, probs[::2])
    with pytest.warns(dfu.IdentificationWarning, match="is not identified"):
        fit = label_shift_conformal(probs, labels, estimate, robust="directional")
    assert np.isinf(fit.thresholds).all()


def test_a_class_without_rows_is_always_in_directional_sets(toy):
    _, probs, labels, target, _ = toy
    here = labels != 1
    with pytest.warns(dfu.IdentificationWarning):
        estimate = dfu.mlls(probs[here], labels[here], target)
    with pytest.warns(dfu.SmallCalibrationWarning, match="class 1"):
        fit = label_shift_conformal(
            probs[here], labels[here], estimate, robust="directional", rng=0
        )
    assert np.isinf(fit.thresholds).tolist() == [False, True, False]


# ------------------------------------------------------------ for the draw at hand


def threshold_by_definition(scores, labels, law, alpha, delta, independent):
    """Return the smallest score from which on the bound is at most alpha."""
    q, v = law.center, law.covariance
    counts = np.bincount(labels, minlength=q.size)
    here = counts > 0
    z = max(0.0, float(special.ndtri(1.0 - delta)))
    found = np.inf
    for t in np.unique(scores)[::-1]:
        above = np.bincount(labels[scores > t], minlength=q.size)
        g = np.where(here, above / np.maximum(counts, 1), 0.0)
        mixed = np.where(here, (above + 10 * alpha) / (counts + 10.0), 0.0)
        factor = max(1.0, alpha / max(float(q @ mixed), 1e-6 * alpha))
        per_row = q**2 / np.maximum(counts, 1)
        plain = per_row @ (mixed * (1 - mixed))
        scaled = per_row @ (factor * mixed * (1 - factor * mixed))
        first, second = np.sqrt(max(float(g @ v @ g), 0.0)), np.sqrt(max(plain, scaled))
        error = np.hypot(first, second) if independent else first + second
        if q @ g + z * error > alpha:
            return found
        found = t
    return found


@pytest.mark.parametrize("independent", [False, True])
def test_the_threshold_for_the_draw_at_hand_is_that_of_the_definition(independent):
    rng = np.random.default_rng(3)
    finite = 0
    for n in (1, 5, 40, 300, 700) * 6:
        scores = np.sort(rng.integers(0, 60, n) / 60.0)
        labels = rng.integers(0, 3, n)
        half = rng.normal(0, 0.1, (3, 3))
        everywhere = np.ones(3, dtype=bool)
        law = LimitLaw(rng.dirichlet(np.ones(3)), half @ half.T, everywhere, everywhere)
        given = scores, labels, law, 0.3, float(rng.choice([0.05, 0.3, 0.7]))
        expected = threshold_by_definition(*given, independent)
        assert directional_pac_threshold(*given, independent) == expected
        finite += np.isfinite(expected)
    assert finite > 5


def test_the_draw_at_hand_is_covered_in_the_limit(toy, estimate):
    _, probs, labels, _, _ = toy
    sure = label_shift_conformal(
        probs, labels, estimate, robust="directional", confidence=0.95, rng=1
    )
    unsure = label_shift_conformal(probs, labels, estimate, rng=1)
    declared = label_shift_conformal(
        probs,
        labels,
        estimate,
        robust="directional",
        confidence=0.95,
        independent=True,
        rng=1,
    )
    assert np.unique(sure.thresholds).size == 1
    assert (unsure.thresholds < declared.thresholds).all()
    assert (declared.thresholds <= sure.thresholds).all()
    assert sure.guarantee.confidence == 0.95 and not sure.guarantee.finite_sample
    with pytest.raises(dfu.InputError, match="alpha"):
        sure.at(0.2)


def test_the_law_of_the_proportions_is_that_of_the_weights_without_their_own_noise(toy):
    # p known: the variance of q / p is that of q over p^2 plus that of the labels
    _, probs, labels, target, _ = toy
    fit = dfu.mlls(probs, labels, target)
    of_weights, of_prior = fit._limit_law(), fit._limit_law_of_prior()
    p = np.bincount(labels, minlength=3) / len(labels)
    np.testing.assert_allclose(of_prior.center, of_weights.center * p)
    assert of_prior.center.sum() == pytest.approx(1.0, abs=1e-6)
    # proportions sum to one, so that their errors sum to nothing
    assert (
        np.abs(of_prior.covariance.sum(axis=0)).max()
        < 0.2 * np.abs(of_prior.covariance).max()
    )
    assert (np.linalg.eigvalsh(of_prior.covariance) > -1e-8).all()
