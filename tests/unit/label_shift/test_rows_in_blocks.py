"""Weights from rows in blocks: MLLS, and BBSE and RLLS of soft predictions."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu

GENERATOR = np.random.default_rng(0)
PROBS = GENERATOR.dirichlet([2.0, 1.0, 1.0], 12_500)
LABELS = (PROBS.cumsum(axis=1) < GENERATOR.random((12_500, 1))).sum(axis=1)
TARGET = GENERATOR.dirichlet([1.0, 1.5, 1.0], 2_300)


def soft(fit):
    return lambda *rows: fit(*rows, soft=True)


def mlls(**options):
    return lambda *rows: dfu.mlls(*rows, **options)


FITS = {
    "bcts": dfu.mlls,
    "vs": mlls(calibrate="vs"),
    "ts": mlls(calibrate="ts"),
    "none, labels": mlls(calibrate=None, prior="labels"),
    "none, predictions": mlls(calibrate=None),
    "soft bbse": soft(dfu.bbse),
    "soft rlls": soft(dfu.rlls),
}


def assert_alike(found, want):
    """Hold two fits equal: numbers to 1e-10, counts and p-values exactly."""
    for name in ("raw", "target_prior", "source_prior", "covariance"):
        ours, theirs = (np.asarray(getattr(fit, name)) for fit in (found, want))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.confint(), want.confint(), rtol=1e-8, atol=1e-12)
    low, high = (fit.region(0.1) for fit in (found, want))
    np.testing.assert_allclose(low.high, high.high, rtol=1e-8)
    assert found.shift_test.p_value == want.shift_test.p_value
    assert found.shift_test.statistic == pytest.approx(want.shift_test.statistic)
    for name in ("source", "target", "group"):
        cells = (getattr(fit.output_cells, name) for fit in (found, want))
        np.testing.assert_array_equal(*cells)
    assert found.goodness_of_fit().p_value == want.goodness_of_fit().p_value
    if want.calibration_test is not None:
        both = (fit.calibration_test for fit in (found, want))
        ours, theirs = both
        np.testing.assert_allclose(ours.gap, theirs.gap, rtol=1e-8, atol=1e-11)
        assert ours.p_value == theirs.p_value
        spreads = (fit.likelihood_covariance for fit in (found, want))
        np.testing.assert_allclose(*spreads, rtol=1e-9, atol=1e-14)
    assert found.notes == want.notes and found.guarantee == want.guarantee


@pytest.mark.parametrize("name", FITS)
def test_of_dask_and_in_blocks_they_are_those_in_memory(name):
    fit = FITS[name]
    want = fit(PROBS, LABELS, TARGET)
    rows = da.from_array(PROBS, (1700, 2)), da.from_array(LABELS, 900)
    assert_alike(fit(*rows, da.from_array(TARGET, (640, 3))), want)

    def blocks():
        for some in np.split(np.arange(12_500), [1, 1, 6000, 12_499]):
            yield PROBS[some], LABELS[some]

    assert_alike(fit(blocks, None, TARGET), want)


@given(
    st.integers(1, 60),
    st.integers(1, 40),
    st.lists(st.integers(0, 60), max_size=4),
    st.lists(st.integers(0, 40), max_size=4),
    st.sampled_from(sorted(FITS)),
    st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=15)
@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_any_chunks_give_the_same(n, m, cuts, cuts_target, name, dtype):
    probs, labels, target = PROBS[:n].astype(dtype), LABELS[:n], TARGET[:m]
    target = target.astype(dtype)
    want = FITS[name](probs, labels, target)
    chunks = [
        tuple(np.diff([0, *sorted(min(cut, size) for cut in own), size]).tolist())
        for own, size in ((cuts, n), (cuts_target, m))
    ]
    rows = da.from_array(probs, (chunks[0], 3)), da.from_array(labels, (chunks[0],))
    found = FITS[name](*rows, da.from_array(target, (chunks[1], 3)))
    assert (found.solution is None) == (want.solution is None)
    if want.solution is not None and not want.singular:
        np.testing.assert_allclose(found.raw, want.raw, rtol=1e-7, atol=1e-9)
    assert found.shift_test.p_value == want.shift_test.p_value
    cells = (fit.output_cells.source for fit in (found, want))
    np.testing.assert_array_equal(*cells)


def test_passes_are_few_and_an_iterator_is_refused():
    calls = []

    def blocks():
        calls.append(None)
        yield from zip(np.split(PROBS, 5), np.split(LABELS, 5), strict=True)

    dfu.mlls(blocks, probs_target=TARGET)
    assert len(calls) <= 29
    with pytest.raises(dfu.InputError, match="a function without arguments"):
        dfu.mlls(blocks(), probs_target=TARGET)


def test_what_needs_the_rows_says_so_and_sets_do_not_need_them():
    rows, labels = da.from_array(PROBS, (5000, 3)), da.from_array(LABELS, 5000)
    fit = dfu.mlls(rows, labels, TARGET)
    for call in (
        lambda: fit.confint(method="bootstrap"),
        lambda: fit.test(rng=0),
    ):
        with pytest.raises(dfu.InputError, match="of rows in memory"):
            call()
    assert "not kept (read in blocks" in " ".join(str(fit).split())
    plain = dfu.mlls(PROBS, LABELS, TARGET)
    sets = [
        dfu.label_shift_conformal(PROBS, LABELS, weight, score="lac", robust=True)
        for weight in (fit, plain)
    ]
    np.testing.assert_array_equal(sets[0].thresholds, sets[1].thresholds)
    adapted = fit.adapt(da.from_array(TARGET, (100, 3))).compute()
    np.testing.assert_allclose(adapted, plain.adapt(TARGET), rtol=1e-10)


def test_what_is_wrong_in_a_block_is_said_of_all_rows():
    bad = PROBS.copy()
    bad[7001] = 0.5
    with pytest.raises(dfu.InputError, match=r"'probs' .* at row 7001"):
        dfu.mlls(da.from_array(bad, (1000, 3)), da.from_array(LABELS, 1000), TARGET)
    with pytest.raises(dfu.InputError, match=r"'probs_target' .* at least one row"):
        dfu.mlls(PROBS, LABELS, da.from_array(TARGET[:0], (1, 3)))
    with pytest.raises(dfu.InputError, match=r"'labels' .* given for every row"):
        dfu.mlls(da.from_array(PROBS, (1000, 3)), None, TARGET)
