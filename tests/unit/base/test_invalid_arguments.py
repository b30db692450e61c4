"""What cannot be is refused, with the parameter, the rule and the first offender."""

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import InputError
from tests.unit.argument_data import LABELS, PLAIN, PROBS, UNIFORMS, N, refused


def spoiled(entry: float) -> np.ndarray:
    matrix = PROBS.copy()
    matrix[[7, 9], [1, 0]] = entry
    return matrix


SHAPE = "of shape (n, K) with K >= 2, or (n,) for the probability of class 1"
SUM = "rows of probabilities that sum to one (within 1e-06)"
AN_ARRAY = "an array of probabilities"


@pytest.mark.parametrize(
    ("probs", "must", "got"),
    [
        (spoiled(np.nan), "finite probabilities", "nan at row 7, column 1"),
        (spoiled(np.inf), "finite probabilities", "inf at row 7, column 1"),
        (spoiled(-np.inf), "finite probabilities", "-inf at row 7, column 1"),
        (spoiled(-0.25), "non-negative probabilities", "-0.25 at row 7, column 1"),
        (PROBS * 7, SUM, "a sum of 7 at row 0"),
        (PROBS * 1.001, SUM, "a sum of 1.001 at row 0"),
        (np.vstack([PROBS, [0.2, 0.3, 0.4]]), SUM, "a sum of 0.9 at row 30"),
        (0.5, SHAPE, "0.5"),
        (np.array(0.5), SHAPE, "0.5"),
        (np.ones((2, 2, 2)) / 2, SHAPE, "shape (2, 2, 2)"),
        (np.ones((5, 1)), SHAPE, "shape (5, 1)"),
        ([[], []], SHAPE, "shape (2, 0)"),
        ([0.5, 1.5], "probabilities in [0, 1]", "1.5 at row 1"),
        ([0.5, np.nan], "probabilities in [0, 1]", "nan at row 1"),
        ([[0.5, 0.5], [1.0]], AN_ARRAY, "rows of different lengths"),
        ([["a", "b"]], AN_ARRAY, "an array of dtype <U1"),
        ([["0.5", 0.5]], AN_ARRAY, "an array of dtype <U32"),
        (np.array([[0.5, "0.5"]], dtype=object), AN_ARRAY, "'0.5' at row 0, column 1"),
        (np.array([[0.5, 0.5j]], dtype=object), AN_ARRAY, "0.5j at row 0, column 1"),
        ([[0.5, 0.5], [None, 1.0]], "finite probabilities", "nan at row 1, column 0"),
        (PROBS + 0j, AN_ARRAY, "an array of dtype complex128"),
        (None, AN_ARRAY, "None"),
        ({0.5}, AN_ARRAY, "{0.5}"),
        ({"a": [0.5]}, AN_ARRAY, "{'a': [0.5]}"),
        ("0.5", AN_ARRAY, "'0.5'"),
        (
            np.ma.array(PROBS, mask=spoiled(2.0) == 2.0),
            AN_ARRAY,
            "a masked entry at row 7, column 1",
        ),
        (
            pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, None]}, dtype="Float64"),
            AN_ARRAY,
            "<NA> at row 1, column 1 ('b')",
        ),
        (
            pd.DataFrame(PROBS, columns=["a", "b", "a"]),
            "a frame with distinct column names",
            "'a' more than once",
        ),
    ],
)
def test_what_is_no_probability_matrix(probs, must, got):
    try:
        n = len(probs)
    except TypeError:
        n = N
    with refused("probs", must, got):
        dfu.split_conformal(probs, np.zeros(n, dtype=int))
    if isinstance(probs, np.ndarray):
        with refused("probs", must, got):
            PLAIN.predict(probs)
        with refused("probs", must, got):
            PLAIN.p_values(probs)
        with refused("probs", must, got):
            dfu.nested_scores(probs)


def test_row_sums_may_stray_by_the_rounding_of_their_type():
    single = PROBS.astype(np.float32)
    dfu.nested_scores(single * np.float32(1.00005))
    with refused(
        "probs",
        "rows of probabilities that sum to one (within 0.0001)",
        "a sum of 1.25 at row 0",
    ):
        dfu.nested_scores(np.array([[0.5, 0.75]], dtype=np.float32))
    dfu.nested_scores(PROBS * (1 + 9e-7))
    with pytest.raises(InputError, match="sum to one"):
        dfu.nested_scores(PROBS * (1 + 2e-6))
    half = PROBS.astype(np.float16)
    assert np.abs(half.sum(axis=1, dtype=float) - 1).max() > 1e-4
    dfu.nested_scores(half)
    with pytest.raises(InputError, match="sum to one"):
        dfu.nested_scores(half * np.float16(1.01))


