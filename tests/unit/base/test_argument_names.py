"""Class names are the user's own, of any kind, and labels are found among them."""

import datetime

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from tests.unit.argument_data import LABELS, PLAIN, PROBS, N, refused


@pytest.mark.parametrize(
    "classes",
    [
        ["benign", "malignant", "unknown"],
        [-1, 0, 1],
        [10, 20, 30],
        [0.5, 1.5, np.inf],
        [2**63, 2**64, -(2**70)],
        [True, False, "maybe"],
        ["a", 1, None],
        [("a", 1), ("a", 2), "b"],
        [b"a", b"b", b"c"],
        [datetime.date(2020, 1, day) for day in (1, 2, 3)],
        [datetime.datetime(2020, 1, day) for day in (1, 2, 3)],
        ["", " ", "日本"],
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [list, tuple, "objects", pd.Series])
def test_any_class_names_give_the_answer_of_numbers(classes, form):
    named = [classes[k] for k in LABELS]
    objects = np.fromiter(named, dtype=object, count=N)
    if form == "objects":
        named = objects
    elif form is pd.Series:
        named = pd.Series(objects, dtype=object)
    else:
        named = form(named)
    fit = dfu.split_conformal(PROBS, named, classes=classes, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    assert list(fit.classes) == classes
    assert [type(name) for name in fit.classes] == [type(name) for name in classes]
    assert fit.predict(PROBS).evaluate(named).n == N


@pytest.mark.parametrize("classes", [["b", "a", "c"], [3, 1, 2], [0.5, 0.25, 0.75]])
def test_categories_are_found_by_name_and_not_by_their_code(classes):
    named = pd.Categorical([classes[k] for k in LABELS])
    assert named.categories.tolist() == sorted(classes) != classes
    for form in (named, pd.Series(named)):
        fit = dfu.split_conformal(PROBS, form, classes=classes, rng=0)
        np.testing.assert_array_equal(fit.scores, PLAIN.scores)


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_as_class_names(unit):
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype=f"M8[{unit}]")
    fit = dfu.split_conformal(PROBS, days[LABELS], classes=days, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    fit = dfu.split_conformal(PROBS, list(days[LABELS]), classes=days, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    index = pd.DatetimeIndex(days)
    fit = dfu.split_conformal(PROBS, index[LABELS], classes=index, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    labels = days[LABELS].copy()
    labels[4] = "NaT"
    with pytest.raises(InputError, match=r"Got \w+ at row 4 instead"):
        dfu.split_conformal(PROBS, labels, classes=[*days[:2], None])


def test_dates_that_are_not_quite_the_same_and_dates_that_are_missing():
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[ns]")
    labels = days[LABELS] + np.timedelta64(1, "ns")
    with pytest.raises(InputError, match="at row 0 instead"):
        dfu.split_conformal(PROBS, labels, classes=days)
    missing = [np.datetime64("NaT", "D"), "b", "c"]
    with refused("classes", "distinct names, none of them missing", "NaT"):
        dfu.split_conformal(PROBS, LABELS, classes=missing)
    with pytest.raises(InputError, match="at row 0 instead"):
        dfu.split_conformal(PROBS, missing[:1] * N, classes=[None, "b", "c"])


def test_numpy_names_become_plain_ones_and_0_to_k_are_numbers():
    names = dfu.split_conformal(PROBS, LABELS, classes=np.arange(3), rng=0).classes
    assert names == range(3)
    text = np.array(["a", "b", "c"])
    names = dfu.split_conformal(PROBS, text[LABELS], classes=text, rng=0).classes
    assert [type(name) for name in names] == [str] * 3
    # equal to 0..K-1, but the user's own names all the same
    half = dfu.split_conformal(PROBS[:, 0], LABELS > 0, classes=[False, True], rng=0)
    assert half.classes == (False, True) and half.classes[0] is False


def test_a_generator_of_class_names_is_a_sequence_of_names():
    fit = dfu.split_conformal(
        PROBS, LABELS + 1, classes=(k + 1 for k in range(3)), rng=0
    )
    assert fit.classes == (1, 2, 3)


def test_a_frames_columns_name_the_classes():
    frame = pd.DataFrame(PROBS, columns=["a", "b", "c"])
    named = np.array(["a", "b", "c"])[LABELS]
    fit = dfu.split_conformal(frame, named, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    assert fit.classes == ("a", "b", "c")
    expected = PLAIN.predict(PROBS).mask
    np.testing.assert_array_equal(fit.predict(frame).mask, expected)
    np.testing.assert_array_equal(fit.predict(PROBS).mask, expected)
    with refused(
        "probs",
        "with the fit's columns in the fit's order, 'a', 'b', 'c'",
        "'c', 'b', 'a'",
    ):
        fit.predict(frame[["c", "b", "a"]])
    with refused(
        "probs",
        "with the fit's columns in the fit's order, 'a', 'b', 'c'",
        "'a', 'b', 'd'",
    ):
        fit.p_values(frame.rename(columns={"c": "d"}))


def test_a_frames_integer_columns_are_names_too():
    frame = pd.DataFrame(PROBS[:, [2, 0, 1]], columns=[2, 0, 1])
    ids = range(N)  # a row whose columns are moved is another row to the hash
    fit = dfu.split_conformal(frame, LABELS, rng=0, ids=ids)
    expected = dfu.split_conformal(PROBS, LABELS, rng=0, ids=ids)
    np.testing.assert_array_equal(fit.scores, expected.scores)
    with refused(
        "probs", "with the fit's columns in the fit's order, 0, 1, 2", "2, 0, 1"
    ):
        PLAIN.predict(frame)


def test_classes_override_columns_of_other_names_but_not_of_the_same():
    frame = pd.DataFrame(PROBS, columns=["p_a", "p_b", "p_c"])
    named = np.array(["a", "b", "c"])[LABELS]
    fit = dfu.split_conformal(frame, named, classes=["a", "b", "c"], rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    fit.predict(frame)
    must = "the frame's columns in the frame's order, 'p_a', 'p_b', 'p_c'"
    with refused("classes", must, "'p_c', 'p_b', 'p_a'"):
        dfu.split_conformal(frame, named, classes=["p_c", "p_b", "p_a"])


@pytest.mark.parametrize(
    ("classes", "must", "got"),
    [
        ("abc", "a sequence of class names, one per column", "'abc'"),
        (b"abc", "a sequence of class names, one per column", "b'abc'"),
        (
            {"a"},
            "a sequence of class names, one per column",
            "{'a'}",
        ),
        ({0: "a"}, "a sequence of class names, one per column", "{0: 'a'}"),
        (3, "a sequence of class names, one per column", "3"),
        (
            np.array("abc"),
            "a sequence of class names, one per column",
            "an array of shape ()",
        ),
        (["a", "b"], "one name for each of the 3 columns", "2 names"),
        (["a", "b", "c", "d"], "one name for each of the 3 columns", "4 names"),
        (["a", "b", "a"], "distinct names", "'a' more than once"),
        ([1, 2, 1.0], "distinct names", "1.0 more than once"),
        ([True, 2, 1], "distinct names", "1 more than once"),
        (["a", "b", np.nan], "distinct names, none of them missing", "nan"),
        (["a", "b", pd.NA], "distinct names, none of them missing", "<NA>"),
        (["a", "b", pd.NaT], "distinct names, none of them missing", "NaT"),
        (
            ["a", "b", "half \ud800"],
            "distinct names that UTF-8 can hold",
            r"'half \ud800'",
        ),
        (["a", "b", ["c"]], "names that can be hashed", "['c']"),
        (np.eye(3), "names that can be hashed", "[1.0, 0.0, 0.0]"),
    ],
)
def test_class_names_that_cannot_be(classes, must, got):
    with refused("classes", must, got):
        dfu.split_conformal(PROBS, LABELS, classes=classes)
