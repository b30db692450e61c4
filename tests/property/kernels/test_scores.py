"""Scores: the kernels equal their definitions, bit for bit."""

import numpy as np
import pytest
from hypothesis import given

from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel
from tests.property.strategies import SCORES, scored_rows


@given(scored_rows())
def test_true_label_scores_equal_the_definition(rows):
    got = kernel.true_label_scores(rows.score, rows.probs, rows.labels, rows.uniforms)
    want = twin.true_label_scores(rows.score, rows.probs, rows.labels, rows.uniforms)
    np.testing.assert_array_equal(got, want)


@given(scored_rows())
def test_all_label_scores_equal_the_definition(rows):
    got = kernel.all_label_scores(rows.score, rows.probs, rows.uniforms)
    want = twin.all_label_scores(rows.score, rows.probs, rows.uniforms)
    np.testing.assert_array_equal(got, want)


@given(scored_rows(over_one=True))
def test_a_label_scores_the_same_alone_and_among_all_labels(rows):
    alone = kernel.true_label_scores(rows.score, rows.probs, rows.labels, rows.uniforms)
    among = kernel.all_label_scores(rows.score, rows.probs, rows.uniforms)
    np.testing.assert_array_equal(alone, among[np.arange(len(alone)), rows.labels])


@given(scored_rows(over_one=True))
def test_scores_never_decrease_towards_less_likely_labels(rows):
    scores = kernel.all_label_scores(rows.score, rows.probs, rows.uniforms)
    for row, row_scores in zip(rows.probs, scores, strict=True):
        in_order = row_scores[np.argsort(-row, kind="stable")]
        assert (np.diff(in_order) >= 0.0).all()
        for p in np.unique(row):
            assert np.unique(row_scores[row == p]).size == 1, "tied labels differ"


@given(scored_rows())
def test_permuted_columns_permute_scores(rows):
    order = np.random.default_rng(0).permutation(rows.n_classes)
    permuted = np.ascontiguousarray(rows.probs[:, order])
    np.testing.assert_array_equal(
        kernel.all_label_scores(rows.score, permuted, rows.uniforms),
        kernel.all_label_scores(rows.score, rows.probs, rows.uniforms)[:, order],
    )


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (40_000, 2), (150, 1000)])
def test_threads_change_no_bit(name, dtype, shape):
    rng = np.random.default_rng(20)
    exponentials = rng.standard_exponential(shape)
    probs = (exponentials / exponentials.sum(axis=1, keepdims=True)).astype(dtype)
    labels = rng.integers(0, shape[1], shape[0])
    u = rng.random(shape[0])
    one = kernel.true_label_scores(SCORES[name], probs, labels, u, threads=1)
    two = kernel.true_label_scores(SCORES[name], probs, labels, u, threads=2)
    np.testing.assert_array_equal(one, two)
    one_all = kernel.all_label_scores(SCORES[name], probs, u, threads=1)
    two_all = kernel.all_label_scores(SCORES[name], probs, u, threads=2)
    np.testing.assert_array_equal(one_all, two_all)
    np.testing.assert_array_equal(one, one_all[np.arange(shape[0]), labels])
