"""Sums over drawn rows equal their definitions, and those of the rows drawn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._base.arguments import Arguments
from distfreeuq._kernels import _bootstrap
from distfreeuq.assessment.bootstrap_sums import SAMPLES, take_apart
from distfreeuq.assessment.data import read_measures
from tests import reference_kernels as twin
from tests.property.kernels.test_row_stats import make_weights, weight_kinds
from tests.property.strategies import scored_rows


def draw_counts(n, seed=0):
    counts = np.random.default_rng(seed).poisson(1.0, (SAMPLES, n)).astype(np.uint16)
    counts[:, 0] += 1
    return counts


@given(st.lists(st.integers(0, 2**32 - 1), max_size=30))
def test_draws_are_counted_as_defined(words):
    words = np.array([*words, 0, 2**32 - 1], dtype=np.uint32)
    out = np.full(7, 9, dtype=np.uint16)
    _bootstrap._count_draws(words, out)
    np.testing.assert_array_equal(out, twin.count_draws(words, 7))
    assert out[0] >= 1 and out[6] >= 1  # the first and the last word


@given(st.integers(0, 70), st.integers(1, 9), weight_kinds, st.integers(0, 99))
def test_cells_are_summed_as_defined(n, n_cells, kind, seed):
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))]).astype(np.int64)
    cells = rng.integers(0, n_cells, first[-1]).astype(np.int32)
    values, weights = rng.normal(size=first[-1]), make_weights(kind, n)
    counts = draw_counts(n, seed) if n else np.zeros((SAMPLES, 0), dtype=np.uint16)
    out = np.zeros((n_cells, SAMPLES))
    _bootstrap._sum_cells_of_samples(first, cells, values, weights, counts, out)
    expected = twin.sum_cells_of_samples(first, cells, values, weights, counts, n_cells)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@given(scored_rows(), weight_kinds)
def test_columns_are_summed_as_defined(rows, kind):
    n, n_classes = rows.probs.shape
    weights, counts = make_weights(kind, n), draw_counts(n)
    out = np.zeros((n_classes, SAMPLES))
    _bootstrap._sum_columns_of_samples(rows.probs, weights, counts, out)
    expected = twin.sum_columns_of_samples(rows.probs, weights, counts)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["equal-width", "left"])
@pytest.mark.parametrize("n_bins", [1, 10])
def test_metrics_of_a_sample_are_those_of_the_drawn_rows(how, n_bins, weighted, dtype):
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(5, 0.4), size=300)
    probs[::7] = [0.1, 0.2, 0.3, 0.4, 0.0]  # on edges, and a label may have none
    labels = rng.integers(0, 5, 300)
    weight = rng.exponential(size=300) if weighted else None
    measures = read_measures(
        Arguments("test"),
        probs.astype(dtype),
        labels,
        n_bins,
        how,
        "predicted",
        None,
        weight,
        None,
    )
    counts = draw_counts(300)
    apart = take_apart(measures)
    got = measures.values(apart.sums([apart.totals(counts)]))
    for s in range(SAMPLES):
        drawn = measures.rows.weights * counts[s]
        rows = replace(measures.rows, weights=drawn)
        expected = measures.values(replace(measures, rows=rows).sums())[0]
        for j, name in enumerate(measures.names):
            if name != "debiased_ece":  # there a row that is drawn twice is two rows
                assert got[s, j] == pytest.approx(expected[j], rel=1e-10), name


def test_bins_of_equal_mass_stay_as_they_are():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), size=200)
    labels = rng.integers(0, 3, 200)
    measures = read_measures(
        Arguments("test"),
        probs,
        labels,
        4,
        "uniform-mass",
        "predicted",
        None,
        None,
        None,
    )
    counts = draw_counts(200)
    apart = take_apart(measures)
    got = apart.sums([apart.totals(counts)]).class_errors
    for k in range(3):
        edges = np.sort(probs[:, k])[[49, 99, 149]]
        bins = np.searchsorted(edges, probs[:, k], side="left")
        for s in range(SAMPLES):
            gaps = counts[s] * (probs[:, k] - (labels == k))
            expected = np.abs(np.bincount(bins, weights=gaps)).sum() / counts[s].sum()
            assert got[s, k] == pytest.approx(expected, rel=1e-12)
