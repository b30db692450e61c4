"""Uniforms that belong to the rows: kernel against twin, functions of rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from distfreeuq._kernels import _row_hash
from tests import reference_kernels as twin

SEEDS = st.integers(0, 2**32 - 1)
KEYS = st.integers(0, 2**64 - 1)


def hashed(probs, key, threads=1):
    out = np.full(probs.shape[0], np.nan)
    keys = np.empty(probs.shape[1] + 1, dtype=np.uint64)
    _row_hash._hash_rows(np.ascontiguousarray(probs), key, keys, out, threads)
    return out


def some_rows(seed, dtype):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 40), rng.integers(2, 40)
    values = [0.0, -0.0, 1.0, 0.5, 1 / 3, 5e-324, np.nextafter(1.0, 0.0)]
    return np.where(
        rng.random(shape) < 0.5, rng.choice(values, shape), rng.random(shape)
    ).astype(dtype)


@given(SEEDS, KEYS, st.sampled_from([np.float32, np.float64]))
def test_kernel_equals_twin(seed, key, dtype):
    rows = some_rows(seed, dtype)
    np.testing.assert_array_equal(hashed(rows, key), twin.hash_rows(rows, key))


@given(SEEDS, KEYS)
def test_a_row_has_its_uniform_in_any_batch_order_and_precision(seed, key):
    rows = some_rows(seed, np.float32)
    whole = hashed(rows, key)
    np.testing.assert_array_equal(hashed(rows[::-1], key), whole[::-1])
    np.testing.assert_array_equal(hashed(rows[:1], key), whole[:1])
    np.testing.assert_array_equal(hashed(rows.astype(np.float64), key), whole)
    np.testing.assert_array_equal(hashed(rows, key, threads=2), whole)


@given(KEYS)
def test_zeros_of_either_sign_are_one_row(key):
    rows = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert np.unique(hashed(rows, key)).size == 1


def test_uniforms_are_uniform_and_uncorrelated():
    """Few distinct entries: the rows that a hash could least tell apart."""
    rng = np.random.default_rng(0)
    rows = np.unique(rng.multinomial(40, [0.25] * 4, size=200_000), axis=0) / 40
    for key in (0, 1, 2**63):
        u = hashed(rows, key)
        assert np.unique(u).size == len(rows)
        assert stats.kstest(u, "uniform").pvalue > 1e-5
        for lag in (1, 2, 7):
            r = np.corrcoef(u[:-lag], u[lag:])[0, 1]
            assert abs(r) * np.sqrt(len(rows)) < 5
    other = np.corrcoef(hashed(rows, 0), hashed(rows, 1))[0, 1]
    assert abs(other) * np.sqrt(len(rows)) < 5
