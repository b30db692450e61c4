"""Theorem 1 of Park et al. (2020) by enumeration: any p, q, forecast, discriminator."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq import bounds


def calibration_error(q, forecast, label_law):
    """E_q ||f - c||^2 with c_k(x) = P_q(y = k | f_k(x)), x on finitely many points."""
    total = 0.0
    for k in range(forecast.shape[1]):
        for value in np.unique(forecast[:, k]):
            same = forecast[:, k] == value
            mass = q[same].sum()
            if mass > 0.0:
                frequency = q[same] @ label_law[same, k] / mass
                total += mass * (value - frequency) ** 2
    return total


def expected_loss(forecast, label_law):
    """E[||f(x) - y||^2 | x] for every point."""
    labels = np.eye(forecast.shape[1])
    distance = ((forecast[:, None, :] - labels[None]) ** 2).sum(axis=2)
    return (distance * label_law).sum(axis=1)


@st.composite
def worlds(draw):
    """Laws on up to five points, a forecast, the labels' law, and a discriminator."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, k = draw(st.integers(1, 5)), draw(st.sampled_from([2, 3, 31]))
    p = rng.dirichlet(np.full(m, draw(st.sampled_from([0.3, 1.0, 5.0])))) + 1e-4
    p /= p.sum()
    q = rng.dirichlet(np.full(m, draw(st.sampled_from([0.1, 1.0, 5.0]))))
    spread = draw(st.sampled_from([0.02, 1.0]))  # often certain, often wrong
    forecast = np.round(rng.dirichlet(np.full(k, spread), m), 1)
    forecast /= np.maximum(forecast.sum(axis=1, keepdims=True), 1e-9)
    forecast[forecast.sum(axis=1) == 0.0] = 1.0 / k
    label_law = rng.dirichlet(np.full(k, spread), m)
    exact = p / (p + q)
    noise = draw(st.sampled_from([0.0, 0.1, 1.0]))
    guess = np.clip(exact + noise * rng.normal(size=m), 0.01, 1.0)
    return p, q, forecast, label_law, guess


@given(worlds(), st.sampled_from([0.05, 0.5, 1.0, 4.0]))
def test_repaired_bound_holds(world, t):
    p, q, forecast, label_law, guess = world
    loss = np.clip(expected_loss(forecast, label_law), 0.0, 2.0)
    terms = bounds.covariate_shift_terms(p, q, loss, guess, t=t)
    error = calibration_error(q, forecast, label_law)
    assert error <= terms.target_error + 1e-12
    forms = ("sharp", "simple", "printed") if t == 0.5 else ("sharp", "simple")
    for form in forms:
        bound = bounds.covariate_shift_bound(
            terms.weighted_error,
            terms.discriminator_error,
            terms.best_discriminator_error,
            upper=terms.upper,
            t=t,
            form=form,
        )
        assert terms.target_error <= bound + 1e-9


@given(worlds())
def test_excess_of_the_discriminator_is_its_distance_from_the_best(world):
    p, q, _, _, guess = world
    terms = bounds.covariate_shift_terms(p, q, np.zeros(p.size), guess)
    distance = 0.5 * (p + q) @ (guess - p / (p + q)) ** 2
    excess = terms.discriminator_error - terms.best_discriminator_error
    np.testing.assert_allclose(excess, distance, atol=1e-12)


def test_the_same_enumeration_catches_the_printed_bound():
    rng = np.random.default_rng(0)
    failures = 0
    for _ in range(2000):
        p, q = rng.dirichlet(np.ones(2)) * 0.98 + 0.01, rng.dirichlet(np.ones(2))
        forecast, label_law = np.eye(3)[rng.choice(3, 2, replace=False)], np.eye(3)
        label_law = label_law[rng.integers(0, 3, 2)]
        loss = expected_loss(forecast, label_law)
        terms = bounds.covariate_shift_terms(p, q, loss, p / (p + q))
        printed = bounds.covariate_shift_bound_printed(terms)
        error = calibration_error(q, forecast, label_law)
        failures += error > printed + 1e-9
        repaired = bounds.covariate_shift_bound(
            terms.weighted_error, terms.discriminator_error, upper=terms.upper
        )
        assert error <= repaired
    assert failures > 100
