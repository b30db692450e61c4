"""Matrices in blocks are the matrices: inverses, solutions and singular values."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from distfreeuq._numerics.matrices import matrix_blocks
from distfreeuq._numerics.matrices.matrix_blocks import Blocks
from distfreeuq.label_shift import confusion as confusion_file
from distfreeuq.label_shift.confusion import hard_confusion
from distfreeuq.label_shift.inference import delta_method
from distfreeuq.label_shift.inference.delta_method import hard_covariance
from distfreeuq.label_shift.inference.moments.counted_moments import (
    covariance_of_counts,
    moments_of_counts,
)
from distfreeuq.label_shift.inference.score_intervals import score_ends
from distfreeuq.label_shift.linear_solution import invertibility, solve
from distfreeuq.label_shift.regularized_solution import regularized_weights


def looking():
    """Look for blocks of matrices of any size."""
    return mock.patch.object(matrix_blocks, "FEW", 0)


@st.composite
def matrices(draw):
    """Matrices of integers in shuffled blocks, some of them without rows or columns."""
    shapes = draw(
        st.lists(
            st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5
        )
    )
    rows, columns = np.sum(shapes, axis=0)
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    out = np.zeros((rows, columns))
    at = np.zeros(2, dtype=int)
    for shape in shapes:
        end = at + shape
        part = generator.integers(-3, 4, shape) * (generator.random(shape) < 0.8)
        out[at[0] : end[0], at[1] : end[1]] = part
        at = end
    return out[generator.permutation(rows)][:, generator.permutation(columns)]


@given(matrices(), st.booleans())
@settings(max_examples=150)
def test_blocks_are_the_matrix(matrix, is_sparse):
    if 0 in matrix.shape:
        return
    given_as = sparse.csr_array(matrix) if is_sparse else matrix
    with looking():
        blocks = Blocks.of(given_as)
    inverse = blocks.inverse(given_as)
    assert np.allclose(inverse, np.linalg.pinv(matrix), atol=1e-8)
    middle = np.diag(np.arange(1.0, matrix.shape[0] + 1)) + matrix @ matrix.T
    around = blocks.around(inverse, sparse.csr_array(middle) if is_sparse else middle)
    assert np.allclose(around, inverse @ middle @ inverse.T, atol=1e-6)
    right = np.arange(matrix.shape[0]) - 1.0
    found = blocks.coordinates(given_as, right)
    length = np.hypot(np.linalg.norm(found.beta), found.outside)
    assert length == pytest.approx(np.linalg.norm(right))
    assert np.allclose(found.back(found.values * found.beta), matrix.T @ right)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert found.values.max(initial=0.0) == pytest.approx(values[0])
    regular = matrix.shape[0] == matrix.shape[1] and values[-1] > 1e-9
    assert blocks.balanced or not regular
    if regular:
        assert np.allclose(matrix @ blocks.solve(given_as, right), right)
        ends = blocks.extremes(given_as)
        assert np.allclose([ends.largest, ends.smallest], values[[0, -1]])
        assert np.allclose(matrix @ ends.right, ends.smallest * ends.left, atol=1e-9)
        assert np.linalg.norm(ends.right) == pytest.approx(1.0)


def test_extremes_of_a_large_block_are_found_by_iteration():
    generator = np.random.default_rng(0)
    matrix = generator.dirichlet(np.ones(60), size=60) + np.eye(60)
    values = np.linalg.svd(matrix, compute_uv=False)
    with looking():
        ends = Blocks.of(matrix).extremes(matrix)
        ones = np.ones((60, 60))
        singular = Blocks.of(ones).extremes(ones)
    assert np.allclose([ends.largest, ends.smallest], values[[0, -1]], rtol=1e-6)
    assert np.allclose(matrix @ ends.right, ends.smallest * ends.left, atol=1e-6)
    assert singular.smallest < 1e-9


def test_a_large_singular_block_has_nearly_its_pseudo_inverse():
    matrix = np.zeros((6, 6))
    matrix[:4, :4], matrix[4:, 4:] = 1.0, [[2.0, 1.0], [1.0, 1.0]]
    with looking(), mock.patch.object(matrix_blocks, "LARGEST", 3):
        inverse = Blocks.of(matrix).inverse(matrix)
    assert np.allclose(inverse, np.linalg.pinv(matrix), atol=1e-6)
    tall = np.random.default_rng(0).normal(size=(5, 3))
    with mock.patch.object(matrix_blocks, "LARGEST", 3):
        inverse = matrix_blocks.inverse_matrix(tall)
    assert np.allclose(inverse, np.linalg.pinv(tall), atol=1e-6)


@given(st.integers(0, 2**32), st.integers(2, 12), st.floats(0.5, 1.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_estimates_by_blocks_are_those_of_whole_matrices(seed, k, accuracy, all_occur):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, k, 40)
    if all_occur:
        labels = np.concatenate([labels, np.repeat(np.arange(k), 3)])
    right = generator.random(labels.size) < accuracy
    said = np.where(right, labels, generator.integers(0, k, labels.size))
    table = hard_confusion(said, labels, generator.integers(0, k, 30), k)

    def everything():
        moments = moments_of_counts(table)
        weight, shape = solve(table), invertibility(table)
        found = {
            "prior": moments.prior,
            "variance": moments.class_variance,
            "of target": moments.target_variance,
            "reach": moments.reach,
            "ends": score_ends(moments, 0.05),
            "covariance": covariance_of_counts(table),
            "singular": shape.singular,
            "regularised": regularized_weights(table, 0.02),
        }
        if weight is not None:
            found["weight"], found["smallest"] = weight, shape.smallest
            found["delta"] = hard_covariance(table, weight)
        return found

    whole = everything()
    with (
        looking(),
        mock.patch.object(confusion_file, "FEW", 0),
        mock.patch.object(delta_method, "FEW", 0),
    ):
        in_blocks = everything()
    assert whole.keys() == in_blocks.keys()
    for name, value in whole.items():
        scale = np.abs(np.where(np.isfinite(value), value, 0.0)).max()
        assert np.allclose(in_blocks[name], value, rtol=1e-6, atol=1e-7 * scale), name
