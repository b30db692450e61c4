"""The printed terms of Park et al.'s bound estimate the theorem's expectations.

Each is a mean of bounded independent numbers, so that Hoeffding's inequality says how
far it may stray: at a false-alarm rate of 1e-6 for the whole file.
"""

import numpy as np
import pytest

from distfreeuq import bounds
from distfreeuq.covariate_shift.bound_estimate import estimate_bound

P = np.array([0.5, 0.3, 0.2])
Q = np.array([0.2, 0.3, 0.5])
LOSS = np.array([0.2, 1.1, 1.8])
GUESS = np.array([0.6, 0.55, 0.3])
WEIGHT = 1 / GUESS - 1
N = 200_000
CLAIMS = 12


def radius(width, n=N):
    return width * np.sqrt(np.log(2 * CLAIMS / 1e-6) / (2 * n))


def estimated(rng, p=P, q=Q):
    """Losses of 0 or 2 with the given means; a discriminator fitted elsewhere."""
    source, target = rng.choice(3, N, p=p), rng.choice(3, N, p=q)
    error = 2.0 * (rng.random(N) < LOSS[source] / 2)
    return estimate_bound(error, WEIGHT[source], WEIGHT[target], None)


def strays(found, terms):
    """Return, in units of the radius, how far each term is from its expectation."""
    supposed = 0.5 * (P + Q) @ (GUESS * (1 - GUESS))
    return {
        "target": (found.target_error - P @ (LOSS * WEIGHT)) / radius(2 * WEIGHT.max()),
        "weighted": (found.weighted_error - terms.weighted_error)
        / radius(2 * WEIGHT.max() + 1),
        "discriminator": (found.discriminator_error - terms.discriminator_error)
        / (0.5 * (radius(1) + radius(1))),
        "supposed": (found.supposed_best_error - supposed)
        / (0.5 * (radius(0.25) + radius(0.25))),
    }


@pytest.mark.parametrize("seed", range(2))
def test_terms_are_estimated_without_bias(seed):
    terms = bounds.covariate_shift_terms(P, Q, LOSS, GUESS)
    found = estimated(np.random.default_rng(seed))
    for name, stray in strays(found, terms).items():
        assert abs(stray) <= 1.0, name


def test_rows_of_the_wrong_sample_are_caught():
    terms = bounds.covariate_shift_terms(P, Q, LOSS, GUESS)
    found = estimated(np.random.default_rng(0), p=Q, q=P)
    far = strays(found, terms)
    assert min(abs(far[name]) for name in ("target", "weighted", "discriminator")) > 5.0


def test_the_bound_covers_the_target_error():
    terms = bounds.covariate_shift_terms(P, Q, LOSS, GUESS)
    found = estimated(np.random.default_rng(3))
    assert found.value >= terms.target_error
    true_excess = terms.discriminator_error - terms.best_discriminator_error
    factor = bounds.covariate_shift_factor(terms.upper)
    assert terms.target_error <= terms.weighted_error + factor * true_excess
