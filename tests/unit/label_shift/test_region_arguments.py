"""Regions of one's own: every field is checked, and named if it is wrong."""

import numpy as np
import pytest

import distfreeuq as dfu

HALF = np.full((2, 2), 0.5)
FIELDS = {
    dfu.Box: {"low": [0, 0], "high": [1, 1], "finite_sample": True, "delta": 0.1},
    dfu.Polytope: {
        "lower": HALF,
        "upper": HALF,
        "mu_low": [0, 0],
        "mu_high": [1, 1],
        "finite_sample": True,
        "delta": 0.1,
    },
}


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind in FIELDS for field in FIELDS[kind]]
)
@pytest.mark.parametrize("wrong", ["a", object(), np.array([np.nan, 1.0]), 1j, {}])
def test_a_wrong_field_is_named(kind, field, wrong):
    assert "finite-sample" in repr(kind(**FIELDS[kind]))
    message = f"The '{field}' parameter of {kind.__name__} must"
    with pytest.raises(dfu.InputError, match=message):
        kind(**{**FIELDS[kind], field: wrong})


def test_thresholds_of_classes_beyond_memory_are_refused():
    with pytest.raises(dfu.InputError, match=r"'n_classes' .* at most 100000000"):
        dfu.conformal_thresholds([0.5], [0], alpha=0.1, n_classes=2**31 - 1)
