"""Excess risk of fitted temperatures, exactly: one row of logits, binomial labels.

A population with one row of logits has samples that are counts, so that the probability
that the excess risk exceeds its bound is a binomial sum at any number of rows.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import stats

import distfreeuq as dfu
from distfreeuq import bounds
from distfreeuq._base.arguments import Arguments
from distfreeuq.calibration.data import read_rows
from distfreeuq.calibration.guarantees import tight_excess_risk
from tests.exact.search import assert_caught, assert_holds

DELTA = 0.05
"""The failure probability of the guarantee that temperature scaling prints."""
ALPHAS = (0.1, 2.0)


class Population(NamedTuple):
    """Logits (0, spread), and P(Y = 1) in 20ths; the loss, and how many rows."""

    spread: float
    right: int
    loss: str
    n: int


POPULATIONS = st.builds(
    Population,
    spread=st.sampled_from([0.5, 2.0, 6.0]),
    right=st.integers(0, 20),
    loss=st.sampled_from(["brier", "nll"]),
    n=st.sampled_from([2, 5, 20, 60]),
)


def risk(pop: Population, alpha: float) -> float:
    """Return the expected loss: the Brier score, or the NLL."""
    one = 1.0 / (1.0 + np.exp(-alpha * pop.spread))
    share = pop.right / 20
    if pop.loss == "nll":
        return float(-share * np.log(one) - (1 - share) * np.log1p(-one))
    return float(2 * (share * (1 - one) ** 2 + (1 - share) * one**2))


@lru_cache(maxsize=10_000)
def fitted(spread: float, hits: int, n: int, loss: str) -> tuple[float, float]:
    """Return the inverse temperature, and the bound that the guarantee states.

    It is stated whether or not it is below what needs no data.
    """
    logits = np.tile([0.0, spread], (n, 1))
    labels = (np.arange(n) < hits).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)  # at its bound, by chance
        fit = dfu.temperature_scaling(logits, labels, loss=loss, bounds=ALPHAS)
    rows = read_rows(Arguments("test"), logits, labels, None, None)
    bound = tight_excess_risk(rows, loss, n, 1, DELTA, ALPHAS, 0.0, None)
    if fit.guarantee:
        assert fit.guarantee.upper == bound
    return float(fit.inverse_temperature), bound


def best(pop: Population) -> float:
    return min(risk(pop, alpha) for alpha in np.linspace(*ALPHAS, 2001))


def exceeding(pop: Population, factor: float = 1.0) -> float:
    """Return the probability that the excess risk is above `factor` of the bound."""
    least = best(pop)
    mass = stats.binom.pmf(np.arange(pop.n + 1), pop.n, pop.right / 20)
    total = 0.0
    for hits in range(pop.n + 1):
        alpha, bound = fitted(pop.spread, hits, pop.n, pop.loss)
        if risk(pop, alpha) - least > factor * bound + 1e-9:
            total += float(mass[hits])
    return total


def test_the_excess_risk_of_a_temperature():
    assert_holds(POPULATIONS, lambda pop: exceeding(pop) > DELTA + 1e-9, 60)


def test_a_hundredth_of_the_bound_is_caught():
    assert_caught(POPULATIONS, lambda pop: exceeding(pop, 0.01) > DELTA + 1e-9, 60)


def paper_bound(pop: Population, n: int, factor: float) -> float:
    constants = bounds.half_brier_constants(pop.spread)
    half = bounds.cts_class_excess_risk(
        [n, n],
        2,
        0.2,
        alpha_bounds=ALPHAS,
        lipschitz=constants.lipschitz,
        loss_bound=constants.loss_bound,
    )
    return 2.0 * factor * float(half[0])  # the Brier score is twice the half


def some_class_exceeds(pop: Population, factor: float = 1.0) -> bool:
    """Whether one of two equal, independent classes exceeds its bound too often."""
    pop = pop._replace(loss="brier")
    least, bound = best(pop), paper_bound(pop, pop.n, factor)
    mass = stats.binom.pmf(np.arange(pop.n + 1), pop.n, pop.right / 20)
    one = sum(
        float(mass[hits])
        for hits in range(pop.n + 1)
        if risk(pop, fitted(pop.spread, hits, pop.n, pop.loss)[0]) - least > bound
    )
    return 1.0 - (1.0 - one) ** 2 > 0.2 + 1e-9


def test_every_predicted_class_as_the_paper_bounds_it():
    assert_holds(POPULATIONS, some_class_exceeds, 60)


def test_a_thousandth_of_the_paper_s_bound_is_caught():
    assert_caught(POPULATIONS, lambda pop: some_class_exceeds(pop, 1e-3), 60)
