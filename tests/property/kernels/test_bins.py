"""Kernels of binning do what their slow twins say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _bins
from tests import reference_kernels as twin
from tests.property.strategies import scored_rows

tenths = st.integers(0, 10).map(lambda i: i / 10)
scores = st.one_of(tenths, st.floats(0.0, 1.0), st.sampled_from([1e-300, 1 + 1e-7]))
dtypes = st.sampled_from([np.float32, np.float64])
edge_lists = st.lists(scores, max_size=8).map(sorted)


@st.composite
def vectors(draw, strided=True):
    """Draw scores, now and then as the column of a matrix."""
    values = np.array(draw(st.lists(scores, max_size=40)), dtype=draw(dtypes))
    if strided and draw(st.booleans()):
        matrix = np.full((values.size, 3), 7.0, dtype=values.dtype)
        matrix[:, 1] = values
        return matrix[:, 1]
    return values


@given(vectors(), st.sampled_from([1, 2, 16, 1024]))
def test_buckets_are_counted(values, size):
    out = np.ones(size, dtype=np.int64)
    _bins._count_buckets(values, out)
    np.testing.assert_array_equal(out, 1 + twin.count_buckets(values, size))


def test_values_beyond_the_unit_interval_are_in_the_end_buckets():
    out = np.zeros(8, dtype=np.int64)
    values = np.array([-np.inf, -1.0, -0.0, 1.0, 2.0, 1e300, np.inf, np.nan])
    _bins._count_buckets(values, out)
    assert out.tolist() == [3, 0, 0, 0, 0, 0, 0, 5]


@given(vectors(), st.integers(0, 2**16 - 1))
def test_wanted_buckets_are_gathered_in_order(values, code):
    wanted = np.array([code >> j & 1 for j in range(16)], dtype=np.uint8)
    expected = twin.gather_buckets(values, wanted)
    out = np.full(expected.size + 1, 9, dtype=values.dtype)
    _bins._gather_buckets(values, wanted, out)
    np.testing.assert_array_equal(out[:-1], expected)


@st.composite
def tables(draw):
    """Draw scores, some of them edges, labels, edges and which of these are dropped."""
    values, n_labels = draw(vectors()), draw(st.integers(1, 4))
    edges = np.array(draw(edge_lists), dtype=values.dtype)
    labels = draw(
        st.lists(
            st.integers(0, n_labels - 1), min_size=values.size, max_size=values.size
        )
    )
    # equal edges are dropped together or not at all
    flags = {float(e): draw(st.booleans()) for e in edges}
    dropped = np.array([flags[float(e)] for e in edges], dtype=bool)
    return values, np.array(labels, dtype=np.int64), edges, dropped, n_labels


@given(tables(), st.integers(1, 5), st.integers(1, 2))
def test_tables_equal_the_definition(case, n_blocks, threads):
    values, labels, edges, dropped, n_labels = case
    counts = np.zeros((n_blocks, edges.size + 1, n_labels), dtype=np.int64)
    totals = np.zeros((n_blocks, edges.size + 1))
    _bins._tabulate_scores(
        values, labels, edges, dropped.astype(np.uint8), counts, totals, threads
    )
    rows, sums = twin.tabulate_scores(values, labels, edges, dropped, n_labels)
    np.testing.assert_array_equal(counts.sum(axis=0), rows)
    np.testing.assert_allclose(totals.sum(axis=0), sums, rtol=1e-12)


@given(scored_rows(), edge_lists, st.integers(1, 5), st.integers(1, 2))
def test_tables_of_all_columns_equal_the_definition(rows, edges, n_blocks, threads):
    n_classes, edges = rows.probs.shape[1], np.array(edges, dtype=rows.probs.dtype)
    shape = (n_blocks, edges.size + 1, n_classes)
    counts, totals = np.zeros((*shape, n_classes), dtype=np.int64), np.zeros(shape)
    _bins._tabulate_columns(rows.probs, rows.labels, edges, counts, totals, threads)
    expected, sums = twin.tabulate_columns(rows.probs, rows.labels, edges)
    np.testing.assert_array_equal(counts.sum(axis=0), expected)
    np.testing.assert_allclose(totals.sum(axis=0), sums, rtol=1e-12)


@given(vectors(), edge_lists, st.integers(1, 4), st.integers(1, 3))
def test_rows_of_bins_are_taken(values, edges, width, threads):
    edges = np.array(edges, dtype=values.dtype)
    rows = np.arange((edges.size + 1) * width, dtype=values.dtype).reshape(-1, width)
    out = np.full((values.size, width), -1, dtype=values.dtype)
    _bins._take_rows_of_bins(values, edges, rows, out, threads)
    np.testing.assert_array_equal(out, rows[twin.assign_bins(values, edges, True)])


@given(vectors(), edge_lists, st.data())
def test_marks_on_edges_equal_the_definition(values, edges, data):
    edges = np.sort(np.array(edges, dtype=values.dtype))
    excepted = np.array(
        data.draw(st.lists(st.booleans(), min_size=edges.size, max_size=edges.size)),
        dtype=bool,
    )
    before = np.arange(values.size) % 3 == 0
    for threads in (1, 2):
        marks = before.copy()
        _bins._mark_on_edges(
            values, edges, excepted.view(np.uint8), marks.view(np.uint8), threads
        )
        want = before | twin.mark_on_edges(values, edges, excepted)
        np.testing.assert_array_equal(marks, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_crowded_edges_of_many_values(dtype):
    """Edges closer to each other than buckets are wide, and values on them."""
    rng = np.random.default_rng(0)
    edges = np.unique(0.3 + 1e-5 * rng.random(50)).astype(dtype)
    values = np.concatenate([rng.random(20_000), 0.3 + 1e-5 * rng.random(9_000), edges])
    values = values.astype(dtype)
    out = np.empty(values.size, dtype=np.int64)
    for threads in (1, 2):
        _bins._assign_bins(values, edges, True, out, threads)
        np.testing.assert_array_equal(out, np.searchsorted(edges, values, side="left"))
        _bins._assign_bins(values, edges, False, out, threads)
        np.testing.assert_array_equal(out, np.searchsorted(edges, values, side="right"))


@st.composite
def trees(draw):
    """Draw a random tree of splits: leaves become splits one after the other."""
    n_columns, n_splits = draw(st.integers(2, 4)), draw(st.integers(0, 6))
    child = np.full((n_splits, 2), -1, dtype=np.int64)
    open_places = []
    for node in range(n_splits):
        if node:
            place = draw(st.integers(0, len(open_places) - 1))
            child[open_places.pop(place)] = node
        open_places += [(node, 0), (node, 1)]
    for cell, place in enumerate(open_places):
        child[place] = -1 - cell
    column = np.array([draw(st.integers(0, n_columns - 1)) for _ in child], dtype=int)
    threshold = np.array([draw(tenths) for _ in child], dtype=draw(dtypes))
    entry = st.lists(tenths, min_size=n_columns, max_size=n_columns)
    rows = np.array(draw(st.lists(entry, max_size=12)), dtype=threshold.dtype)
    return rows.reshape(-1, n_columns), column, threshold, child


@given(trees(), st.integers(1, 2))
def test_cells_equal_the_definition(tree, threads):
    rows, column, threshold, child = tree
    out = np.full(rows.shape[0], -7, dtype=np.int64)
    _bins._assign_cells(rows, column, threshold, child, out, threads)
    np.testing.assert_array_equal(
        out, twin.assign_cells(rows, column, threshold, child)
    )


@given(st.integers(0, 30), st.integers(1, 40), st.integers(1, 4), dtypes)
def test_sums_of_cells_equal_the_definition(n, n_columns, n_cells, dtype):
    rng = np.random.default_rng(n + 100 * n_columns)
    rows = rng.random((n, n_columns)).astype(dtype)
    cells, weights = rng.integers(-1, n_cells, n), rng.random(n)
    expected = twin.sum_cells(rows, cells, weights, n_cells)
    sums = np.zeros((2, 3, n_cells, n_columns))
    for threads, totals in enumerate(sums, start=1):
        _bins._sum_cells(rows, cells, weights, totals, threads)
    np.testing.assert_allclose(sums[0].sum(axis=0), expected, rtol=1e-12)
    np.testing.assert_array_equal(sums[0], sums[1])


def test_rows_in_no_bin_are_not_counted():
    bins = np.array([0, -1, 1, -1])
    labels = np.array([0, 1, 1, 0])
    counts = np.zeros((2, 2), dtype=np.int64)
    _bins._count_labels(bins, labels, counts)
    np.testing.assert_array_equal(counts, twin.count_labels(bins, labels, 2, 2))
    assert counts.tolist() == [[1, 0], [0, 1]]
    weights = np.array([0.5, 2.0, 0.25, 3.0])
    sums = np.zeros((2, 2))
    _bins._sum_label_weights(bins, labels, weights, sums)
    np.testing.assert_array_equal(
        sums, twin.sum_label_weights(bins, labels, weights, 2, 2)
    )
    assert sums.tolist() == [[0.5, 0], [0, 0.25]]