@pytest.mark.parametrize("K", [3, 4, 5])
def test_the_first_bad_row_is_named_wherever_it_is(K):
    for n in (1, 2, 3, 7):
        for row in range(n):
            matrix = np.full((n, K), 1 / K)
            matrix[row:, K - 1] = 2.0
            with pytest.raises(InputError, match=f"at row {row} instead"):
                dfu.nested_scores(matrix)


def test_sparse_matrices_are_told_what_to_do():
    import scipy.sparse

    with refused("probs", AN_ARRAY, "a sparse matrix (call its toarray method)"):
        dfu.split_conformal(scipy.sparse.csr_matrix(PROBS), LABELS)


NUMBERED = "integers 0..2, or names listed in classes="


@pytest.mark.parametrize(
    ("labels", "must", "got"),
    [
        (np.where(np.arange(N) == 4, 3, LABELS), NUMBERED, "3 at row 4"),
        (np.where(np.arange(N) == 4, -1, LABELS), NUMBERED, "-1 at row 4"),
        (np.where(np.arange(N) == 4, np.nan, LABELS), NUMBERED, "nan at row 4"),
        (np.where(np.arange(N) == 4, np.inf, LABELS), NUMBERED, "inf at row 4"),
        (np.where(np.arange(N) == 4, 0.5, LABELS), NUMBERED, "0.5 at row 4"),
        (np.full(N, 2**63, dtype=np.uint64), NUMBERED, f"{2**63} at row 0"),
        ([2**70] * N, NUMBERED, f"{2**70} at row 0"),
        ([0, 2**70] * (N // 2), NUMBERED, f"{2**70} at row 1"),
        (["0", "1", "2"] * (N // 3), NUMBERED, "'0' at row 0"),
        (pd.Series(["0", "1", "2"] * (N // 3)), NUMBERED, "'0' at row 0"),
        ([0, None] * (N // 2), NUMBERED, "None at row 1"),
        (
            [0, [1]] * (N // 2),
            "an array of labels, one per row",
            "rows of different lengths",
        ),
        ([0, {1}] * (N // 2), NUMBERED, "{1} at row 1"),
        (pd.Series([0, None] * (N // 2), dtype="Int64"), NUMBERED, "nan at row 1"),
        (
            np.array(["2020-01-01"] * N, dtype="M8[D]"),
            NUMBERED,
            "datetime.date(2020, 1, 1) at row 0",
        ),
        (
            np.ma.array(LABELS, mask=np.arange(N) == 4),
            "an array of labels, one per row",
            "a masked entry at row 4",
        ),
        (LABELS[:-1], "one label for each of the 30 rows", "29 labels"),
        ([], "one label for each of the 30 rows", "0 labels"),
        (np.eye(3)[LABELS], "one label per row, shape (n,)", "shape (30, 3)"),
        (LABELS[None], "one label per row, shape (n,)", "shape (1, 30)"),
        (0, "one label per row, shape (n,)", "0"),
        ("abc", "an array of labels, one per row", "'abc'"),
        (None, "an array of labels, one per row", "None"),
        (map(int, LABELS), "an array of labels, one per row", "a map"),
    ],
)
def test_what_are_no_labels(labels, must, got):
    with refused("labels", must, got):
        dfu.split_conformal(PROBS, labels)


@pytest.mark.parametrize(
    ("bad", "got"),
    [
        ("d", "'d'"),
        (np.nan, "nan"),
        (None, "None"),
        (1, "1"),
        (["a"], "['a']"),
        (2**70, str(2**70)),
    ],
)
def test_labels_that_are_no_class_name(bad, got):
    labels = [["a", "b", "c"][k] for k in LABELS]
    labels[4] = bad
    must = "among the classes 'a', 'b', 'c'"
    for form in (list, lambda x: np.fromiter(x, dtype=object, count=N)):
        with refused("labels", must, f"{got} at row 4"):
            dfu.split_conformal(PROBS, form(labels), classes=["a", "b", "c"])
    sets = dfu.split_conformal(
        PROBS, np.array(["a", "b", "c"])[LABELS], classes=["a", "b", "c"], rng=0
    ).predict(PROBS)
    with refused("labels", must, f"{got} at row 4"):
        sets.evaluate(labels)


def test_many_classes_are_not_all_listed():
    n, K = 20, 100
    probs = np.full((n, K), 1 / K)
    must = (
        "among the classes 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7' and 92 more"
    )
    with refused("labels", must, "'c100' at row 0"):
        dfu.split_conformal(probs, ["c100"] * n, classes=[f"c{k}" for k in range(K)])


@pytest.mark.parametrize(
    ("alpha", "got"),
    [
        (0, "0"),
        (1, "1"),
        (0.0, "0.0"),
        (1.5, "1.5"),
        (-0.1, "-0.1"),
        (np.float64(1.5), "1.5"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (True, "True"),
        (np.bool_(True), "True"),
        ("0.1", "'0.1'"),
        (None, "None"),
        ([0.1], "[0.1]"),
        (np.array([0.1, 0.2]), "[0.1, 0.2]"),
        (np.ones((2, 2)), "an array of shape (2, 2)"),
        (0.1 + 0j, "(0.1+0j)"),
        (10**400, "1000000000000000000000000000...00000000000000000000000000000"),
        pytest.param(10**5000, "an int", id="10**5000"),
        (pd.NA, "<NA>"),
        (float, "the class float"),
    ],
)
def test_what_is_no_miscoverage_level(alpha, got):
    with refused("alpha", "a number in (0, 1)", got):
        dfu.split_conformal(PROBS, LABELS, alpha=alpha)
    if alpha is not None:
        with refused("confidence", "a number in (0, 1)", got):
            dfu.split_conformal(PROBS, LABELS, confidence=alpha)
    with refused("level", "a number in (0, 1)", got):
        PLAIN.predict(PROBS).evaluate(LABELS, level=alpha)


@pytest.mark.parametrize(
    "alpha", [0.2, np.float32(0.2), np.array(0.2), np.longdouble(0.2)]
)
def test_any_real_scalar_is_a_level(alpha):
    fit = dfu.split_conformal(PROBS, LABELS, alpha=alpha, rng=0)
    assert type(fit.alpha) is float and fit.alpha == float(alpha)


def test_one_level_per_class_where_the_method_has_them():
    def thresholds(alpha):
        return dfu.conformal_thresholds(
            UNIFORMS, LABELS, alpha=alpha, n_classes=3, method="label-conditional"
        )

    np.testing.assert_array_equal(thresholds([0.4] * 3), thresholds(0.4))
    np.testing.assert_array_equal(thresholds(pd.Series([0.4] * 3)), thresholds(0.4))
    must = "a number in (0, 1), or 3 of them"
    with refused("alpha", must, "1.0 at position 1"):
        thresholds([0.1, 1.0, 0.1])
    with refused("alpha", must, "nan at position 2"):
        thresholds([0.1, 0.1, np.nan])
    with refused("alpha", "of length 3", "length 2"):
        thresholds([0.1, 0.1])
    with refused("alpha", "a number in (0, 1)", "1.0"):
        thresholds(np.array(1.0))


@pytest.mark.parametrize(
    ("weight", "must", "got"),
    [
        ([0, 0, 0], "weights of which some are positive", "all zero"),
        ([1, -1, 1], "non-negative numbers", "-1.0 at position 1"),
        ([1, np.nan, 1], "non-negative numbers", "nan at position 1"),
        ([1, 2], "of length 3", "length 2"),
        (
            [1, np.inf, 1],
            "infinite only for classes that the calibration labels lack",
            None,
        ),
        ([[1, 2, 3]], "non-negative numbers", "shape (1, 3)"),
        (["a", "b", "c"], "an array of numbers", "an array of dtype <U1"),
        (2.0, "non-negative numbers", "2.0"),
        ({1, 2, 3}, "an array of numbers", "{1, 2, 3}"),
    ],
)
def test_what_are_no_class_weights(weight, must, got):
    if got is None:
        got = f"inf for the class of row {int(np.argmax(LABELS == 1))}"
    with refused("label_weight", must, got):
        dfu.conformal_thresholds(
            UNIFORMS,
            LABELS,
            alpha=0.1,
            n_classes=3,
            method="label-shift",
            label_weight=weight,
        )


@pytest.mark.parametrize(
    ("weights", "got"),
    [
        (-1.0, "-1.0 at position 2"),
        (np.nan, "nan at position 2"),
        (np.inf, "inf at position 2"),
    ],
)
def test_what_are_no_weights_of_a_quantile(weights, got):
    spoiled_weights = [1.0, 1.0, weights, 1.0]
    with refused("weights", "non-negative finite numbers, one per value", got):
        dfu.weighted_quantile([1, 2, 3, 4], spoiled_weights, 0.5)


def test_weights_that_are_all_zero_leave_no_mass_below_infinity():
    assert dfu.weighted_quantile([1, 2], [0, 0], 0.5) == np.inf
    assert dfu.weighted_quantile([1, 2], [0, 0], 0.5, atom=1.0) == np.inf
    assert dfu.weighted_quantile([], [], 0.5) == np.inf


@pytest.mark.parametrize("level", [0, 1.5, np.nan, "0.5", None, True])
def test_what_is_no_quantile_level(level):
    with pytest.raises(InputError, match="'level' parameter of weighted_quantile"):
        dfu.weighted_quantile([1, 2], [1, 1], level)
    with pytest.raises(InputError, match="'level' parameter of weighted_quantile"):
        dfu.weighted_quantile(
            [1, 2], [1, 1], [0.5, level] if level is not True else {0}
        )


def test_atoms_and_levels_of_different_lengths_are_refused():
    with refused("atom", "one number, or 2 as levels", "3"):
        dfu.weighted_quantile([1, 2], [1, 1], [0.5, 0.6], atom=[1, 2, 3])


@pytest.mark.parametrize(
    ("uniforms", "must", "got"),
    [
        (np.full(N, 1.5), "numbers in [0, 1], one per row", "1.5 at position 0"),
        (np.full(N, -0.5), "numbers in [0, 1], one per row", "-0.5 at position 0"),
        (np.full(N, np.nan), "numbers in [0, 1], one per row", "nan at position 0"),
        (UNIFORMS[:-1], "of length 30", "length 29"),
        (0.5, "numbers in [0, 1], one per row", "0.5"),
    ],
)
@pytest.mark.parametrize("score", ["aps", "lac"])
def test_what_are_no_uniforms(uniforms, must, got, score):
    fit = dfu.split_conformal(PROBS, LABELS, score=score, rng=0)
    with refused("uniforms", must, got):
        fit.predict(PROBS, uniforms=uniforms)
    with refused("uniforms", must, got):
        dfu.nested_scores(PROBS, uniforms=uniforms, score=score)


@pytest.mark.parametrize(
    ("probs", "got"),
    [
        (np.full((4, 2), 0.5), "shape (4, 2)"),
        (np.full((4, 4), 0.25), "shape (4, 4)"),
        ([0.2, 0.3, 0.5], "shape (3,)"),
    ],
)
def test_new_rows_must_have_the_fits_columns(probs, got):
    with refused("probs", "of shape (n, 3), as in the fit", got):
        PLAIN.predict(probs)


def test_flags_counts_and_choices():
    with refused("randomized", "True or False", "1"):
        dfu.split_conformal(PROBS, LABELS, randomized=1)
    with refused("never_empty", "True or False", "'yes'"):
        dfu.split_conformal(PROBS, LABELS, never_empty="yes")
    scores = "one of 'lac', 'aps', 'raps', 'saps', 'rank', 'margin'"
    with refused("score", scores, "'APS'"):
        dfu.split_conformal(PROBS, LABELS, score="APS")
    with refused("score", scores, "the class APS"):
        dfu.split_conformal(PROBS, LABELS, score=dfu.APS)
    with refused("n_classes", "an integer of at least 1", "0"):
        dfu.conformal_thresholds(UNIFORMS, LABELS, alpha=0.1, n_classes=0)
    with refused("n_classes", "an integer of at least 1", "3.0"):
        dfu.conformal_thresholds(UNIFORMS, LABELS, alpha=0.1, n_classes=3.0)
    with refused("n_classes", "an integer of at most 100000000", str(2**70)):
        dfu.conformal_thresholds(UNIFORMS, LABELS, alpha=0.1, n_classes=2**70)
