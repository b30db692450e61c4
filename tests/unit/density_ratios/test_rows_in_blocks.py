"""Ratios of rows in blocks, by logistic regression: those in memory."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu

GENERATOR = np.random.default_rng(0)
SOURCE = GENERATOR.normal(size=(900, 3))
TARGET = GENERATOR.normal([0.5, 0.0, 0.0], 1.0, (600, 3))


def assert_alike(found, want):
    """Hold two fits equal to 1e-10."""
    for name in ("source_weight", "target_weight", "source_ratio"):
        ours, theirs = (getattr(fit, name) for fit in (found, want))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    ours, theirs = (fit.model.discriminator for fit in (found, want))
    np.testing.assert_allclose(ours.coef, theirs.coef, rtol=1e-10, atol=1e-13)
    assert (ours.glm_coef is None) == (theirs.glm_coef is None)
    if ours.glm_coef is not None:
        np.testing.assert_allclose(ours.glm_coef, theirs.glm_coef, rtol=1e-8)
    assert found.auc.estimate == pytest.approx(want.auc.estimate, rel=1e-10)
    assert found.uncovered == want.uncovered and found.notes == want.notes
    assert str(found.guarantee) == str(want.guarantee)
    assert list(found.features) == list(want.features)


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (900, {}),
        (200, {"calibrate": False}),
        (900, {"ridge": 5.0, "clip": "99%", "flatten": 0.5}),
    ],
)
def test_of_dask_and_in_blocks_they_are_those_in_memory(n, options, monkeypatch):
    # from 800 rows on fits start from those of fewer
    monkeypatch.setattr("distfreeuq._numerics.logistic_regression._SAMPLE", 200)
    source = SOURCE[:n]
    want = dfu.density_ratio(source, TARGET, rng=0, **options)
    both = da.from_array(source, (n // 3, 2)), da.from_array(TARGET, (210, 3))
    assert_alike(dfu.density_ratio(*both, rng=0, **options), want)
    calls = []

    def blocks():
        calls.append(None)
        yield from np.split(source, [1, 1, n // 2])

    assert_alike(dfu.density_ratio(blocks, TARGET, rng=0, **options), want)
    assert len(calls) <= 28


@given(
    st.integers(20, 60),
    st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=10)
@pytest.mark.filterwarnings("ignore::distfreeuq.DistFreeWarning")
def test_any_chunks_give_the_same(n, cuts, dtype):
    source, target = SOURCE[:n].astype(dtype), TARGET[:30].astype(dtype)
    ends = sorted(min(cut, n) for cut in cuts)
    chunks = tuple(np.diff([0, *ends, n]).tolist())
    want = dfu.density_ratio(source, target, rng=0)
    rows = da.from_array(source, (chunks, 3))
    assert_alike(dfu.density_ratio(rows, target, rng=0), want)


def test_weights_of_new_rows_are_lazy_and_calibrate_rows_in_blocks():
    x = da.from_array(SOURCE[:900], (250, 3))
    ratio = dfu.density_ratio(x, da.from_array(TARGET, (700, 3)), rng=0)
    new = ratio.weight(da.from_array(TARGET, (199, 2)))
    assert new.shape == (600,)
    np.testing.assert_allclose(new.compute(), ratio.weight(TARGET), rtol=1e-12)
    logits = np.column_stack([np.zeros(900), SOURCE[:900, 0]])
    labels = (GENERATOR.random(900) < 0.5).astype(int)
    rows = da.from_array(logits, (400, 2)), da.from_array(labels, 900)
    options = {"sample_weight": ratio.source_weight}
    found, want = (
        dfu.platt_scaling(*own, **options) for own in (rows, (logits, labels))
    )
    np.testing.assert_allclose(found.coef, want.coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "knn"}, "'method' .* 'logistic' where rows come in blocks"),
        ({"formula": "x"}, "'formula' .* its columns in each block"),
        ({"target": TARGET[:, :2]}, r"'target' .* \(n, 3\), with the columns"),
        ({"target": TARGET[:1]}, r"'target' .* at least two rows"),
        ({"source": da.from_array(SOURCE * np.nan, 9000)}, "Got nan at row 0"),
        ({"source": iter([SOURCE])}, "rows are read several times"),
        (
            {"source": lambda: [SOURCE[:9], SOURCE[:, :2]]},
            "'source' .* blocks with the same columns",
        ),
    ],
)
def test_what_is_wrong_is_said(change, message):
    given = {"source": da.from_array(SOURCE, (90, 3)), "target": TARGET}
    with pytest.raises(dfu.InputError, match=message):
        dfu.density_ratio(**{**given, **change})
