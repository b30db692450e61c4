"""However many scores are sorted, and wherever rows are joined: the same numbers."""

from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distfreeuq as dfu
from distfreeuq._numerics.row_blocks import joined_rows
from distfreeuq.conformal import data, tallied_scores
from tests.property.tallies.test_chunks import SCORES, chunked_rows


def by_shift(probs, labels, *, n_classes, **options):
    weights = np.linspace(0.3, 2.0, n_classes)
    return dfu.label_shift_conformal(probs, labels, weights, **options)


def own_score(probs):
    """Return a score of which some are negative zeros."""
    return np.where(probs > 0.5, -0.0, 1.0 - probs)


@pytest.mark.filterwarnings("ignore::distfreeuq.SmallCalibrationWarning")
@given(
    chunked_rows(),
    st.sampled_from([*SCORES, own_score]),
    st.sampled_from(["split", "by class", "by shift", "interpolated"]),
    st.integers(1, 20),
)
@settings(deadline=None, max_examples=60)
def test_fits_of_many_rows_are_those_of_few(rows, score, which, piece):
    probs, labels, chunks = rows
    fit_of = {
        "split": dfu.split_conformal,
        "by class": dfu.label_conditional_conformal,
        "by shift": partial(by_shift, n_classes=probs.shape[1]),
        "interpolated": dfu.interpolated_conformal,
    }[which]
    if which == "interpolated" and callable(score):
        score = "lac"
    plain = fit_of(probs, labels, score=score, rng=3)

    def blocks():
        return ((probs[a:b], labels[a:b]) for a, b in chunks)

    with (
        mock.patch.object(data, "_MANY", 0),
        mock.patch.object(data, "_AT_ONCE", 3),
        mock.patch.object(joined_rows, "_ROWS_OF_PIECE", piece),
    ):
        for fit in (
            fit_of(probs, labels, score=score, rng=3),
            fit_of(blocks, None, score=score, rng=3),
        ):
            assert fit.thresholds.tobytes() == plain.thresholds.tobytes()
            assert fit.scores.tobytes() == plain.scores.tobytes()
            assert np.array_equal(fit.class_counts, plain.class_counts)
            if hasattr(plain, "score_labels"):
                assert np.array_equal(fit.score_labels, plain.score_labels)
            assert str(fit) == str(plain)
            assert str(fit.at(0.3)) == str(plain.at(0.3))


def test_the_scores_of_the_caller_are_left_as_they_are():
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    labels = np.arange(50) % 3
    tally = dfu.tally(probs, labels, rng=0)
    before = tally.scores.scores.copy(), labels.copy(), probs.copy()
    kept = []

    def scores(rows):
        kept.append(1.0 - rows)
        return kept[-1]

    with mock.patch.object(data, "_MANY", 0):
        dfu.split_conformal(tally)
        dfu.split_conformal(probs, labels, score=scores)
        dfu.split_conformal(probs, labels, rng=1)
    assert np.array_equal(kept[0], 1.0 - probs)
    for was, now in zip(before, (tally.scores.scores, labels, probs), strict=True):
        assert np.array_equal(was, now)


@given(chunked_rows(), st.sampled_from([*SCORES, own_score]))
@settings(deadline=None, max_examples=30)
def test_tallies_of_many_rows_of_a_class_are_those_of_few(rows, score):
    probs, labels, _ = rows
    few = dfu.tally(probs, labels, score=score, rng=3).scores
    with mock.patch.object(tallied_scores, "_MANY_OF_CLASS", 0):
        many = dfu.tally(probs, labels, score=score, rng=3).scores
    assert many.scores.tobytes() == few.scores.tobytes()
    assert np.array_equal(many.counts, few.counts)
