"""Sums by bin: exact in any order, and the metrics of all rows."""

from itertools import pairwise
from random import Random

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq import metrics
from tests.property.tallies.test_chunks import added

OF_ROWS = [
    metrics.accuracy,
    metrics.mean_confidence,
    metrics.brier_score,
    metrics.nll,
]
OF_BINS = [
    metrics.ece,
    metrics.overconfident_ece,
    metrics.debiased_ece,
    metrics.max_ece,
    metrics.average_ece,
]


@st.composite
def chunked_rows(draw):
    """Rows, some on edges of bins and some sure and wrong, and where they are cut."""
    n, n_classes = draw(st.integers(1, 60)), draw(st.integers(2, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    probs = generator.dirichlet(np.ones(n_classes), n)
    kind = generator.integers(0, 3, n)
    probs[kind == 0] = np.eye(n_classes)[0]
    edges = np.array([0.6, 0.4, *[0.0] * (n_classes - 2)])
    probs[kind == 1] = edges
    probs = probs.astype(draw(st.sampled_from([np.float32, np.float64])))
    labels = generator.integers(0, n_classes, n)
    cuts = draw(st.lists(st.integers(0, n), max_size=4))
    return probs, labels, list(pairwise([0, *sorted(cuts), n]))


def bits(tally):
    sums = tally.sums
    arrays = (sums.counts, sums.hits, sums.halves, sums.scores)
    return [array.tolist() for array in arrays], sums.n_infinite


@given(chunked_rows(), st.integers(1, 20), st.sampled_from(["left", "right"]))
@settings(deadline=None, max_examples=40)
def test_metrics_are_those_of_all_rows_and_sums_add_in_any_order(rows, n_bins, closed):
    probs, labels, chunks = rows
    options = {"score": None, "n_bins": n_bins, "closed": closed}
    whole = dfu.tally(probs, labels, **options)
    parts = [dfu.tally(probs[a:b], labels[a:b], **options) for a, b in chunks]
    total = added(parts, Random(n_bins))
    assert bits(total) == bits(whole)
    sizes = tuple(b - a for a, b in chunks)
    lazy = (
        da.from_array(probs, chunks=(sizes, probs.shape[1])),
        da.from_array(labels, chunks=(sizes,)),
    )
    for metric in OF_ROWS:
        plain = metric(probs, labels)
        with dask.config.set(scheduler="sync"):
            found = [metric(total), metric(*lazy)]
        np.testing.assert_allclose(found, plain, rtol=1e-13, atol=1e-14)
    for metric in OF_BINS:
        plain = metric(probs, labels, n_bins=n_bins, closed=closed)
        with dask.config.set(scheduler="sync"):
            found = [
                metric(total, n_bins=n_bins, closed=closed),
                metric(*lazy, n_bins=n_bins, closed=closed),
            ]
        np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-7)
        if metric is not metrics.debiased_ece:  # a root of what may be rounding
            np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-13)


def test_halves_of_sums_are_carried_and_of_large_losses_exact():
    probs = np.array([[1.0, 0.0], [1e-300, 1.0]])
    tally = dfu.tally(np.tile(probs[1], (3, 1)), [0, 0, 0], score=None, n_bins=3)
    assert metrics.nll(tally) == pytest.approx(-np.log(1e-300), rel=1e-14)
    assert (tally.sums.halves[..., 1] < 1 << 25).all()
    assert metrics.nll(dfu.tally(probs, [1, 1], score=None, n_bins=1)) == np.inf


def test_sums_are_kept_in_files_and_refuse_what_is_unlike(tmp_path):
    generator = np.random.default_rng(0)
    probs, labels = generator.dirichlet([1, 1], 20), generator.integers(0, 2, 20)
    tally = dfu.tally(probs, labels, score=None, n_bins=5)
    tally.save(tmp_path / "tally.npz")
    assert bits(dfu.load(tmp_path / "tally.npz")) == bits(tally)
    assert "counts and sums in 5 bins by predicted class" in " ".join(
        str(tally.summary()).split()
    )
    with pytest.raises(dfu.InputError, match="5 bins closed on the right"):
        tally + dfu.tally(probs, labels, score=None, n_bins=6)
    with pytest.raises(dfu.InputError, match="a tally with sums by bin"):
        tally + dfu.tally(probs, labels, score=None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, p, y: metrics.ece(t, n_bins=6), r"'n_bins' .* 5, as in the Tally"),
        (lambda t, p, y: metrics.ece(t, n_bins=5, closed="left"), "'closed'"),
        (lambda t, p, y: metrics.ece(t, y, n_bins=5), "'labels' .* None where"),
        (lambda t, p, y: metrics.accuracy(dfu.tally(p, y)), "with labels and n_bins"),
        (
            lambda t, p, y: metrics.ece(t, n_bins=5, scheme="uniform-mass"),
            "'scheme'",
        ),
        (lambda t, p, y: metrics.ece(t, n_bins=5, scheme=[0.5]), "'scheme' .* edges"),
        (lambda t, p, y: metrics.nll(t, sample_weight=y), "'sample_weight' .* None"),
        (lambda t, p, y: metrics.ece(t, n_bins=5, event="class-1"), "'event'"),
        (lambda t, p, y: metrics.ece(p[:0], y[:0]), "'probs' .* at least one row"),
    ],
)
def test_what_sums_do_not_have_is_refused(call, message):
    generator = np.random.default_rng(0)
    probs, labels = generator.dirichlet([1, 1], 20), generator.integers(0, 2, 20)
    tally = dfu.tally(probs, labels, score=None, n_bins=5)
    with pytest.raises(dfu.InputError, match=message):
        call(tally, da.from_array(probs, (7, 2)), labels)
