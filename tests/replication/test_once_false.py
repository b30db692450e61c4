"""What an audit refuted: each row of the study runs, and prints what it says."""

import warnings

import pytest

import distfreeuq as dfu
from vignettes.replication import once_false as study

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("row", study.ROWS)
def test_rows_are_measured(row, data_folder):
    data_folder("cifar10-chenyaofo-logits"), data_folder("cifar10-resnet50-logits")
    measure, draws = study.ROWS[row]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dfu.DistFreeWarning)
        once, now, figure = measure(min(draws, 2))
    assert once and now and any(letter.isdigit() for letter in figure)
