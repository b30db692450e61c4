"""Classes of few source rows: what they may do to the intervals of the others."""

import dataclasses

import numpy as np
import pytest
from scipy import optimize

from distfreeuq import bounds
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.moment_estimate import MomentEstimate
from distfreeuq.label_shift.inference.moments.counted_moments import moments_of_counts
from distfreeuq.label_shift.inference.scarce_classes import (
    ENOUGH_ROWS,
    scarce_margins,
)
from distfreeuq.label_shift.inference.score_intervals import score_ends


def perfect(counts, target, reach=(-0.5, 1.5)):
    """Return the estimate of a classifier whose source rows show no error."""
    counts, q = np.array(counts, dtype=float), np.array(target, dtype=float)
    k = counts.size
    return MomentEstimate(
        q,
        counts / counts.sum(),
        np.zeros((k, k)),
        q * (1 - q),
        np.tile(np.array(reach), (k, 1)),
        counts,
        100_000,
    )


def margins(estimate, alpha=0.05):
    told = estimate.counts > 0
    return scarce_margins(estimate, estimate.prior, told, alpha)


def test_the_range_of_phi_is_that_of_the_inverse():
    # A = [[1, 1/3], [0, 2/3]], its inverse [[1, -1/2], [0, 3/2]]
    confusion = Confusion(np.array([[2, 1], [0, 2]]), np.array([3, 1]), 5, 4, False)
    np.testing.assert_allclose(
        moments_of_counts(confusion).reach, [[-0.5, 1.0], [0.0, 1.5]]
    )


def test_no_class_is_scarce_from_five_rows_on():
    for few, moved in ((ENOUGH_ROWS, False), (ENOUGH_ROWS - 1, True)):
        below, above = margins(perfect([1000, 1000, few], [0.25, 0.25, 0.5]))
        assert (below[:2] > 0).all() == moved
        assert (above[:2] > 0).all() == moved
        assert below[2] == above[2] == 0.0


def test_margins_of_one_scarce_class_by_hand():
    # phi_k is in [-1/2, 3/2] and 0 on all three rows: a quarter of the way
    estimate = perfect([1000, 1000, 3], [0.25, 0.25, 0.5])
    low, high = np.ravel(bounds.weighted_chernoff([3], [0.25], [1.0], 1.0, 0.05))
    below, above = margins(estimate)
    # three rows do not bound the class's own share: up to the whole target is of it
    np.testing.assert_allclose(below[:2], 2.0 * (high - 0.25) * 1.0)
    np.testing.assert_allclose(above[:2], 2.0 * (0.25 - low) * 0.75)


def test_a_class_that_its_rows_tell_has_a_bounded_share():
    # phi in [0, 1]: three rows at 1 have a mean of at least exp(-ln(40) / 3)
    estimate = perfect([1000, 1000, 3], [0.45, 0.45, 0.1], reach=(0.0, 1.0))
    own = np.exp(-np.log(2 / 0.05) / 3)
    gap = 1.0 - own
    below, above = margins(estimate)
    np.testing.assert_allclose(below[:2], gap * 0.1 / own)
    np.testing.assert_array_equal(above[:2], 0.0)


def test_several_scarce_classes_are_the_worst_of_all_shares():
    estimate = perfect([1000, 2, 4, 3], [0.4, 0.2, 0.3, 0.1], reach=(0.0, 1.0))
    rows = np.array([2, 4, 3])
    own = np.exp(-np.log(40) / rows)
    caps = np.minimum(np.array([0.2, 0.3, 0.1]) / own, 1.0)
    program = optimize.linprog(
        -(1.0 - own), A_ub=[[1, 1, 1]], b_ub=[1.0], bounds=[(0, c) for c in caps]
    )
    assert margins(estimate)[0][0] == pytest.approx(-program.fun, rel=1e-6)


def test_scarce_classes_that_the_target_lacks_are_left_alone():
    estimate = perfect([1000, 1000, 3], [0.48, 0.48, 0.04])
    np.testing.assert_array_equal(margins(estimate), np.zeros((2, 3)))
    more = dataclasses.replace(estimate, prior=np.array([0.47, 0.47, 0.06]))
    assert (margins(more)[0][:2] > 0).all()
    # but an estimate that no proportions are near says nothing of the target
    wild = dataclasses.replace(estimate, prior=np.array([1.6, 0.0, -0.6]))
    assert (margins(wild)[0][:2] > 0).all()


def test_of_a_class_without_source_rows_nothing_is_taken_for_granted():
    estimate = perfect([1000, 1000, 0], [0.5, 0.5, 0.0])
    below, above = margins(estimate)
    np.testing.assert_allclose(below[:2], 1.5)
    np.testing.assert_allclose(above[:2], 0.5 * 0.5)
    np.testing.assert_array_equal(score_ends(estimate, 0.05)[:2, 0], 0.0)


def test_without_a_known_range_all_is_possible():
    anywhere = perfect([1000, 1000, 3], [0.25, 0.25, 0.5], reach=(-np.inf, np.inf))
    ends = score_ends(anywhere, 0.05)
    np.testing.assert_array_equal(ends[:2, 0], 0.0)
    assert (ends[:2, 1] > 2.0).all()
    assert np.isfinite(ends[:2]).all()


def test_a_file_that_has_no_ranges_is_read_as_if_they_were_unknown():
    estimate = perfect([30, 40], [0.5, 0.5])
    fields = {
        field.name: getattr(estimate, field.name)
        for field in dataclasses.fields(estimate)
        if field.name != "reach"
    }
    found = MomentEstimate._added(fields)["reach"]
    np.testing.assert_array_equal(found, [[-np.inf, np.inf]] * 2)
