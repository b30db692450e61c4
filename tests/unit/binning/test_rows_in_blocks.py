"""Bins of rows in blocks: edges, counts and radii are those in memory."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu

GENERATOR = np.random.default_rng(0)
PROBS = GENERATOR.dirichlet([2.0, 1.0, 1.0], 900)
OTHERS = GENERATOR.dirichlet([2.0, 1.0, 1.0], 200)
LABELS = (PROBS.cumsum(axis=1) < GENERATOR.random((900, 1))).sum(axis=1)


def first_is_likely(probs):
    return (probs[:, 0] > 0.4).astype(int)


OPTIONS = {
    "top label": {"mode": "top-label"},
    "class-wise": {"mode": "classwise"},
    "given edges": {"mode": "classwise", "scheme": [0.2, 0.7]},
    "equal widths": {"mode": "top-label", "scheme": "equal-width"},
    "bins of others": {"mode": "top-label", "partition_on": OTHERS},
    "class-wise bins of others": {"mode": "classwise", "partition_on": OTHERS},
    "a function": {"scheme": first_is_likely, "n_bins": 2},
}


def assert_alike(found, want):
    """Hold two fits equal: all bit for bit but mean probabilities."""
    for name in ("counts", "bin_counts", "frequencies", "radius", "low", "fallback"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
    np.testing.assert_allclose(found.mean_probs, want.mean_probs, rtol=1e-12)
    assert found.n == want.n and found.n_boundary == want.n_boundary
    assert found.cells == want.cells and found.guarantee == want.guarantee


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_of_dask_and_in_blocks_they_are_those_in_memory(name):
    options = OPTIONS[name]
    want = dfu.histogram_binning(PROBS, LABELS, **options)
    rows = da.from_array(PROBS, (170, 2)), da.from_array(LABELS, 90)
    assert_alike(dfu.histogram_binning(*rows, **options), want)

    def blocks():
        for some in np.split(np.arange(900), [1, 1, 500]):
            yield PROBS[some], LABELS[some]

    assert_alike(dfu.histogram_binning(blocks, **options), want)


def test_where_counts_by_label_are_too_many(monkeypatch):
    monkeypatch.setattr("distfreeuq.binning.classwise._MOST_LABEL_COUNTS", 10)
    rows = da.from_array(PROBS, (170, 2)), da.from_array(LABELS, 90)
    found = dfu.histogram_binning(*rows, mode="classwise")
    assert_alike(found, dfu.histogram_binning(PROBS, LABELS, mode="classwise"))


@given(
    st.integers(1, 60),
    st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from(["canonical", "classwise", "top-label"]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 7),
    st.integers(1, 9),
)
@settings(deadline=None, max_examples=30)
@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_any_chunks_and_ties_give_the_same(n, cuts, mode, dtype, n_bins, grid):
    probs = np.round(PROBS[:n, 0] * grid).astype(dtype) / dtype(grid)
    labels, ends = LABELS[:n] % 2, sorted(min(cut, n) for cut in cuts)
    chunks = tuple(np.diff([0, *ends, n]).tolist())
    want = dfu.histogram_binning(probs, labels, mode=mode, n_bins=n_bins)
    rows = da.from_array(probs, (chunks,)), da.from_array(labels, (chunks,))
    assert_alike(dfu.histogram_binning(*rows, mode=mode, n_bins=n_bins), want)


def test_cells_of_a_fit_to_other_rows_are_fixed_in_advance():
    of_others = dfu.histogram_binning(OTHERS, LABELS[:200], n_bins=4)
    options = {"scheme": of_others.assign, "n_bins": 4}
    rows = da.from_array(PROBS, (170, 3)), da.from_array(LABELS, 90)
    found = dfu.histogram_binning(*rows, **options)
    assert_alike(found, dfu.histogram_binning(PROBS, LABELS, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a function for cells of the simplex"),
        ({"partition_on": OTHERS}, "a function for cells of the simplex"),
        ({"mode": "top-label", "split": 0.1}, "'split' .*partition_on takes other"),
        ({"mode": "top-label", "sample_weight": LABELS}, "'sample_weight' .* None"),
    ],
)
def test_what_needs_all_rows_says_what_to_do(options, message):
    rows = da.from_array(PROBS, (170, 3)), da.from_array(LABELS, 90)
    with pytest.raises(dfu.InputError, match=message):
        dfu.histogram_binning(*rows, **options)


def test_what_is_wrong_is_said():
    rows, labels = da.from_array(PROBS, (170, 3)), da.from_array(LABELS, 90)
    with pytest.raises(dfu.InputError, match=r"'probs' .* at least one row"):
        dfu.histogram_binning(rows[:0], labels[:0], mode="top-label")
    with pytest.raises(dfu.InputError, match="rows are read several times"):
        dfu.histogram_binning(iter([(PROBS, LABELS)]), mode="top-label")
