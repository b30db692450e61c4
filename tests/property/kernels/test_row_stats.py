"""Assessment kernels equal their definitions: ties, edges, zero weights, threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _row_stats
from distfreeuq.metrics.classwise_errors import class_gap_sums
from tests import reference_kernels as twin
from tests.property.strategies import scored_rows

weight_kinds = st.sampled_from(["one", "some zero", "spread"])


def make_weights(kind, n):
    rng = np.random.default_rng(n)
    if kind == "one":
        return np.ones(n)
    weights = rng.exponential(size=n)
    return weights * (rng.random(n) < 0.6) if kind == "some zero" else weights


def edges_for(n_bins, dtype, closed):
    edges = (np.arange(1, n_bins) / n_bins).astype(dtype)
    return edges if closed == "right" else np.nextafter(edges, dtype(-1.0))


def read_rows(probs, labels, threads=1, tolerance=1.0):
    n = len(labels)
    hits, predicted = np.full(n, 7, dtype=np.uint8), np.full(n, -7)
    confidence, of_label = np.full((2, n), np.nan, dtype=probs.dtype)
    out = hits, predicted, confidence, of_label, np.full(n, np.nan)
    bad = _row_stats._read_rows(probs, labels, tolerance, *out, threads)
    assert bad == -1
    return out


@given(scored_rows())
def test_rows_are_read_as_defined(rows):
    got = read_rows(rows.probs, rows.labels)
    expected = twin.read_rows(rows.probs, rows.labels)
    for ours, theirs in zip(got[:4], expected[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(got[4], expected[4], rtol=1e-13, atol=1e-30)
    assert (got[4] >= 0.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 3, 10, 40, 41, 64, 100])
def test_a_row_is_read_alike_whatever_rows_are_beside_it(n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    probs = rng.dirichlet(np.full(n_classes, 0.3), size=21)
    probs[::3] = np.round(probs[::3], 1)  # ties
    probs = probs.astype(dtype)
    labels = rng.integers(0, n_classes, 21)
    together = read_rows(probs, labels)
    for ours, theirs in zip(together, twin.read_rows(probs, labels), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    for n in (1, 5, 7, 8, 9, 20):
        some = read_rows(probs[-n:], labels[-n:])
        for ours, theirs in zip(some, together, strict=True):
            np.testing.assert_array_equal(ours, theirs[-n:])


def test_outputs_that_nobody_asked_for_are_left_out():
    probs, labels = np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1, 1])
    expected = twin.read_rows(probs, labels)
    for wanted in range(5):
        out = [np.full(2, 7, dtype=part.dtype) for part in expected]
        given = [part if i in (0, wanted) else part[:0] for i, part in enumerate(out)]
        assert _row_stats._read_rows(probs, labels, 1e-6, *given, 1) == -1
        for i in {0, wanted}:
            np.testing.assert_allclose(out[i], expected[i], rtol=1e-14)


@given(scored_rows(), st.integers(1, 12), st.sampled_from(["right", "left"]), st.data())
def test_class_gaps_are_summed_as_defined(rows, n_bins, closed, data):
    weights = make_weights(data.draw(weight_kinds), len(rows.labels))
    edges = edges_for(n_bins, rows.probs.dtype.type, closed)
    got, bad = class_gap_sums(rows.probs, rows.labels, weights, edges, 1.0)
    assert bad == -1
    expected = twin.sum_class_gaps(rows.probs, rows.labels, weights, edges)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@given(scored_rows(), st.integers(1, 9), st.data())
def test_bins_are_summed_as_defined(rows, n_cells, data):
    n = len(rows.labels)
    weights = make_weights(data.draw(weight_kinds), n)
    each = st.lists(st.integers(0, n_cells - 1), min_size=n, max_size=n)
    cells = np.array(data.draw(each))
    hits = (rows.labels % 2).astype(np.uint8)
    confidence = np.ascontiguousarray(rows.probs[:, 0])
    out = np.zeros((n_cells, 5))
    _row_stats._sum_bins(cells, confidence, hits, weights, out)
    expected = twin.sum_bins(cells, confidence, hits, weights, n_cells)
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("bad_value", [np.nan, np.inf, -0.1, 0.9])
@pytest.mark.parametrize("n_classes", [4, 10, 64])
def test_first_bad_row_is_found_on_the_way(bad_value, n_classes):
    n, first = 30_000, 20_001
    probs = np.full((n, n_classes), 1.0 / n_classes)
    labels, weights = np.zeros(n, dtype=np.int64), np.ones(n)
    edges = edges_for(15, np.float64, "right")
    outputs = np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.int64)
    blocks = np.zeros((16, 15, n_classes))
    for bad_rows in ([first, n - 1], [n - 1]):
        spoiled = probs.copy()
        spoiled[bad_rows, 2] = bad_value
        for threads in (1, 2):
            more = np.empty((3, n))
            got = _row_stats._read_rows(spoiled, labels, 1e-6, *outputs, *more, threads)
            assert got == bad_rows[0]
            got = _row_stats._sum_class_gaps(
                spoiled, labels, weights, 1e-6, edges, blocks, threads
            )
            assert got == bad_rows[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "n_classes"), [(40_000, 7), (3000, 100), (500, 1000)])
def test_large_inputs_and_threads(n, n_classes, dtype):
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.full(n_classes, 0.1), size=n)
    probs[::5] = np.round(probs[::5], 2)  # on the edges of 100 bins
    probs = probs.astype(dtype)
    labels = rng.integers(0, n_classes, n)
    weights = rng.exponential(size=n)
    for one, two in zip(
        read_rows(probs, labels, threads=1),
        read_rows(probs, labels, threads=2),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    for ours, theirs in zip(
        read_rows(probs, labels), twin.read_rows(probs, labels), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    edges = edges_for(100, dtype, "right")
    blocks = np.zeros((2, 3, 100, n_classes))
    for threads in (1, 2):
        _row_stats._sum_class_gaps(
            probs, labels, weights, 1.0, edges, blocks[threads - 1], threads
        )
    np.testing.assert_array_equal(blocks[0], blocks[1])
    bins = np.searchsorted(edges, probs, side="left")
    cells = (bins * n_classes + np.arange(n_classes)).ravel()
    gaps = probs - np.eye(n_classes)[labels]
    expected = np.bincount(
        cells,
        weights=(weights[:, None] * gaps).ravel(),
        minlength=100 * n_classes,
    ).reshape(100, n_classes)
    np.testing.assert_allclose(blocks[0].sum(axis=0), expected, rtol=1e-9, atol=1e-9)
