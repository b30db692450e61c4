"""The test of label shift on real rows: its level whatever the shift, and its power."""

import pytest

from tests.theorem.binomial import Judge
from vignettes.replication import power_of_the_test as study

pytestmark = pytest.mark.slow

DRAWS = 40


@pytest.fixture(autouse=True)
def rows(data_folder):
    return data_folder(study.FOLDER)


def rejections(change, size):
    line = study.measure(change, size, DRAWS, seed=1)
    assert line["test(), of equal proportions"] == 1.0  # they are not equal
    return round(DRAWS * line["goodness_of_fit()"])


def test_label_shift_is_rejected_no_oftener_than_it_says():
    Judge(claims=2).at_most(rejections("label shift", 500), DRAWS, 0.05)


@pytest.mark.parametrize("change", ["temperature 1.1", "other network"])
def test_other_shifts_are_rejected(change):
    Judge(claims=2).at_least(rejections(change, 2000), DRAWS, 0.5)
