"""Prediction sets: rows, labels by name, selection, and how they are evaluated."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import InputError

NAMES = ["a", "b", "c"]


def sets_of(mask, classes=None):
    mask = np.asarray(mask, dtype=bool)
    return dfu.PredictionSets(
        mask=mask,
        sizes=mask.sum(axis=1),
        classes=range(mask.shape[1]) if classes is None else tuple(classes),
        nominal=0.9,
        guarantee=dfu.NoGuarantee("made by hand"),
    )


MASK = [[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]]
SETS = sets_of(MASK, NAMES)


def as_lists(sets):
    return [list(labels) for labels in sets.labels()]


def test_labels_are_the_users_names_row_by_row():
    expected = [["a"], ["b", "c"], [], ["a", "b", "c"], ["b"]]
    assert as_lists(SETS) == expected
    assert [list(labels) for labels in SETS] == expected
    assert [list(SETS[i]) for i in range(len(SETS))] == expected
    assert list(SETS[-1]) == ["b"] and list(SETS[np.int64(1)]) == ["b", "c"]


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        (None, np.int64),
        ([10, 20, 30], np.int64),
        ([0.5, 1.5, 2.5], np.float64),
        (NAMES, object),
        ([True, False, None], object),
        ([2**63, 2**64, -1], object),
        ([2**63 + 1, -1, 0], object),
        ([("a", 1), ("b", 2), ("c",)], object),
        ([1, 2.5, 3], object),
        (["1", 1, 1.5], object),
    ],
)
def test_labels_keep_the_names_and_their_types(classes, dtype):
    sets = sets_of([[1, 1, 1]], classes)
    labels = sets[0]
    assert labels.dtype == dtype
    expected = list(range(3)) if classes is None else classes
    assert labels.tolist() == expected
    assert [type(x) for x in labels.tolist()] == [type(x) for x in expected]
    assert sets.labels()[0].tolist() == expected


def test_selection_by_slice_vector_and_mask():
    assert as_lists(SETS[1:3]) == [["b", "c"], []]
    assert as_lists(SETS[[4, 0]]) == [["b"], ["a"]]
    assert as_lists(SETS[np.array([True, False, False, False, True])]) == [["a"], ["b"]]
    assert as_lists(SETS[::-2]) == [["b"], [], ["a"]]
    assert len(SETS[:0]) == 0 and SETS[:0].labels() == []
    assert SETS[2:].guarantee is SETS.guarantee and SETS[2:].nominal == 0.9
    assert not SETS[1:3].mask.flags.writeable and not SETS[[4]].sizes.flags.writeable


@pytest.mark.parametrize("index", [5, -6, [7], "a", 1.0, [0.5]])
def test_rows_that_do_not_exist_are_an_index_error(index):
    with pytest.raises(IndexError):
        SETS[index]


@pytest.mark.parametrize("index", [(0, 1), None, [[0, 1]], True, ...])
def test_what_selects_no_rows_is_refused(index):
    if index is ...:
        assert as_lists(SETS[index]) == as_lists(SETS)
        return
    with pytest.raises((InputError, IndexError)):
        SETS[index]


def test_no_rows_and_no_labels():
    empty = sets_of(np.zeros((0, 3)))
    assert len(empty) == 0 and list(empty) == []
    assert repr(empty) == "<PredictionSets n=0 K=3>"
    nothing = sets_of(np.zeros((2, 3)))
    assert [labels.size for labels in nothing] == [0, 0]


def test_frame_has_a_column_per_class_and_the_size():
    frame = SETS.to_frame()
    assert frame.columns.tolist() == ["a", "b", "c", "size"]
    np.testing.assert_array_equal(frame[NAMES].to_numpy(), np.array(MASK, dtype=bool))
    assert frame["size"].tolist() == [1, 2, 0, 3, 1]


@pytest.mark.parametrize(
    "classes",
    [["size", "b", "c"], ["a", None, "c"], [("a", 1), ("a", 2), "b"], [3, 1, 2]],
)
def test_frame_columns_are_the_names_whatever_they_are(classes):
    frame = sets_of(MASK, classes).to_frame()
    assert frame.columns.tolist() == [*classes, "size"]
    assert frame.shape == (5, 4) and not isinstance(frame.columns, pd.MultiIndex)
    np.testing.assert_array_equal(frame.iloc[:, :3].to_numpy(), np.array(MASK, bool))
    assert frame.iloc[:, 3].tolist() == [1, 2, 0, 3, 1]


def test_coverage_is_counted_in_all_rows_by_class_and_by_size():
    result = SETS.evaluate(["a", "a", "b", "c", "b"])
    assert (result.n, result.n_covered, result.coverage) == (5, 3, 0.6)
    assert result.mean_size == 7 / 5 and result.n_empty == 1
    assert result.class_counts.tolist() == [2, 2, 1]
    assert result.class_covered.tolist() == [1, 1, 1]
    assert result.size_counts.tolist() == [1, 2, 1, 1]
    assert result.size_covered.tolist() == [0, 2, 0, 1]
    # Clopper-Pearson at 3 of 5, from tables
    np.testing.assert_allclose(result.interval, [0.1466, 0.9473], atol=5e-5)
    assert repr(result) == "<CoverageResult 0.6000 of n=5 mean size 1.400>"


def test_frame_of_coverage_by_stratum():
    frame = SETS.evaluate(["a", "a", "b", "c", "b"]).to_frame()
    assert frame["stratum"].tolist() == ["all"] + ["class"] * 3 + ["size"] * 4
    assert frame["value"].tolist() == ["", "a", "b", "c", 0, 1, 2, 3]
    assert frame["n"].tolist() == [5, 2, 2, 1, 1, 2, 1, 1]
    assert frame["covered"].tolist() == [3, 1, 1, 1, 0, 2, 0, 1]
    assert (frame["low"] <= frame["coverage"]).all()
    assert (frame["coverage"] <= frame["high"]).all()


def test_frame_of_coverage_keeps_none_as_a_name():
    sets = sets_of(MASK, ["a", None, "c"])
    frame = sets[:0].evaluate([]).to_frame()
    assert frame["value"].tolist() == ["", "a", None, "c"]
    assert frame["coverage"].isna().all()


def test_a_rows_set_does_not_depend_on_its_batch():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(6), size=50)
    for score in ("aps", "lac", "raps", "saps", "rank", "margin"):
        fit = dfu.split_conformal(probs, np.arange(50) % 6, score=score, rng=0)
        u = rng.random(50)
        together = fit.predict(probs, uniforms=u)
        for i in (0, 17, 49):
            alone = fit.predict(probs[i : i + 1], uniforms=u[i : i + 1])
            np.testing.assert_array_equal(alone.mask[0], together.mask[i])
