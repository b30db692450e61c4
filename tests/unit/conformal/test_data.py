"""What every conformal procedure starts from."""

import numpy as np
import pytest

import distfreeuq as dfu

PROBS = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
LABELS = [0, 1, 2]
BOX = dfu.Box([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], True)

FITS = {
    "split": lambda: dfu.split_conformal(PROBS, LABELS, rng=0),
    "by class": lambda: dfu.label_conditional_conformal(PROBS, LABELS, rng=0),
    "weighted": lambda: dfu.label_shift_conformal(PROBS, LABELS, [1, 2, 3], rng=0),
    "union": lambda: dfu.label_shift_conformal(PROBS, LABELS, BOX, robust=True, rng=0),
    "by row": lambda: dfu.covariate_shift_conformal(PROBS, LABELS, np.ones(3), rng=0),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_warning_of_few_rows_points_at_the_line_of_the_call(fit):
    with pytest.warns(dfu.SmallCalibrationWarning) as caught:
        fit()
    assert (caught[0].filename, caught[0].lineno) == (
        __file__,
        fit.__code__.co_firstlineno,
    )
