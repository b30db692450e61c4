"""Prediction sets: {k : score_k <= threshold_k}, whichever path the kernel takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel
from tests.property.strategies import (
    SCORES,
    class_thresholds,
    scored_rows,
    some_thresholds,
)


@given(st.data(), scored_rows(), st.booleans(), st.booleans())
def test_sets_equal_the_definition(data, rows, one_per_row, never_empty):
    size = len(rows.probs) if one_per_row else rows.n_classes
    arguments = (
        rows.score,
        rows.probs,
        rows.uniforms,
        data.draw(some_thresholds(rows, size)),
        one_per_row,
        never_empty,
    )
    mask, sizes = kernel.prediction_sets(*arguments)
    want_mask, want_sizes = twin.prediction_sets(*arguments)
    np.testing.assert_array_equal(mask, want_mask)
    np.testing.assert_array_equal(sizes, want_sizes)


@given(st.data(), scored_rows(over_one=True))
def test_sets_are_the_scores_at_most_the_thresholds(data, rows):
    thresholds = data.draw(class_thresholds(rows))
    scores = kernel.all_label_scores(rows.score, rows.probs, rows.uniforms)
    mask, sizes = kernel.prediction_sets(
        rows.score, rows.probs, rows.uniforms, thresholds
    )
    np.testing.assert_array_equal(mask, scores <= thresholds)
    np.testing.assert_array_equal(sizes, mask.sum(axis=1))


@given(st.data(), scored_rows(), st.booleans(), st.booleans())
def test_a_set_does_not_depend_on_its_batch(data, rows, one_per_row, never_empty):
    size = len(rows.probs) if one_per_row else rows.n_classes
    thresholds = data.draw(some_thresholds(rows, size))
    options = {"one_per_row": one_per_row, "never_empty": never_empty}
    together, _ = kernel.prediction_sets(
        rows.score, rows.probs, rows.uniforms, thresholds, **options
    )
    for i in range(len(together)):
        row = slice(i, i + 1)
        alone, size_alone = kernel.prediction_sets(
            rows.score,
            rows.probs[row],
            rows.uniforms[row],
            thresholds[row] if one_per_row else thresholds,
            **options,
        )
        np.testing.assert_array_equal(alone[0], together[i])
        assert size_alone[0] == together[i].sum()


@given(st.data(), scored_rows(), st.booleans())
def test_a_row_of_equal_class_thresholds_is_one_row_threshold(data, rows, never_empty):
    by_row = data.draw(some_thresholds(rows, len(rows.probs)))
    per_row, _ = kernel.prediction_sets(
        rows.score, rows.probs, rows.uniforms, by_row, True, never_empty
    )
    for i, threshold in enumerate(by_row):
        per_class, _ = kernel.prediction_sets(
            rows.score,
            rows.probs[i : i + 1],
            rows.uniforms[i : i + 1],
            np.full(rows.n_classes, threshold),
            never_empty=never_empty,
        )
        np.testing.assert_array_equal(per_row[i], per_class[0])


@given(st.data(), scored_rows(), st.booleans())
def test_permuted_columns_permute_sets(data, rows, never_empty):
    thresholds = data.draw(class_thresholds(rows))
    order = np.array(data.draw(st.permutations(range(rows.n_classes))))
    plain, plain_sizes = kernel.prediction_sets(
        rows.score, rows.probs, rows.uniforms, thresholds, never_empty=never_empty
    )
    permuted, permuted_sizes = kernel.prediction_sets(
        rows.score,
        np.ascontiguousarray(rows.probs[:, order]),
        rows.uniforms,
        thresholds[order],
        never_empty=never_empty,
    )
    np.testing.assert_array_equal(permuted, plain[:, order])
    np.testing.assert_array_equal(permuted_sizes, plain_sizes)


@given(st.data(), scored_rows())
def test_sets_grow_with_the_thresholds(data, rows):
    some = data.draw(class_thresholds(rows))
    larger = np.maximum(some, data.draw(class_thresholds(rows)))
    small, _ = kernel.prediction_sets(rows.score, rows.probs, rows.uniforms, some)
    large, _ = kernel.prediction_sets(rows.score, rows.probs, rows.uniforms, larger)
    assert (small <= large).all()


@given(st.data(), scored_rows())
def test_never_empty_adds_the_most_likely_labels_and_no_others(data, rows):
    arguments = (
        rows.score,
        rows.probs,
        rows.uniforms,
        data.draw(class_thresholds(rows)),
    )
    plain, _ = kernel.prediction_sets(*arguments)
    filled, sizes = kernel.prediction_sets(*arguments, never_empty=True)
    most_likely = rows.probs == rows.probs.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(filled, plain | most_likely)
    assert (sizes >= 1).all()


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (40_000, 2), (150, 1000)])
@pytest.mark.parametrize("per_class", [False, True])
def test_threads_change_no_bit(name, dtype, shape, per_class):
    rng = np.random.default_rng(30)
    exponentials = rng.standard_exponential(shape)
    probs = (exponentials / exponentials.sum(axis=1, keepdims=True)).astype(dtype)
    u = rng.random(shape[0])
    scores = kernel.all_label_scores(SCORES[name], probs, u)
    levels = np.linspace(0.2, 0.8, shape[1]) if per_class else np.full(shape[1], 0.7)
    thresholds = np.quantile(scores, levels, method="higher") if scores.size else levels
    if per_class:
        thresholds[0] = np.inf
    one = kernel.prediction_sets(SCORES[name], probs, u, thresholds, threads=1)
    two = kernel.prediction_sets(SCORES[name], probs, u, thresholds, threads=2)
    np.testing.assert_array_equal(one[0], scores <= thresholds)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@given(
    st.sampled_from([SCORES[name] for name in ("aps", "raps", "saps", "rank")]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=25)
def test_sets_of_many_classes_by_thresholds_of_their_own(score, seed, dtype):
    # rows with ties, zeros and one large entry, thresholds that leave most labels open:
    # such labels are dealt into buckets
    rng = np.random.default_rng(seed)
    k = int(rng.integers(100, 400))
    probs = np.exp(rng.choice([0.3, 3.0, 30.0]) * rng.normal(size=(20, k)))
    values = probs[0, : int(rng.integers(2, k))]
    probs[1::3] = rng.choice(values, size=probs[1::3].shape)  # ties
    probs[2::3, : k // 2] = 0.0
    probs[5] = 1.0  # all tied
    probs = (probs / probs.sum(axis=1, keepdims=True)).astype(dtype)
    uniforms = rng.random(20)
    scores = kernel.all_label_scores(score, probs, uniforms)
    which = rng.integers(0, 20, k)
    thresholds = scores[which, np.arange(k)]  # attained
    thresholds[rng.random(k) < 0.3] = rng.choice(scores.ravel())
    thresholds[rng.random(k) < 0.1] = np.inf
    mask, sizes = kernel.prediction_sets(score, probs, uniforms, thresholds)
    want_mask, want_sizes = twin.prediction_sets(
        score, probs, uniforms, thresholds, False, False
    )
    np.testing.assert_array_equal(mask, want_mask)
    np.testing.assert_array_equal(sizes, want_sizes)
