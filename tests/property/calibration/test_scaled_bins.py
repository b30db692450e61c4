"""Scaling-binning of few rows: what holds whatever the scores, labels and parts."""

import warnings
from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special

import distfreeuq as dfu


def softmax(logits, labels, sample_weight=None):
    """Return a map that no row has a part in."""
    return partial(special.softmax, axis=1)


@st.composite
def rows(draw):
    n = draw(st.integers(6, 40))
    few = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 3.0])
    logits = draw(arrays(np.float64, n, elements=few | st.floats(-5.0, 5.0)))
    labels = draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    return logits, labels


def fitted(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.exceptions.DistFreeWarning)
        return dfu.scaling_binning(*data, softmax, classes=[0, 1], **options)


@given(rows(), st.integers(1, 5), st.sampled_from([0.0, 0.3]), st.integers(0, 9))
def test_every_bin(data, n_bins, second, seed):
    options = {"n_bins": n_bins, "split": (0.3, second), "rng": seed}
    fit = fitted(data, alpha=0.2, **options)
    frame = fit.to_frame()
    some = frame["n"] > 0
    part = frame[some]
    assert (part["left"] <= part["output"] + 1e-15).all()
    assert (part["output"] <= part["right"] + 1e-15).all()
    assert (part["radius"] >= (part["output"] - part["frequency"]).abs() - 1e-15).all()
    assert (part["map_radius"] <= part["right"] - part["left"]).all()
    assert (frame[~some][["radius", "map_radius"]] == 1.0).all(axis=None)
    # the bins are those of labels in bins of the same outputs
    low, high = fit.confint().T
    np.testing.assert_array_equal(low, frame["low"])
    assert (low <= high).all()
    # surer claims are weaker, and leave outputs as they are
    surer = fitted(data, alpha=0.01, **options)
    np.testing.assert_array_equal(surer.outputs, fit.outputs)
    assert (surer.radius >= fit.radius).all()
    assert (surer.map_radius >= fit.map_radius).all()
    np.testing.assert_allclose(fit.confint(0.01), surer.confint(), rtol=1e-12)


@given(rows(), st.integers(0, 9))
def test_labels_do_not_move_outputs_of_a_given_map(data, seed):
    logits, labels = data
    options = {"n_bins": 3, "rng": seed}
    one, other = fitted(data, **options), fitted((logits, 1 - labels), **options)
    np.testing.assert_array_equal(one.outputs, other.outputs)
    np.testing.assert_array_equal(one.map_radius, other.map_radius)
    np.testing.assert_allclose(one.confint(), 1.0 - other.confint()[:, ::-1])
    # nor does the order of rows within a part: predictions are of rows
    both = fit_rows(one, logits)
    np.testing.assert_array_equal(both, fit_rows(one, logits[::-1])[::-1])


def fit_rows(fit, logits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.exceptions.DistFreeWarning)
        return fit.predict(logits)
