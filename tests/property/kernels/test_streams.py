"""Places in a growing line, and bets on them: kernels against twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _streams
from distfreeuq.monitoring.streams.wealth import FAMILIES, first_wealth
from tests import reference_kernels as twin

SEEDS = st.integers(0, 2**32 - 1)


def ranked(cells, uniforms, counts):
    p, q = np.full((2, cells.size), np.nan)
    tree = np.full_like(counts, -7)
    _streams._rank_in_line(cells, uniforms, counts, tree, int(counts.sum()), p, q)
    return p, q


@given(SEEDS, st.integers(1, 70), st.integers(0, 60))
def test_kernel_equals_twin_with_a_tree_and_without(seed, n_cells, n):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, n_cells)
    cells = rng.integers(0, n_cells, n).astype(np.int32)
    uniforms = np.where(rng.random(n) < 0.2, 0.0, rng.random(n))
    ours, theirs = counts.copy(), counts.copy()
    found = ranked(cells, uniforms, ours)
    expected = twin.rank_in_line(cells, uniforms, theirs)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ours, theirs)
    assert (found[0] > 0).all() and (found[1] > 0).all()


@given(SEEDS)
def test_rows_in_two_batches_stand_where_they_would_in_one(seed):
    rng = np.random.default_rng(seed)
    counts, cells = rng.integers(0, 9, 64), rng.integers(0, 64, 40).astype(np.int32)
    uniforms, cut = rng.random(40), int(rng.integers(0, 41))
    whole = ranked(cells, uniforms, counts.copy())
    first = ranked(cells[:cut], uniforms[:cut], counts)
    second = ranked(cells[cut:], uniforms[cut:], counts)
    np.testing.assert_array_equal(np.hstack([first, second]), whole)


@given(SEEDS, st.integers(1, 40), st.sampled_from([1.0, 0.2, 4.0]))
def test_bets_equal_their_twin(seed, n, power):
    rng = np.random.default_rng(seed)
    p = rng.random(n) ** power
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    wealth = first_wealth(FAMILIES, 3)
    after, log_wealth = wealth.after(p, 1.0 - p, 0)
    expected, runs = twin.bet_on(
        p, 1.0 - p, wealth.start, wealth.shares, wealth.pieces, wealth.growth,
        wealth.prior,
    )  # fmt: skip
    np.testing.assert_allclose(log_wealth, expected, rtol=1e-9, atol=1e-9)
    assert np.isclose(after.log_wealth, log_wealth[-1], atol=1e-12)
    running = np.flatnonzero(after.since_best > 1.0 + 1e-9)
    best, begun = runs.max(axis=1)[running], after.best_start[running]
    np.testing.assert_allclose(np.log(after.since_best[running]), best, atol=1e-9)
    np.testing.assert_allclose(runs[running, begun], best, atol=1e-9)


def test_capital_beyond_the_range_of_doubles_goes_on():
    p = np.full(5000, 1e-9)
    after, log_wealth = first_wealth(("power",), 2).after(p, 1.0 - p, 0)
    assert np.isfinite(log_wealth).all() and log_wealth[-1] > 10_000
    assert np.isfinite(after.capital).all() and after.log_scale > 10_000
