"""Bins: a value on an edge goes where the closure says, and counts add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _bins
from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel

tenths = st.integers(0, 10).map(lambda j: j / 10)
edge_lists = st.lists(st.one_of(tenths, st.floats(0.0, 1.0)), max_size=40).map(sorted)
value_lists = st.lists(st.one_of(tenths, st.floats(0.0, 1.0)), max_size=40)
dtypes = st.sampled_from([np.float32, np.float64])


@given(value_lists, edge_lists, st.booleans(), dtypes)
def test_bins_equal_the_definition(values, edges, closed_right, dtype):
    edges = np.array(edges, dtype=dtype)
    values = np.concatenate([np.array(values, dtype=dtype), edges, [0.0, 1.0]])
    values = values.astype(dtype)
    got = kernel.assign_bins(values, edges, closed_right)
    np.testing.assert_array_equal(got, twin.assign_bins(values, edges, closed_right))
    side = "left" if closed_right else "right"
    np.testing.assert_array_equal(got, np.searchsorted(edges, values, side=side))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_belong_to_the_closed_side(dtype):
    edges = np.array([0.25, 0.5, 0.5, 0.75], dtype=dtype)  # the third bin is empty
    values = np.array([0.0, 0.25, 0.5, 0.6, 0.75, 1.0], dtype=dtype)
    right = kernel.assign_bins(values, edges, True)
    left = kernel.assign_bins(values, edges, False)
    assert right.tolist() == [0, 0, 1, 3, 3, 4]
    assert left.tolist() == [0, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("closed_right", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_edges_there_is_one_bin(closed_right, dtype):
    none = np.empty(0, dtype=dtype)
    values = np.array([0.0, 0.3, 1.0], dtype=dtype)
    assert kernel.assign_bins(values, none, closed_right).tolist() == [0, 0, 0]
    assert kernel.assign_bins(none, none, closed_right).size == 0
    assert kernel.assign_bins(none, values, closed_right).size == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("closed_right", [False, True])
@pytest.mark.parametrize("n_edges", [1, 99, 5000])
def test_many_values_and_threads(dtype, closed_right, n_edges):
    rng = np.random.default_rng(3)
    edges = np.sort(rng.random(n_edges))
    edges[::3] = np.round(edges[::3] * 64) / 64  # tied edges, some at the ends
    edges = np.sort(edges).astype(dtype)
    values = np.concatenate(
        [rng.random(60_000), np.arange(8193) / 8192, np.repeat(edges, 2)]
    ).astype(dtype)
    one = kernel.assign_bins(values, edges, closed_right, threads=1)
    two = kernel.assign_bins(values, edges, closed_right, threads=2)
    np.testing.assert_array_equal(one, two)
    side = "left" if closed_right else "right"
    np.testing.assert_array_equal(one, np.searchsorted(edges, values, side=side))


@st.composite
def binned_rows(draw):
    n_bins, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    row = st.tuples(
        st.integers(0, n_bins - 1),
        st.integers(0, n_classes - 1),
        st.one_of(st.just(0.0), st.floats(0.0, 1e6)),
    )
    rows = draw(st.lists(row, max_size=40))
    bins = np.array([m for m, _, _ in rows], dtype=np.int64)
    labels = np.array([k for _, k, _ in rows], dtype=np.int64)
    return bins, labels, np.array([w for _, _, w in rows]), n_bins, n_classes


@given(binned_rows())
def test_counts_equal_the_definition_and_are_added_to_what_is_there(case):
    bins, labels, _, n_bins, n_classes = case
    out = np.zeros((n_bins, n_classes), dtype=np.int64)
    _bins._count_labels(bins, labels, out)
    np.testing.assert_array_equal(
        out, twin.count_labels(bins, labels, n_bins, n_classes)
    )
    assert out.sum() == bins.size
    once = out.copy()
    _bins._count_labels(bins, labels, out)
    np.testing.assert_array_equal(out, 2 * once)


@given(binned_rows())
def test_weights_equal_the_definition(case):
    bins, labels, weights, n_bins, n_classes = case
    out = np.zeros((n_bins, n_classes))
    _bins._sum_label_weights(bins, labels, weights, out)
    np.testing.assert_array_equal(
        out, twin.sum_label_weights(bins, labels, weights, n_bins, n_classes)
    )


@given(binned_rows())
def test_unit_weights_are_counts(case):
    bins, labels, _, n_bins, n_classes = case
    weights = np.zeros((n_bins, n_classes))
    _bins._sum_label_weights(bins, labels, np.ones(bins.size), weights)
    np.testing.assert_array_equal(
        weights, twin.count_labels(bins, labels, n_bins, n_classes)
    )
