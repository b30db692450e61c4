"""The judge catches what is planted: a judge that cannot fail would say nothing."""

import os
import random
import warnings
from random import Random

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from tests.fuzz import presentation
from tests.fuzz.judge import difference, judge, nan_places


def kinds_found(call, *arguments, parameters=("x",)):
    outcome = judge(
        "planted", call, list(arguments), {}, parameters=dict.fromkeys(parameters)
    )
    return {kind for kind, _ in outcome.findings}


def refuse(message):
    def call(*_):
        raise dfu.InputError(message)

    return call


def test_numbers_and_refusals_that_name_a_parameter_are_fine():
    assert kinds_found(lambda: 1.0) == set()
    assert kinds_found(lambda: np.array([np.inf])) == set()
    assert kinds_found(refuse("The 'x' parameter of f must be one. Got 2")) == set()


def test_refusals_must_name_a_parameter_of_the_call():
    unnamed = {"parameter not named"}
    assert kinds_found(refuse("This cannot be.")) == unnamed
    assert kinds_found(refuse("The 'y' parameter of f must be one.")) == unnamed


@pytest.mark.parametrize("error", [ValueError, ZeroDivisionError, MemoryError])
def test_other_exceptions_are_found(error):
    def call():
        raise error("planted")

    assert kinds_found(call) == {"exception"}


def test_warnings_of_others_are_found_and_our_own_are_not():
    def call(category):
        warnings.warn("planted", category, stacklevel=1)

    assert kinds_found(call, RuntimeWarning) == {"warning"}
    assert kinds_found(call, dfu.EmptyBinWarning) == set()
    assert kinds_found(lambda: np.log(np.zeros(2)) * 0) == {"warning", "nan"}


def test_changed_tensors_are_found():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = torch.ones(3, dtype=torch.bfloat16)
    assert kinds_found(lambda x: 1.0, rows) == set()
    assert kinds_found(lambda x: float(x.mul_(2)[0]), rows) == {"input changed"}
    assert kinds_found(lambda x: id(x.requires_grad_()), rows) == {"input changed"}


def test_tensors_have_the_numbers_of_the_array_beside_them():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    kinds = set()
    for k in range(200):
        made, plain = presentation.tensor(rows, Random(k))
        kinds |= {str(made.dtype), made.requires_grad, made.is_contiguous()}
        if made is not plain:
            np.testing.assert_array_equal(made.detach().double().numpy(), plain)
        numbers = made.detach().double().numpy()
        np.testing.assert_allclose(numbers, rows, atol=0.3)  # eighths
    assert kinds >= {"torch.bfloat16", "torch.float16", True, False}


def test_changed_input_is_found():
    def call(array):
        array[0] = 7.0

    assert kinds_found(call, np.zeros(3)) == {"input changed"}
    assert kinds_found(call, [0.0, 1.0]) == {"input changed"}
    frame = pd.DataFrame({0: [1.0, 2.0]})
    assert kinds_found(lambda f: f.iloc.__setitem__((0, 0), 5.0), frame) == {
        "input changed"
    }


def test_changed_state_is_found():
    threads = dfu.get_num_threads()
    folder = os.getcwd()
    undo = {
        lambda: np.seterr(over="ignore"): lambda: np.seterr(over="warn"),
        lambda: np.random.rand(): lambda: None,  # noqa: NPY002
        lambda: random.random(): lambda: None,
        lambda: os.environ.update(PLANTED="1"): lambda: os.environ.pop("PLANTED"),
        lambda: os.chdir("/"): lambda: os.chdir(folder),
        lambda: mpl.rcParams.update({"lines.linewidth": 9.0}): mpl.rcdefaults,
        lambda: dfu.set_num_threads(threads + 1): lambda: dfu.set_num_threads(threads),
        lambda: warnings.simplefilter("ignore"): lambda: None,
    }
    for plant, restore in undo.items():
        try:
            found = kinds_found(lambda plant=plant: plant() and None)
        finally:
            restore()
        assert found == {"state changed"}


def test_nan_is_found_wherever_it_is():
    table = dfu.metrics.reliability([0.1, 0.9], [0, 1])
    frame = pd.DataFrame({"a": [1.0], "b": [np.nan]})
    for value, place in (
        (np.nan, "f"),
        (np.array([1.0, np.nan]), "f"),
        ((1.0, [np.float32(np.nan)]), "f"),
        ({"key": np.nan}, "f[key]"),
        (frame, "f[b]"),
        (table, "ReliabilityTable.mean_confidence"),
    ):
        assert place in set(nan_places(value, "f"))
    assert set(nan_places((1.0, "nan", None, np.inf, pd.DataFrame({"a": [None]})))) == (
        set()
    )


def test_differences_are_found_field_by_field():
    one = dfu.metrics.reliability([0.1, 0.9], [0, 1])
    other = dfu.metrics.reliability([0.1, 0.9], [1, 1])
    assert difference(one, one) is None
    assert difference(one, dfu.metrics.reliability([0.1, 0.9], [0, 1])) is None
    assert difference(one, other) == "ReliabilityTable.accuracy"
    assert difference(np.zeros(2), np.zeros(3)) is not None
    assert difference(np.zeros(2), np.zeros(2, dtype=np.float32)) is not None
    assert difference((1, "a"), (1, "b")) is not None
    assert difference(float("nan"), float("nan")) is None
