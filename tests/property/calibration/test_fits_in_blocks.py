"""Calibration maps of rows in any blocks are those of the same rows in memory."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq.exceptions import DistFreeWarning

_TOLERANCE = 1e-10


def _in_groups(name):
    def fit(x, labels, **options):
        return dfu.groupwise_calibration(name, x, labels, **options)

    return fit


OF_LOGITS = {
    "temperature": (dfu.temperature_scaling, {}),
    "temperature, brier": (dfu.temperature_scaling, {"loss": "brier"}),
    "class-wise": (dfu.classwise_temperature_scaling, {"min_rows": 5}),
    "class-wise, tied": (dfu.classwise_temperature_scaling, {"gamma": 0.05}),
    "class-wise, loosely": (dfu.classwise_temperature_scaling, {"gamma": 5.0}),
    "class-wise, brier": (dfu.classwise_temperature_scaling, {"loss": "brier"}),
    "vector": (dfu.vector_scaling, {"ridge": 0.01}),
    "platt": (dfu.platt_scaling, {"ridge": 0.01}),
    "dirichlet": (dfu.dirichlet_scaling, {"ridge": 1.0}),
    "groups": (_in_groups("temperature"), {"min_rows": 5}),
    "groups, vector": (_in_groups("vector"), {"min_rows": 20, "ridge": 0.1}),
}
OF_PROBS = {
    "beta": (dfu.beta_calibration, {}),
    "isotonic": (dfu.isotonic_calibration, {}),
    "groups, isotonic": (_in_groups("isotonic"), {"min_rows": 20}),
}


def _samples(draw, fewest_classes=2):
    """Return logits, probabilities, labels and weights, and where to cut them."""
    n, n_classes = draw(st.integers(80, 200)), draw(st.integers(fewest_classes, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    logits = generator.normal(0.0, 2.0, (n, n_classes))
    if draw(st.booleans()):
        logits = logits.round()  # ties
    labels = (0.6 * logits + generator.gumbel(size=logits.shape)).argmax(axis=1)
    labels[:n_classes] = np.arange(n_classes)
    logits = logits.astype(draw(st.sampled_from([np.float32, np.float64])))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    weights = generator.integers(0, 4, n) / 2.0 if draw(st.booleans()) else None
    one_row = draw(st.booleans())
    cuts = draw(st.lists(st.integers(0, n), max_size=4)) + [0, 1, n] * one_row
    return logits, probs, labels, weights, sorted(cuts)


def _of_blocks(x, labels, weights, cuts):
    given = [x, labels] if weights is None else [x, labels, weights]
    pieces = [np.split(array, cuts) for array in given]
    return lambda: zip(*pieces, strict=True)


def _of_dask(array, cuts):
    sizes = tuple(np.diff([0, *cuts, len(array)]).tolist())
    return da.from_array(array, chunks=(sizes, *array.shape[1:]))


def assert_same(one, other, place="fit"):
    """All numbers of both results are equal to 1e-10."""
    assert type(one) is type(other), place
    if hasattr(one, "_state"):
        for name in one._state:
            assert_same(getattr(one, name), getattr(other, name), f"{place}.{name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), place
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{place}[{i}]")
    elif isinstance(one, float | np.ndarray):
        np.testing.assert_allclose(
            other, one, rtol=_TOLERANCE, atol=_TOLERANCE, err_msg=place
        )
    elif not isinstance(one, str):  # guarantees print numbers that are compared above
        assert one == other, place


@pytest.mark.parametrize("name", [*OF_LOGITS, *OF_PROBS])
@settings(max_examples=8)
@given(data=st.data())
def test_a_fit_in_blocks_is_the_fit_in_memory(name, data):
    # with two classes, standard errors of what ridges fix are the roots of rounding
    fewest = 3 if name == "dirichlet" else 2
    logits, probs, labels, weights, cuts = _samples(data.draw, fewest)
    fit, options = {**OF_LOGITS, **OF_PROBS}[name]
    x = logits if name in OF_LOGITS else probs
    with warnings.catch_warnings(), dask.config.set(scheduler="sync"):
        warnings.simplefilter("ignore", DistFreeWarning)
        in_memory = fit(x, labels, sample_weight=weights, **options)
        in_blocks = fit(_of_blocks(x, labels, weights, cuts), None, **options)
        others = data.draw(st.sampled_from([cuts, [], [len(x) // 2]]))
        lazily = fit(
            _of_dask(x, cuts),
            _of_dask(labels, others),
            sample_weight=None if weights is None else _of_dask(weights, others),
            **options,
        )
        predicted = lazily.predict(_of_dask(x, cuts))
        assert isinstance(predicted, da.Array)
        np.testing.assert_allclose(predicted.compute(), in_memory.predict(x), 1e-6)
    assert_same(in_memory, in_blocks)
    assert_same(in_memory, lazily)
    if name != "isotonic":  # whose knots may be equal to rounding, and print so
        assert str(in_memory) == str(in_blocks) == str(lazily)


@pytest.mark.parametrize(("cells", "values"), [(1, 1 << 20), (1 << 17, 7), (40, 60)])
@settings(max_examples=20)
@given(data=st.data())
def test_isotonic_curves_are_exact_whatever_is_looked_at(cells, values, data):
    from unittest.mock import patch

    from distfreeuq._numerics.passes import monotone_curves

    _, probs, labels, weights, cuts = _samples(data.draw)
    in_memory = dfu.isotonic_calibration(probs, labels, sample_weight=weights)
    with (
        patch.object(monotone_curves, "_CELLS", cells),
        patch.object(monotone_curves, "_FEWEST_CELLS", cells),
        patch.object(monotone_curves, "_VALUES", values),
    ):
        blocks = _of_blocks(probs, labels, weights, cuts)
        in_blocks = dfu.isotonic_calibration(blocks, None)
    np.testing.assert_allclose(
        in_blocks.predict(probs), in_memory.predict(probs), rtol=1e-6, atol=1e-7
    )
    assert_same(in_memory, in_blocks)
