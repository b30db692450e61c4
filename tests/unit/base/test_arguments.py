"""Data of any form and size gives the answer of plain float64 arrays, uncopied."""

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import distfreeuq as dfu
from distfreeuq import SmallCalibrationWarning
from distfreeuq._base.arguments import Arguments
from tests.unit.argument_data import LABELS, PLAIN, PROBS, SIXTEENTHS, UNIFORMS, N


def unaligned(matrix: np.ndarray) -> np.ndarray:
    memory = np.empty(matrix.nbytes + 1, dtype=np.uint8)
    shifted = memory[1:].view(matrix.dtype).reshape(matrix.shape)
    shifted[...] = matrix
    assert not shifted.flags.aligned
    return shifted


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of arrays": list,
    "Fortran order": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
    "negative strides": lambda x: x[::-1].copy()[::-1],
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "objects": lambda x: x.astype(object),
    "unaligned": unaligned,
    "masked, no mask": np.ma.array,
    "writeable": np.copy,
    "subclass": lambda x: x.view(type("Mine", (np.ndarray,), {})),
}


@pytest.mark.parametrize("form", FORMS)
def test_probs_labels_and_uniforms_in_any_form_give_the_same_answer(form):
    change = FORMS[form]
    fit = dfu.split_conformal(change(PROBS), change(LABELS), rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    np.testing.assert_array_equal(fit.class_counts, PLAIN.class_counts)
    sets = fit.predict(change(PROBS), uniforms=change(UNIFORMS))
    expected = PLAIN.predict(PROBS, uniforms=UNIFORMS)
    np.testing.assert_array_equal(sets.mask, expected.mask)
    assert sets.evaluate(change(LABELS)).coverage == expected.evaluate(LABELS).coverage


@pytest.mark.parametrize("form", FORMS)
def test_weights_in_any_form_give_the_same_answer(form):
    change = FORMS[form]
    weights = np.linspace(0.0, 2.0, N)
    found = dfu.weighted_quantile(change(UNIFORMS), change(weights), 0.7)
    assert found == dfu.weighted_quantile(UNIFORMS, weights, 0.7)


@pytest.mark.parametrize(
    "form",
    [
        np.matrix,
        pd.DataFrame,
        lambda x: pd.DataFrame(x).astype("Float64"),
        lambda x: pd.DataFrame(x).astype(object),
        lambda x: x.astype(np.longdouble),
        lambda x: [[decimal.Decimal(entry) for entry in row] for row in x],
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_other_forms_of_probs_give_the_same_answer(form):
    fit = dfu.split_conformal(form(PROBS), LABELS, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)


def test_memory_mapped_probs_are_read_where_they_are(tmp_path):
    np.save(tmp_path / "probs.npy", PROBS)
    mapped = np.load(tmp_path / "probs.npy", mmap_mode="r")
    fit = dfu.split_conformal(mapped, LABELS, rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)
    matrix, _ = Arguments("test").probs(mapped)
    assert np.shares_memory(matrix, mapped)


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", "g", ">f2", ">f4", ">f8", ">g", "O"]
)
def test_every_float_type_gives_the_same_answer(dtype):
    expected = dfu.split_conformal(SIXTEENTHS, LABELS, rng=0)
    fit = dfu.split_conformal(SIXTEENTHS.astype(dtype), LABELS, rng=0)
    np.testing.assert_array_equal(fit.scores, expected.scores)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", ">i2", "?", "f4"])
def test_one_hot_probs_of_any_number_type(dtype):
    one_hot = np.eye(3)[LABELS]
    expected = dfu.nested_scores(one_hot, LABELS)
    found = dfu.nested_scores(one_hot.astype(dtype), LABELS)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "form",
    [
        *(lambda x, d=d: x.astype(d) for d in ["i1", "u1", "u8", ">i4", "f2", "f8"]),
        lambda x: x.astype(">f4"),
        lambda x: x.astype("g"),
        lambda x: x[:, None],
        lambda x: [[label] for label in x],
        pd.Series,
        lambda x: pd.Series(x, index=x[::-1]),
        lambda x: pd.Series(x, dtype="Int64"),
        lambda x: pd.Series(x, dtype="category"),
        lambda x: pd.DataFrame({"label": x}),
        pd.Index,
        lambda x: pd.Categorical(x),
        lambda x: [decimal.Decimal(int(label)) for label in x],
    ],
)
def test_integer_labels_in_any_form_give_the_same_answer(form):
    fit = dfu.split_conformal(PROBS, form(LABELS), rng=0)
    np.testing.assert_array_equal(fit.scores, PLAIN.scores)


def test_float32_stays_float32_and_half_precision_becomes_float32():
    args = Arguments("test")
    single = PROBS.astype(np.float32)
    matrix, _ = args.probs(single)
    assert matrix.dtype == np.float32 and np.shares_memory(matrix, single)
    half, _ = args.probs(PROBS.astype(np.float16))
    assert half.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_native_contiguous_input_is_not_copied(dtype):
    args = Arguments("test")
    matrix = PROBS.astype(dtype)
    matrix.flags.writeable = False
    assert np.shares_memory(args.probs(matrix)[0], matrix)
    assert np.shares_memory(args.new_probs(matrix, range(3)), matrix)
    with pytest.warns(dfu.LikelyMistakeWarning):
        assert np.shares_memory(args.logits(matrix)[0], matrix)
    assert np.shares_memory(args.features(matrix, "source"), matrix)
    assert np.shares_memory(args.labels(LABELS, range(3), N), LABELS)
    assert np.shares_memory(args.uniforms(UNIFORMS, N), UNIFORMS)
    assert np.shares_memory(args.weights(UNIFORMS, "weights", N), UNIFORMS)


def test_what_a_kernel_could_not_read_is_copied_once():
    args = Arguments("test")
    for change in FORMS.values():
        for checked in (
            args.probs(change(PROBS))[0],
            args.labels(change(LABELS), range(3), N),
            args.uniforms(change(UNIFORMS), N),
        ):
            assert type(checked) is np.ndarray and checked.dtype.isnative
            assert checked.flags.c_contiguous and checked.flags.aligned


def test_one_column_is_the_probability_of_class_one():
    positive = PROBS[:, 0]
    both = np.column_stack([1 - positive, positive])
    binary = (LABELS > 0).astype(int)
    expected = dfu.split_conformal(both, binary, rng=0)
    for form in (positive, positive.tolist(), pd.Series(positive)):
        fit = dfu.split_conformal(form, binary, rng=0)
        np.testing.assert_array_equal(fit.scores, expected.scores)
        np.testing.assert_array_equal(
            fit.predict(form).mask, expected.predict(both).mask
        )
    assert Arguments("test").probs(positive.astype(np.float32))[0].dtype == np.float32


@pytest.mark.parametrize("labels", [[], (), np.empty(0), np.empty(0, dtype=object)])
@pytest.mark.parametrize("classes", [None, ["a", "b", "c"]])
def test_no_rows_at_all_give_infinite_thresholds_and_a_warning(labels, classes):
    with pytest.warns(SmallCalibrationWarning, match="At least 9 rows are needed"):
        fit = dfu.split_conformal(np.empty((0, 3)), labels, classes=classes)
    assert np.isposinf(fit.thresholds).all() and fit.n == 0
    assert fit.predict(PROBS).mask.all()
    assert (fit.p_values(PROBS) == 1.0).all()
    with pytest.warns(SmallCalibrationWarning):
        assert dfu.split_conformal([], []).classes == range(2)


def test_no_new_rows_give_no_sets():
    sets = PLAIN.predict(np.empty((0, 3)))
    assert len(sets) == 0 and sets.labels() == [] and sets.mask.shape == (0, 3)
    assert PLAIN.p_values(np.empty((0, 3), dtype=np.float32)).shape == (0, 3)
    result = sets.evaluate([])
    assert result.n == 0 and np.isnan(result.coverage)
    assert result.interval.tolist() == [0.0, 1.0]
    assert dfu.nested_scores(np.empty((0, 3))).shape == (0, 3)
    assert dfu.nested_scores(np.empty((0, 3)), []).shape == (0,)


def test_labels_of_one_class_only():
    fit = dfu.split_conformal(PROBS, np.ones(N, dtype=int), rng=0)
    assert fit.class_counts.tolist() == [0, N, 0]


@pytest.mark.parametrize("K", [1000, 10_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_classes(K, dtype):
    rng = np.random.default_rng(K)
    probs = rng.dirichlet(np.ones(K), size=12).astype(dtype)
    labels = rng.integers(0, K, 12)
    names = [f"class {k}" for k in range(K)]
    fit = dfu.split_conformal(probs, [names[k] for k in labels], classes=names, rng=0)
    plain = dfu.split_conformal(probs, labels, rng=0)
    np.testing.assert_array_equal(fit.scores, plain.scores)
    assert len(fit.predict(probs)[0]) == fit.predict(probs).sizes[0]


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-16, 1e-9, 1 - 1e-16])
@pytest.mark.parametrize("confidence", [None, 5e-324, 1e-9, 0.95, 1 - 1e-16])
@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
def test_extreme_levels_do_not_fail(alpha, confidence):
    fit = dfu.split_conformal(PROBS, LABELS, alpha=alpha, confidence=confidence, rng=0)
    assert not np.isnan(fit.thresholds).any()
    assert str(fit.summary())
