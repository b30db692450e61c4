"""Scores in ascending order: equal to the definition, however they are spread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._numerics.quantiles import in_order_with_labels
from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel

SPREADS = {
    "even": lambda rng, n: rng.random(n),
    "negative": lambda rng, n: rng.standard_normal(n),
    "logarithmic": lambda rng, n: np.exp(-700.0 * rng.random(n)),
    "few values": lambda rng, n: rng.integers(0, 3, n) / 3,
    "all equal": lambda rng, n: np.full(n, 0.3),
    "signed zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "many ones": lambda rng, n: np.where(rng.random(n) < 0.7, 1.0, rng.random(n)),
    "one far off": lambda rng, n: np.append(rng.random(n - 1), 1e300),
    "one infinite": lambda rng, n: np.append(rng.random(n - 1), np.inf),
    "both infinite": lambda rng, n: np.append(rng.random(n - 2), [np.inf, -np.inf]),
    "next to each other": lambda rng, n: 1.0 + rng.integers(0, 99, n) * 2.0**-52,
    "next to each other, and one": lambda rng, n: np.append(
        1.0 + rng.integers(0, 99, n - 1) * 2.0**-52, -1e300
    ),
    "tiny": lambda rng, n: rng.integers(0, 99, n) * 5e-324,
    "ascending": lambda rng, n: np.sort(rng.random(n)),
    "descending": lambda rng, n: np.sort(rng.random(n))[::-1].copy(),
}


@given(
    st.sampled_from(list(SPREADS)),
    st.integers(2, 300),
    st.integers(0, 2**32 - 1),
)
def test_order_equals_the_definition(spread, n, seed):
    values = SPREADS[spread](np.random.default_rng(seed), n)
    for got, want in zip(
        kernel.sort_scores(values), twin.sort_scores(values), strict=True
    ):
        np.testing.assert_array_equal(got, want)


@given(st.lists(st.floats(allow_nan=False), max_size=80))
def test_any_numbers_at_all(numbers):
    values = np.array(numbers, dtype=np.float64)
    for got, want in zip(
        kernel.sort_scores(values), twin.sort_scores(values), strict=True
    ):
        np.testing.assert_array_equal(got, want)


def same_bits(got, want):
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@given(
    st.sampled_from(list(SPREADS)),
    st.integers(2, 300),
    st.sampled_from([np.uint8, np.uint16, np.int32, np.int64]),
    st.integers(1, 50),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_labels_go_along_with_their_values(spread, n, dtype, n_cells, threads, seed):
    generator = np.random.default_rng(seed)
    values = SPREADS[spread](generator, n)
    labels = generator.integers(0, 200, n).astype(dtype)
    got = kernel.sort_labelled(values, labels, n_cells, threads)
    same_bits(got, twin.sort_labelled(values, labels))


@given(st.lists(st.floats(allow_nan=False), max_size=80), st.integers(1, 90))
def test_any_numbers_with_labels(numbers, n_cells):
    values, labels = np.array(numbers, dtype=float), np.arange(len(numbers))
    got = kernel.sort_labelled(values, labels, n_cells)
    same_bits(got, twin.sort_labelled(values, labels))


@pytest.mark.parametrize("spread", SPREADS)
def test_many_with_labels(spread):
    generator = np.random.default_rng(5)
    values = SPREADS[spread](generator, 100_000)
    labels = generator.integers(0, 7, values.size).astype(np.uint8)
    order = np.argsort(values, kind="stable")
    got = in_order_with_labels(values, labels)
    same_bits(got, (values[order], labels[order]))


@pytest.mark.parametrize("spread", SPREADS)
def test_many(spread):
    values = SPREADS[spread](np.random.default_rng(5), 30_000)
    ascending, order = kernel.sort_scores(values)
    want = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(order, want)
    np.testing.assert_array_equal(ascending, values[want])


def test_the_largest_values_of_many_small_samples():
    # the largest may be rounded into the bucket before its own, and then not stand last
    rng = np.random.default_rng(6)
    for values in rng.random((500, 65)):
        ascending, order = kernel.sort_scores(values)
        want = np.argsort(values, kind="stable")
        np.testing.assert_array_equal(order, want)
        np.testing.assert_array_equal(ascending, values[want])
