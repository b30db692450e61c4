"""Fits to rows in blocks: how often they read the rows, and what they refuse."""

import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dask
import dask.array as da
import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import InputError


@pytest.fixture(scope="module")
def rows():
    """20 000 rows of four classes: logits, labels."""
    generator = np.random.default_rng(0)
    logits = generator.normal(0.0, 2.0, (20_000, 4))
    labels = (0.6 * logits + generator.gumbel(size=logits.shape)).argmax(axis=1)
    return logits, labels


@pytest.fixture
def in_blocks(rows):
    """The same in ten blocks, by a function that counts its calls."""

    def blocks():
        blocks.calls += 1
        return zip(*(np.split(array, 10) for array in rows), strict=True)

    blocks.calls = 0
    return blocks


@pytest.mark.parametrize(
    ("fit", "most"),
    [
        (dfu.temperature_scaling, 7),
        (dfu.classwise_temperature_scaling, 8),
        (dfu.vector_scaling, 14),
        (dfu.platt_scaling, 14),
        (dfu.dirichlet_scaling, 16),
    ],
)
def test_passes_are_few(fit, most, in_blocks):
    fit(in_blocks, None)
    assert in_blocks.calls - 1 <= most  # the first call looks at the first block


def test_curves_of_all_classes_share_their_passes(rows):
    logits, labels = rows
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    calls = []

    def blocks():
        calls.append(None)
        return zip(np.split(probs, 10), np.split(labels, 10), strict=True)

    dfu.beta_calibration(blocks, None)
    assert len(calls) <= 22
    calls.clear()
    dfu.isotonic_calibration(blocks, None)
    assert len(calls) <= 6


def test_groups_share_their_passes(rows):
    logits, labels = rows
    groups = np.arange(20_000) % 7
    calls = []

    def blocks():
        calls.append(None)
        pieces = (np.split(array, 10) for array in (logits, labels, groups))
        for z, y, group in zip(*pieces, strict=True):
            yield {"logits": z, "labels": y, "groups": group}

    fit = dfu.groupwise_calibration("temperature", blocks, None)
    assert len(calls) <= 13
    assert fit.split is None
    in_memory = dfu.groupwise_calibration("temperature", logits, labels, groups=groups)
    temperatures = [one.temperature for one in in_memory.fits]
    assert [one.temperature for one in fit.fits] == pytest.approx(temperatures, 1e-12)


@pytest.mark.slow
def test_a_fit_in_other_processes_is_the_fit_in_memory(rows):
    logits, labels = rows
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        fit = dfu.temperature_scaling(
            da.from_array(logits, chunks=(7000, 4)), da.from_array(labels, chunks=6000)
        )
    in_memory = dfu.temperature_scaling(logits, labels)
    assert fit.temperature == pytest.approx(in_memory.temperature, rel=1e-12)
    assert str(fit) == str(in_memory)


def test_chunks_of_unknown_sizes_are_counted(rows):
    logits, labels = (da.from_array(array, chunks=3000) for array in rows)
    logits = logits.rechunk({1: -1})
    some = logits[:, 0] > 0.0
    with dask.config.set(scheduler="sync"):
        fit = dfu.vector_scaling(logits[some], labels[some])
    own = rows[0][:, 0] > 0.0
    in_memory = dfu.vector_scaling(rows[0][own], rows[1][own])
    np.testing.assert_allclose(fit.scale, in_memory.scale, rtol=1e-11)
    assert fit.n == own.sum()


def test_a_result_in_blocks_is_saved_as_every_other(in_blocks, tmp_path):
    fit = dfu.platt_scaling(in_blocks, None)
    fit.save(tmp_path / "fit.npz")
    assert str(dfu.load(tmp_path / "fit.npz")) == str(fit)


def _with(array, row, value):
    array = array.copy()
    array[row] = value
    return array


@pytest.mark.parametrize("of_dask", [True, False])
def test_errors_name_the_row_of_all_rows(rows, of_dask):
    logits, labels = rows

    def fit(logits, labels):
        if of_dask:
            logits = da.from_array(logits, chunks=(3000, 4))
            return dfu.temperature_scaling(logits, da.from_array(labels, chunks=3000))
        pieces = np.split(logits, 10), np.split(labels, 10)
        return dfu.temperature_scaling(lambda: zip(*pieces, strict=True), None)

    with dask.config.set(scheduler="sync"):
        with pytest.raises(InputError, match="Got 4 at row 19123 instead"):
            fit(logits, _with(labels, 19_123, 4))
        with pytest.raises(InputError, match="Got nan at row 15000, column 0 instead"):
            fit(_with(logits, 15_000, np.nan), labels)


REFUSED = [
    (lambda z, y: dfu.venn_abers(z, y), "'probs' .* must be an array in memory"),
    (
        lambda z, y: dfu.groupwise_calibration(lambda *_, **__: None, z, y),
        "'calibrator' .* must be a name where rows are in blocks",
    ),
    (lambda z, y: dfu.vector_scaling(1e6 * z, y), "'logits' .* of at most 100000 in"),
    (
        lambda z, y: dfu.temperature_scaling(z, y, sample_weight=np.zeros(20_000)),
        "'sample_weight' .* Got all zero",
    ),
    (lambda z, y: dfu.temperature_scaling(z[:0], y[:0]), "with n >= 1. Got shape"),
    (
        lambda z, y: dfu.density_ratio(z, z[:9], method="knn"),
        "'method' .* 'logistic' where rows come in blocks",
    ),
    (lambda z, y: dfu.compare_calibrations(z, y), "'logits' .* an array in memory"),
    (lambda z, y: dfu.temperature_scaling(z, y[:5]), "'labels' .* of length 20000"),
]


@pytest.mark.parametrize(("fit", "message"), REFUSED)
def test_what_blocks_cannot_be_is_refused(fit, message, rows):
    logits = da.from_array(rows[0], chunks=(6000, 4))
    labels = da.from_array(rows[1], chunks=6000)
    if fit is REFUSED[0][0]:
        logits = da.exp(logits) / da.exp(logits).sum(axis=1, keepdims=True)
    with (
        dask.config.set(scheduler="sync"),
        pytest.raises(InputError, match=re.compile(message, re.DOTALL)),
    ):
        fit(logits, labels)


def test_an_iterator_is_refused_because_it_can_be_read_once(rows):
    with pytest.raises(InputError, match="a function without arguments that returns"):
        dfu.temperature_scaling(iter([rows]), None)
