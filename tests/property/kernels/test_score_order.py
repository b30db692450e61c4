"""Scores in ascending order: equal to the definition, however they are spread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
