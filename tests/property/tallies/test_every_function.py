"""What the other property tests leave out: all functions, in chunks of all kinds."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from tests.unit.tallies.test_table_of_functions import (
    CALLS,
    OTHERS,
    ROWS,
    functions_of_rows,
    table,
)

ELSEWHERE = {
    "split_conformal",
    "label_conditional_conformal",
    "label_shift_conformal",
    "covariate_shift_conformal",
    "tally",
    "mlls",
    "bbse",
    "rlls",
    "dirichlet_scaling",  # tests/property/calibration
    "compare",  # tests/unit/assessment
    "metrics.accuracy",  # these in test_sums.py
    "metrics.mean_confidence",
    "metrics.nll",
    "metrics.ece",
    "metrics.overconfident_ece",
    "metrics.debiased_ece",
    "metrics.max_ece",
    "metrics.average_ece",
    "metrics.reliability",  # whose numbers are gathered, as these are
    "metrics.isotonic_band",
    "weighted_quantile",
}
"""Compared in test_dask_rows.py, and with the other rows of their functions."""

GATHERED = [
    "prediction_sets",
    "interpolated_conformal",
    "clustered_conformal",
    "cross_conformal",
    "conformal_thresholds",
    "assess",
    "metrics.smooth_ece",
    "metrics.l2_ece_interval",
    "metrics.brier_score",
]
SUMMED = [
    "temperature_scaling",
    "classwise_temperature_scaling",
    "vector_scaling",
    "platt_scaling",
    "beta_calibration",
    "isotonic_calibration",
    "groupwise_calibration",
    "histogram_binning",
    "density_ratio",
    "covariate_shift_calibration",
    "metrics.classwise_ece",
]


def assert_alike(one, other, place):
    """Hold all numbers of two results equal to 1e-10, and counts exactly."""
    assert type(one) is type(other), place
    if hasattr(one, "_state"):
        for name in one._state:
            assert_alike(getattr(one, name), getattr(other, name), f"{place}.{name}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), place
        for a, b in zip(one, other, strict=True):
            assert_alike(a, b, place)
    elif isinstance(one, float | np.ndarray) and np.asarray(one).dtype.kind == "f":
        close = {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(one, other, err_msg=place, **close)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, err_msg=place)


def lazily(array, cuts, unknown):
    """Return Dask's rows, cut here; of unknown sizes if that is asked for."""
    ends = [0, *sorted(min(cut, len(array)) for cut in cuts), len(array)]
    sizes = tuple(np.diff(ends).tolist())
    rows = da.from_array(array, chunks=(sizes, *array.shape[1:]))
    return rows[da.ones(len(array), chunks=(sizes,), dtype=bool)] if unknown else rows


@pytest.mark.parametrize("name", GATHERED + SUMMED)
@given(data=st.data())
@settings(deadline=None, max_examples=4)
def test_in_any_chunks_it_is_the_result_in_memory(name, data):
    cuts = st.lists(st.sampled_from([0, 1, 2, 97, 250, 399, 400]), max_size=4)
    rows, others, options = CALLS[name]
    if name == "assess":  # whose class-wise errors have no bootstrap in blocks
        options = {**options, "n_boot": 0}
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    unknown = data.draw(st.booleans()) and name not in (
        "covariate_shift_calibration",  # where weights are put to known chunks
        "cross_conformal",
    )
    values = {key: ROWS[key] for key in rows} | {key: OTHERS[key] for key in others}
    for key, value in values.items():
        if value.dtype.kind == "f" and value.ndim == 2:
            values[key] = value.astype(dtype)
    same = data.draw(cuts)  # where sizes are unknown, chunks must agree
    lazy = {
        key: lazily(value, same if unknown else data.draw(cuts), unknown)
        for key, value in values.items()
    }
    function = functions_of_rows()[name]
    with warnings.catch_warnings(), dask.config.set(scheduler="sync"):
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        want, found = function(**values, **options), function(**lazy, **options)
    assert_alike(want, found, name)


def test_none_is_left_out():
    """Every function of the table that takes Dask's rows is compared somewhere."""
    takes = {name for name, said in table().items() if said["dask"] == "yes"}
    assert takes == {*GATHERED, *SUMMED, *ELSEWHERE}
