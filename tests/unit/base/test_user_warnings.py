"""Warnings point at the user's line, however deep in the package they arise."""

import numpy as np
import pytest

import distfreeuq as dfu

LOGITS = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]] * 5)
RIGHT = LOGITS.argmax(axis=1)
"""Labels that are all predicted correctly: no temperature is small enough."""


@pytest.mark.parametrize(
    "fit",
    [
        lambda: dfu.temperature_scaling(LOGITS, RIGHT),
        lambda: dfu.classwise_temperature_scaling(LOGITS, RIGHT),
        lambda: dfu.vector_scaling(LOGITS, RIGHT),
        lambda: dfu.platt_scaling(LOGITS, RIGHT),
        lambda: dfu.groupwise_calibration("temperature", LOGITS, RIGHT),
        lambda: dfu.groupwise_calibration(dfu.platt_scaling, LOGITS, RIGHT),
        # a split at random may leave a class without rows, which is another warning
        lambda: dfu.compare_calibrations(LOGITS, RIGHT, LOGITS, RIGHT, n_rep=2, rng=0),
        lambda: dfu.covariate_shift_calibration(
            LOGITS, RIGHT, None, None, ratio=np.ones(20)
        ),
    ],
)
def test_a_fit_at_its_bound(fit):
    with pytest.warns(dfu.FitAtBoundWarning) as caught:
        fit()
    assert {warning.filename for warning in caught} == {__file__}


def test_too_few_rows_for_the_bins():
    with pytest.warns(dfu.SmallCalibrationWarning) as caught:
        dfu.covariate_shift_calibration(
            LOGITS, RIGHT, None, None, ratio=np.ones(20), calibrator="binning",
            calibrator_options={"n_bins": 15},
        )  # fmt: skip
    assert caught[0].filename == __file__
