"""The pass over a user's matrix finds the first bad row, whatever is bad about it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distfreeuq._kernels import _checks, _mixture, _row_stats, _scores
from tests import reference_kernels as twin
from tests.property.strategies import SCORES, probability_rows

TOLERANCE = {np.float32: 1e-4, np.float64: 1e-6}
ENTRIES = [np.nan, np.inf, -np.inf, -1e-9, -1.0, 2.0, -0.0, 0.0]
# in tolerances: well within or well beyond, compared with rounding
EXCESSES = [0.0, 0.5, -0.5, 1.5, -1.5]


@st.composite
def spoilt_matrices(draw):
    """Draw rows of probabilities of which some have a strange entry or another sum.

    Good rows may stand before them, which kernels take many at a time.
    """
    n_classes = draw(st.integers(2, 40))
    rows = draw(st.lists(probability_rows(n_classes), min_size=1, max_size=6))
    matrix = np.array(rows)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    for row in matrix:
        fault = draw(st.sampled_from(["none", "none", "entry", "sum", "sum"]))
        if fault == "entry":
            row[draw(st.integers(0, n_classes - 1))] = draw(st.sampled_from(ENTRIES))
        if fault == "sum":
            row *= 1.0 + draw(st.sampled_from(EXCESSES)) * TOLERANCE[dtype]
    before = np.full((draw(st.sampled_from([0, 11, 16, 37])), n_classes), 1 / n_classes)
    return np.vstack([before, matrix]).astype(dtype)


@given(spoilt_matrices(), st.booleans())
def test_first_bad_row_equals_the_definition(matrix, simplex):
    tolerance = TOLERANCE[matrix.dtype.type]
    got = _checks._first_bad_row(matrix, simplex, tolerance, 1)
    assert got == twin.first_bad_row(matrix, simplex, tolerance)


def found_on_the_way(matrix, score):
    """Return the rows at which the kernels that check rows as they read them stop."""
    tolerance = TOLERANCE[matrix.dtype.type]
    n, n_classes = matrix.shape
    labels, uniforms = np.zeros(n, dtype=np.int64), np.ones(n)
    mask, sizes = np.empty((n, n_classes), dtype=np.uint8), np.empty(n, dtype=np.int64)
    given = (score, matrix, tolerance)
    hits, predicted = np.empty(n, dtype=np.uint8), np.empty_like(labels)
    confidence, of_label = np.empty((2, n), dtype=matrix.dtype)
    read = (hits, predicted, confidence, of_label, np.empty(n))
    factors, shares = np.ones(n_classes), np.empty_like(matrix)
    return {
        _row_stats._read_rows(matrix, labels, tolerance, *read, 1),
        _mixture._predict_rows(matrix, tolerance, predicted, 1),
        _mixture._reweight_rows(matrix, factors, tolerance, shares, 1),
        _scores._true_label_scores(*given, labels, uniforms, np.empty(n), 1),
        _scores._all_label_scores(*given, uniforms, np.empty((n, n_classes)), 1),
        *(
            _scores._prediction_sets(
                *given, uniforms, np.full(n, 0.5), True, never_empty, mask, sizes, 1
            )
            for never_empty in (False, True)
        ),
    }


@given(spoilt_matrices(), st.sampled_from(list(SCORES.values())))
def test_kernels_find_the_same_row_on_their_way(matrix, score):
    tolerance = TOLERANCE[matrix.dtype.type]
    expected = twin.first_bad_row(matrix, True, tolerance)
    assert found_on_the_way(matrix, score) == {expected}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [3, 43])  # by blocks of rows, and by rows
@pytest.mark.parametrize("fault", ["negative", "sum", "not a number"])
def test_a_bad_row_is_found_wherever_it_stands(fault, n_classes, dtype):
    for place in range(40):
        matrix = np.full((40, n_classes), 1 / n_classes, dtype=dtype)
        if fault == "negative":
            matrix[place, 1] += matrix[place, 2] + dtype(1e-9)
            matrix[place, 2] = -1e-9
        elif fault == "sum":
            matrix[place] *= 1.0 + 1.5 * TOLERANCE[dtype]
        else:
            matrix[place, n_classes - 1] = np.nan
        assert _checks._first_bad_row(matrix, True, TOLERANCE[dtype], 1) == place
        assert found_on_the_way(matrix, SCORES["aps"]) == {place}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bad_rows", [[], [0], [39_999], [20_001, 33_000, 39_999]])
def test_the_first_of_many_chunks_wins(dtype, threads, bad_rows):
    matrix = np.full((40_000, 4), 0.25, dtype=dtype)
    matrix[bad_rows, 2] = np.nan
    first = bad_rows[0] if bad_rows else -1
    for simplex in (False, True):
        assert _checks._first_bad_row(matrix, simplex, 1e-6, threads) == first
    n = len(matrix)
    labels, out = np.zeros(n, dtype=np.int64), np.empty(n)
    for score in SCORES.values():
        given = (score, matrix, 1e-6, labels, np.ones(n), out, threads)
        assert _scores._true_label_scores(*given) == first


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_is_wrong_with_nothing(shape):
    assert _checks._first_bad_row(np.empty(shape), True, 1e-6, 1) == -1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("excess", EXCESSES)
def test_sums_may_stray_by_the_tolerance_on_either_side(dtype, excess):
    matrix = np.full((3, 4), 0.25, dtype=dtype)
    matrix[1, 0] += excess * TOLERANCE[dtype]
    first = 1 if abs(excess) > 1 else -1
    assert _checks._first_bad_row(matrix, True, TOLERANCE[dtype], 1) == first


def test_opposite_infinities_do_not_cancel():
    matrix = np.array([[1.0, 0.0, 0.0], [np.inf, -np.inf, 1.0], [1e308, 1e308, -1e308]])
    assert _checks._first_bad_row(matrix, True, 1e-6, 1) == 1
    assert _checks._first_bad_row(matrix[[0, 2]], True, 1e-6, 1) == 1
    assert _checks._first_bad_row(matrix[[0, 2]], False, 0.0, 1) == -1
