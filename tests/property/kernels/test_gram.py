"""Gram kernels equal their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _gram as kernels
from tests import reference_kernels as twin
from tests.property.strategies import scored_rows

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@given(scored_rows(), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_second_moments_equal_the_definition(rows, n_blocks, seed):
    scale = np.random.default_rng(seed).normal(size=len(rows.labels))
    partial = np.zeros((n_blocks, rows.n_classes, rows.n_classes))
    kernels._gram_rows(rows.probs, scale, False, partial, 1)
    want = twin.gram_rows(rows.probs, scale)
    np.testing.assert_allclose(partial.sum(axis=0), want, **CLOSE)
    one, none = np.zeros_like(partial), np.zeros_like(partial)
    kernels._gram_rows(rows.probs, np.ones_like(scale), False, one, 1)
    kernels._gram_rows(rows.probs, np.empty(0), False, none, 1)
    np.testing.assert_array_equal(one, none)
    rough = np.zeros_like(partial)
    kernels._gram_rows(rows.probs, scale, True, rough, 1)
    np.testing.assert_allclose(
        rough.sum(axis=0), want, rtol=1e-5, atol=1e-5 * (scale @ scale)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("shape", [(5_000, 3), (1_000, 101)])
def test_second_moments_of_more_rows_than_a_block_holds(shape, single, dtype):
    # whole eighths and scales: sums are exact, even in single precision
    rng = np.random.default_rng(1)
    rows = (rng.integers(0, 9, shape) / 8).astype(dtype)
    scale = rng.integers(1, 3, shape[0]).astype(np.float64)
    partial = np.zeros((1, shape[1], shape[1]))
    kernels._gram_rows(rows, scale, single, partial, 1)
    np.testing.assert_array_equal(partial[0], twin.gram_rows(rows, scale))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("shape", [(40_000, 3), (3_000, 101)])
def test_threads_change_no_bit(shape, single, dtype):
    rng = np.random.default_rng(0)
    rows, scale = rng.random(shape).astype(dtype), rng.random(shape[0])
    one, three = np.zeros((2, 7, shape[1], shape[1]))
    kernels._gram_rows(rows, scale, single, one, 1)
    kernels._gram_rows(rows, scale, single, three, 3)
    np.testing.assert_array_equal(one, three)


def test_no_rows_are_no_work():
    partial = np.zeros((1, 3, 3))
    kernels._gram_rows(np.empty((0, 3)), np.empty(0), False, partial, 1)
    assert not partial.any()
