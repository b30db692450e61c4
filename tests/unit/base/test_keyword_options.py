"""Options that one procedure passes on to another."""

import pytest

import distfreeuq as dfu
from distfreeuq._base.keyword_options import complete_options


def procedure(data, *, weight=None, ridge=1.0, loss="nll"):
    """Stand in for a public function."""


def test_what_is_not_given_has_the_default():
    options = complete_options(procedure, {"ridge": 2.0}, without=("weight",))
    assert options == {"ridge": 2.0, "loss": "nll"}


@pytest.mark.parametrize("name", ["rigde", "weight", "data"])
def test_other_names_are_the_error_of_a_call(name):
    message = rf"procedure\(\) got an unexpected keyword argument '{name}'"
    with pytest.raises(TypeError, match=message):
        complete_options(procedure, {name: 1}, without=("weight",))


def test_messages_name_the_procedure_whose_option_it_is():
    logits, labels = [[2.0, 0.0], [0.0, 2.0]], [0, 1]
    with pytest.raises(dfu.InputError, match="'ridge' parameter of vector_scaling"):
        dfu.groupwise_calibration("vector", logits, labels, ridge=-1.0)
    with pytest.raises(TypeError, match=r"platt_scaling\(\) got an unexpected"):
        dfu.groupwise_calibration("platt", logits, labels, rigde=1.0)
