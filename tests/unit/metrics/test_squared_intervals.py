"""The interval of the l2 error: exact coverage by enumeration, and other solvers."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

import distfreeuq as dfu
from distfreeuq import metrics
from distfreeuq.metrics.squared_intervals import (
    deviation_budget,
    divergence,
    error_within,
)

P = np.array([0.05, 0.1, 0.3, 0.4, 0.6, 0.7, 0.9, 0.95])
CELLS = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def error(p, truth, cells):
    counts = np.bincount(cells)
    gaps = (np.bincount(cells, p) - np.bincount(cells, truth)) / counts
    return np.sqrt(counts @ gaps**2 / p.size)


@pytest.mark.parametrize("level", [0.3, 0.8])
@pytest.mark.parametrize("n_bins", [1, 2])
@pytest.mark.parametrize(
    "truth", [P, P**4, 1 - P, np.arange(8) % 2, np.full(8, 0.02)], ids=str
)
def test_coverage_is_exact_in_a_finite_space(truth, n_bins, level):
    cells = CELLS if n_bins == 2 else np.zeros(8, dtype=int)
    wanted, found, missed = error(P, truth, cells), {}, 0.0
    for hits in product([0, 1], repeat=8):
        sums = tuple(np.bincount(cells, hits))
        if sums not in found:
            found[sums] = metrics.l2_ece_interval(
                P, hits, n_bins=n_bins, level=level, event="class-1"
            )
        if not found[sums].low - 1e-9 <= wanted <= found[sums].high + 1e-9:
            missed += np.prod(np.where(hits, truth, 1.0 - truth))
    assert missed <= 1.0 - level + 1e-12


@pytest.mark.parametrize("alpha", [0.05, 0.5])
@pytest.mark.parametrize("q", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("n", [1, 4, 30])
def test_the_budget_holds_for_three_binomials(n, q, alpha):
    k = np.arange(n + 1)
    mass = stats.binom.pmf(k, n, q)
    each = n * divergence(k / n, np.full(n + 1, q))
    sums = each[:, None, None] + each[:, None] + each
    masses = mass[:, None, None] * mass[:, None] * mass
    assert masses[sums > deviation_budget(3, alpha)].sum() <= alpha


def test_the_budget_of_three_bins_by_hand():
    """Each bin adds log 2, and their excesses have a gamma law."""
    x = deviation_budget(3, 0.1) - 3.0 * np.log(2.0)
    assert np.exp(-x) * (1.0 + x + x**2 / 2.0) == pytest.approx(0.1)


def test_one_bin_by_hand():
    # all frequencies with n kl <= log 2 + log(1 / alpha): a bracket on either side
    n, k, c, alpha = 50.0, 10.0, 0.7, 0.05
    budget = np.log(2 / alpha)
    assert deviation_budget(1, alpha) == pytest.approx(budget)

    def over(q):
        return n * divergence(np.array(k / n), np.array(q)) - budget

    least = optimize.brentq(over, 1e-9, k / n)
    most = optimize.brentq(over, k / n, 1 - 1e-9)
    low, high = error_within(*map(np.array, ([n], [k], [c])), budget)
    assert low == pytest.approx(c - most, abs=1e-5) and low <= c - most + 1e-9
    assert high == pytest.approx(c - least, abs=1e-5) and high >= c - least - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_no_frequencies_in_budget_are_outside(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 60, 4).astype(float)
    c = rng.random(4)
    hits = rng.binomial(counts.astype(int), c).astype(float)
    budget = deviation_budget(4, 0.1)
    low, high = error_within(counts, hits, c, budget)
    q = rng.random((20_000, 4)) ** 2
    q = np.concatenate([q, c + (q - c) * rng.random((20_000, 1))])
    inside = (counts * divergence(hits / counts, q)).sum(axis=1) <= budget
    errors = np.sqrt((counts * (c - q) ** 2).sum(axis=1) / counts.sum())[inside]
    assert inside.sum() > 20
    assert low <= errors.min() and errors.max() <= high
    # near the best that a solver of the problem itself finds
    best = optimize.minimize(
        lambda q: counts @ (c - q) ** 2 / counts.sum(),
        np.clip(hits / counts, 0.01, 0.99),
        bounds=[(1e-6, 1 - 1e-6)] * 4,
        constraints={
            "type": "ineq",
            "fun": lambda q: budget - counts @ divergence(hits / counts, q),
        },
    )
    assert low == pytest.approx(np.sqrt(max(best.fun, 0.0)), abs=2e-3)


def test_estimates_are_the_metrics_and_order_changes_nothing():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = (probs + 0.3 * rng.random((200, 3))).argmax(axis=1)
    found = metrics.l2_ece_interval(probs, labels, scheme="uniform-mass", n_bins=4)
    given = {"scheme": "uniform-mass", "n_bins": 4}
    assert found.estimate == metrics.ece(probs, labels, norm="l2", **given)
    assert found.debiased == metrics.debiased_ece(probs, labels, **given)
    assert found.n == 200 and found.n_bins == 4
    assert 0 <= found.low < found.estimate < found.high < 1
    order = rng.permutation(200)
    again = metrics.l2_ece_interval(probs[order], labels[order], **given)
    assert again.low == pytest.approx(found.low, abs=1e-9)
    assert again.high == pytest.approx(found.high, abs=1e-9)


@pytest.mark.parametrize("y", [0, 1])
def test_certain_confidences(y):
    right = metrics.l2_ece_interval([float(y)] * 20, [y] * 20, event="class-1")
    assert right.low == 0.0 and right.high == pytest.approx(1 - 0.025**0.05, abs=1e-5)
    wrong = metrics.l2_ece_interval([1.0 - y] * 20, [y] * 20, event="class-1")
    assert wrong.low == pytest.approx(0.025**0.05, abs=1e-5) and wrong.high == 1.0


def test_one_row_says_nothing():
    found = metrics.l2_ece_interval([0.3], [1], event="class-1")
    assert found.low == 0.0 and found.high == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 1.0}, "'level'"),
        ({"n_bins": 0}, "'n_bins'"),
        ({"scheme": "other"}, "'scheme'"),
        ({"labels": [2, 0]}, "'labels'"),
        ({"probs": [0.5, np.nan]}, "'probs'"),
        ({"probs": [], "labels": []}, "'probs'"),
    ],
)
def test_what_is_refused(change, message):
    given = {"probs": [0.5, 0.6], "labels": [0, 1], "event": "class-1", **change}
    with pytest.raises(dfu.InputError, match=message):
        metrics.l2_ece_interval(**given)
