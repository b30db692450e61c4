"""The largest error over a ball: no law of the ball exceeds it, and one attains it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from distfreeuq.binning.target_error import largest_error

LAWS = st.lists(st.integers(0, 9), min_size=3, max_size=5).filter(any)


def reweighted(pi, w):
    return pi * w / (pi * w).sum()


def by_programs(pi, eps, w):
    """Return the same by 2^K - 2 linear programs (Charnes and Cooper)."""
    K = pi.size
    worst = 0.0
    for code in range(1, 2**K - 1):
        inside = np.array([code >> k & 1 for k in range(K)], dtype=float)
        # y = t pi, w.y = 1; |y - t pi_hat| <= s, sum s <= eps t
        cost = np.concatenate([w * inside, np.zeros(K + 1)])
        eye = np.eye(K)
        rows = [
            np.hstack([eye, -eye, -pi[:, None]]),
            np.hstack([-eye, -eye, pi[:, None]]),
            np.concatenate([np.zeros(K), np.ones(K), [-eps]])[None],
        ]
        equal = [
            np.concatenate([w, np.zeros(K + 1)]),
            np.concatenate([np.ones(K), np.zeros(K), [-1.0]]),
        ]
        found = linprog(
            cost,
            A_ub=np.vstack(rows),
            b_ub=np.zeros(2 * K + 1),
            A_eq=np.vstack(equal),
            b_eq=[1.0, 0.0],
            bounds=[(0, None)] * (2 * K + 1),
        )
        worst = max(worst, 2.0 * (reweighted(pi, w) @ inside - found.fun))
    return worst


@given(LAWS, st.data())
def test_it_is_the_largest_of_the_linear_fractional_programs(masses, data):
    pi = np.array(masses, dtype=float) / sum(masses)
    sizes = st.lists(
        st.sampled_from([0.5, 1.0, 2.0, 8.0]), min_size=pi.size, max_size=pi.size
    )
    w = np.array(data.draw(sizes))
    eps = data.draw(st.sampled_from([0.02, 0.1, 0.4, 1.0]))
    found = largest_error(pi[None], np.array([eps]), w)[0]
    np.testing.assert_allclose(found, by_programs(pi, eps, w), atol=1e-6)


@given(LAWS, st.integers(0, 2**32 - 1))
def test_no_law_of_the_ball_exceeds_it(masses, seed):
    rng = np.random.default_rng(seed)
    pi = np.array(masses, dtype=float) / sum(masses)
    w = rng.choice([0.0, 0.3, 1.0, 5.0], pi.size)
    if (w * pi).sum() == 0.0:
        w += 0.1
    eps = rng.uniform(0.01, 0.8)
    found = largest_error(pi[None], np.array([eps]), w)[0]
    assert found <= min(2.0, w.max() * eps / (w @ pi)) + 1e-8
    for q in rng.dirichlet(np.full(pi.size, 0.3), 50):
        distance = np.abs(q - pi).sum()
        other = pi + min(1.0, eps / distance) * (q - pi) if distance else pi
        if w @ other > 1e-12:
            error = np.abs(reweighted(pi, w) - reweighted(other, w)).sum()
            assert error <= found + 1e-9


def test_by_hand():
    """A quarter of the mass may move to or from class 1, of four times the weight."""
    pi, w = np.array([[0.5, 0.25, 0.25]]), np.array([1.0, 4.0, 1.0])
    before, after = reweighted(pi[0], w), reweighted(np.array([0.25, 0.5, 0.25]), w)
    downwards = reweighted(np.array([0.75, 0.0, 0.25]), w)
    expected = max(np.abs(before - after).sum(), np.abs(before - downwards).sum())
    found = largest_error(pi, np.array([0.5]), w)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_bins_that_say_nothing():
    w = np.array([2.0, 2.0, 0.0])
    frequencies = np.array([[0.1, 0.0, 0.9], [np.nan] * 3, [0.0, 0.0, 1.0]])
    assert largest_error(frequencies, np.full(3, 0.2), w).tolist() == [2.0, 2.0, 2.0]
    assert 0.0 < largest_error(frequencies[:1], np.array([0.1]), w)[0] <= 1.0 + 1e-8
