"""Boxes and polytopes of class weights: support, ranges, emptiness."""

import numpy as np
import pytest

import distfreeuq as dfu


def pinned(c, mu):
    """Return the region of an exactly known confusion matrix and frequencies."""
    return dfu.Polytope(c, c, mu, mu, True)


def test_a_box_is_supported_at_its_corners():
    box = dfu.Box([0.5, 0.0, 1.0], [2.0, 1.0, 3.0], True)
    assert box.support([1.0, -1.0, 0.0]) == 2.0
    assert box.support([-1.0, 2.0, -1.0]) == -0.5 + 2.0 - 1.0
    assert box.ranges() is box
    assert box.n_classes == 3
    assert box.contains([2.0, 0.0, 1.0])
    assert not box.contains([2.1, 0.0, 1.0])


def test_an_unbounded_class_matters_only_if_asked_for():
    box = dfu.Box([0.0, 0.0], [np.inf, 1.0], True)
    assert box.support([1.0, 0.0]) == np.inf
    assert box.support([-1.0, 0.0]) == 0.0
    assert box.support([0.0, 1.0]) == 1.0


def test_an_empty_box_supports_nothing():
    box = dfu.Box([1.0, 0.0], [0.5, 1.0], True)
    assert box.is_empty
    assert box.support([0.0, 1.0]) == -np.inf


def test_a_point_region_is_the_solution():
    region = pinned([[0.4, 0.1], [0.1, 0.4]], [0.65, 0.35])
    w = np.linalg.solve([[0.4, 0.1], [0.1, 0.4]], [0.65, 0.35])
    ranges = region.ranges()
    np.testing.assert_allclose(ranges.low, w, rtol=1e-6)
    np.testing.assert_allclose(ranges.high, w, rtol=1e-6)
    assert region.contains(w)
    assert not region.contains([w[0] + 0.01, w[1]])
    assert not region.contains(-w)


def test_ranges_of_a_hand_solved_polytope():
    # one row: 0.2 w1 + 0.1 w2 <= 0.6 and 0.4 w1 + 0.2 w2 >= 0.4
    region = dfu.Polytope([[0.2, 0.1]], [[0.4, 0.2]], [0.4], [0.6], True)
    ranges = region.ranges()
    np.testing.assert_allclose(ranges.low, [0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(ranges.high, [3.0, 6.0], rtol=1e-9)
    assert region.support([1.0, 1.0]) == pytest.approx(6.0)
    assert region.support([-1.0, -1.0]) == pytest.approx(-1.0)


def test_a_class_never_seen_is_unbounded():
    region = dfu.Polytope(
        [[0.3, 0.0], [0.1, 0.0]], [[0.5, 0.1], [0.3, 0.1]], [0.2, 0.2], [0.8, 0.8], True
    )
    assert region.support([0.0, 1.0]) == np.inf
    assert region.support([1.0, 0.0]) == pytest.approx(8 / 3)
    assert not region.is_empty
    assert not region.contains([1.0, np.inf])


@pytest.mark.parametrize("first_column", [0.4, 0.0])
def test_contradictory_bounds_make_an_empty_region(first_column):
    # both rows are equal, yet the frequencies differ
    c = [[first_column, 0.1], [first_column, 0.1]]
    region = pinned(c, [0.9, 0.1])
    assert region.is_empty
    assert region.support([1.0, 0.0]) == -np.inf
    assert region.ranges().is_empty
    assert not region.contains([1.0, 1.0])


def test_tiny_frequencies_keep_their_meaning():
    # a row of probability 1e-8 binds as firmly as one of probability 1/2
    region = pinned([[0.5, 0.0], [0.0, 1e-8]], [1.0, 3e-8])
    np.testing.assert_allclose(region.ranges().high, [2.0, 3.0], rtol=1e-6)


def test_support_scales_with_the_direction():
    region = dfu.Polytope([[0.2, 0.1]], [[0.4, 0.2]], [0.4], [0.6], True)
    for scale in (1e-12, 1.0, 1e12):
        assert region.support([scale, 0.0]) == pytest.approx(3.0 * scale)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dfu.Box([0.0, 1.0], [1.0], True), "length 2"),
        (lambda: dfu.Box([np.nan], [1.0], True), "nan"),
        (lambda: dfu.Polytope([[-0.1]], [[0.2]], [0.1], [0.2], True), "non-negative"),
        (lambda: dfu.Polytope([[0.1]], [[0.2, 0.1]], [0.1], [0.2], True), "shape"),
        (lambda: dfu.Box([0.0], [1.0], True).support([1.0, 2.0]), "length 1"),
    ],
)
def test_bad_bounds_are_refused(make, words):
    with pytest.raises(dfu.InputError, match=words):
        make()


def test_regions_are_read_only_and_printed_on_one_line():
    box = dfu.Box([0.0], [1.0], False)
    with pytest.raises(ValueError, match="read-only"):
        box.low[0] = 1.0
    assert repr(box) == "<Box K=1 asymptotic>"
    assert repr(pinned([[1.0]], [1.0])) == "<Polytope K=1 finite-sample>"


def test_equal_classes_have_the_range_of_each_alone():
    """Merging columns is exact: two programs per class give the same box."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        lower, room = rng.random((3, 3)) / 4, rng.random((3, 3)) / 4
        copies = rng.integers(0, 3, 6)
        rows = np.array([0, 1, 2, 1])
        mu = lower.mean(axis=1)[rows]
        region = dfu.Polytope(
            lower[rows][:, copies],
            (lower + room)[rows][:, copies],
            0.5 * mu,
            1.5 * mu,
            True,
        )
        box = region.ranges()
        for k, unit in enumerate(np.eye(6)):
            assert box.high[k] == pytest.approx(region.support(unit))
            assert box.low[k] == pytest.approx(-region.support(-unit), abs=1e-9)


def test_thousands_of_classes_without_rows_take_two_programs(monkeypatch):
    from distfreeuq.label_shift.inference import regions

    solved = []
    largest = regions._largest
    monkeypatch.setattr(
        regions, "_largest", lambda *a: solved.append(a[1].shape) or largest(*a)
    )
    lower, upper = np.zeros((2, 3000)), np.ones((2, 3000))
    lower[:, 0], upper[:, 0] = 0.4, 0.6
    box = dfu.Polytope(lower, upper, [0.4, 0.4], [0.6, 0.6], True).ranges()
    assert solved == 4 * [(2, 2)]
    assert box.high[0] == pytest.approx(1.5) and box.high[1] == np.inf
    assert (box.high[1:] == box.high[1]).all() and (box.low[1:] == 0.0).all()


def test_an_empty_region_of_equal_classes_is_empty():
    box = dfu.Polytope(np.ones((1, 4)), np.ones((1, 4)), [2.0], [1.0], True).ranges()
    assert np.isneginf(box.high).all() and np.isposinf(box.low).all()
