"""Rows of a thousand and ten thousand labels: the selection paths of the set kernel.

Above 32 labels a row is looked at until all but a few labels are known to be in or out.
The shapes of rows, the thresholds, and an adversary of the looks walk every branch.
"""

import numpy as np
import pytest

from tests import reference_kernels as twin
from tests.property import kernel_calls as kernel
from tests.property.strategies import SCORES

MAX_LOOKS, GUESSES = 12, 3  # mark_labels in src_c/nested_scores_template.h


def rows_of(shape, n_classes):
    rng = np.random.default_rng(n_classes)
    ranks = np.arange(1.0, n_classes + 1.0)
    row = {
        "flat": np.ones(n_classes),
        "nearly flat": 1.0 + 1e-3 * rng.random(n_classes),
        "spread": rng.standard_exponential(n_classes),
        "peaked": np.exp(6.0 * rng.standard_normal(n_classes)),
        "few values": rng.integers(0, 4, n_classes) + (ranks == 7),
        "descending": 1.0 / ranks,
        "ascending": 1.0 / ranks[::-1],
        "one-hot": 1.0 * (ranks == n_classes // 3),
        "two blocks": np.where(ranks % 2 == 0, 3.0, 1.0),
        "tiny": np.where(ranks == 5, 1e20, rng.random(n_classes)),
    }[shape]
    return (row / row.sum())[None, :]


SHAPES = [
    "flat",
    "nearly flat",
    "spread",
    "peaked",
    "few values",
    "descending",
    "ascending",
    "one-hot",
    "two blocks",
    "tiny",
]


def thresholds_for(scores):
    """Yield thresholds (K,) that end in different places and differ between classes."""
    n_classes = scores.size
    rng = np.random.default_rng(1)
    attained = np.sort(scores.ravel())
    for place in (0, 1, 20, n_classes // 2, n_classes - 2, n_classes - 1):
        yield np.full(n_classes, attained[place])
        yield np.full(n_classes, np.nextafter(attained[place], -np.inf))
    yield np.full(n_classes, np.inf)
    some_infinite = np.full(n_classes, attained[n_classes // 4])
    some_infinite[::7] = np.inf
    yield some_infinite
    for low, high in ((0, n_classes), (n_classes // 3, n_classes // 3 + 9)):
        by_class = attained[rng.integers(low, high, n_classes)]
        yield by_class
        yield np.nextafter(by_class, -np.inf)
        mixed = by_class.copy()
        mixed[rng.random(n_classes) < 0.2] = np.inf
        yield mixed
    yield np.where(np.arange(n_classes) % 2 == 0, -1.0, np.inf)  # nothing finite enters
    yield np.where(np.arange(n_classes) % 2 == 0, -1.0, attained[-1])


def check_sets(score, probs, u, scores):
    for thresholds in thresholds_for(scores):
        for never_empty in (False, True):
            want = scores <= thresholds
            if never_empty:
                want = want | (probs == probs.max())
            mask, sizes = kernel.prediction_sets(
                score, probs, u, thresholds, never_empty=never_empty
            )
            np.testing.assert_array_equal(mask, want)
            assert sizes[0] == want.sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_thousand_labels(shape, name, dtype):
    probs = rows_of(shape, 1000).astype(dtype)
    u = np.array([0.375 if dtype is np.float64 else 1.0])
    scores = kernel.all_label_scores(SCORES[name], probs, u)
    some = np.arange(0, 1000, 9)
    want = [twin.score_of_label(SCORES[name], probs[0], y, u[0]) for y in some]
    np.testing.assert_array_equal(scores[0, some], want)
    check_sets(SCORES[name], probs, u, scores)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_thousand_labels(shape, name):
    probs, u = rows_of(shape, 10_000), np.array([0.7])
    scores = kernel.all_label_scores(SCORES[name], probs, u)
    labels = np.arange(0, 10_000, 50)
    again = kernel.true_label_scores(
        SCORES[name], np.repeat(probs, 200, axis=0), labels, np.full(200, 0.7)
    )
    np.testing.assert_array_equal(again, scores[0, labels])
    some = np.arange(0, 10_000, 499)
    want = [twin.score_of_label(SCORES[name], probs[0], y, 0.7) for y in some]
    np.testing.assert_array_equal(scores[0, some], want)
    check_sets(SCORES[name], probs, u, scores)


def sampled_places(n_classes):
    """Return where `sample_between` looks for its three entries, look after look."""
    jump = int(0.6180339887 * n_classes) | 1
    starts = [
        looks * (n_classes // MAX_LOOKS) % n_classes
        for looks in range(GUESSES, MAX_LOOKS)
    ]
    places = [(start + i * jump) % n_classes for start in starts for i in range(3)]
    return list(dict.fromkeys(places))


def adversary(n_classes, samples_are_smallest):
    """Return a row of which every look rules out only the few entries it has sampled.

    One label has nearly all of the mass, so that guesses from neighbouring scores are
    far off. The entries sampled are the smallest, in the order in which they are looked
    at (half of the labels are then left when the looks run out), or the next largest.
    """
    rng = np.random.default_rng(n_classes)
    row = rng.uniform(1.0, 1.1, n_classes)
    places = sampled_places(n_classes)
    steps = np.arange(len(places)) / len(places)
    row[places] = 0.9 + 0.05 * steps if samples_are_smallest else 1.25 - 0.05 * steps
    row[1] = 1e12
    assert 1 not in places
    return row / row.sum()


@pytest.mark.parametrize("samples_are_smallest", [False, True])
@pytest.mark.parametrize("name", ["aps", "raps", "saps", "rank"])
def test_looks_that_do_not_help(name, samples_are_smallest):
    row = adversary(2000, samples_are_smallest)
    probs, u = row[None, :], np.array([0.25])
    scores = kernel.all_label_scores(SCORES[name], probs, u)
    want = [twin.score_of_label(SCORES[name], row, y, u[0]) for y in range(0, 2000, 7)]
    np.testing.assert_array_equal(scores[0, ::7], want)
    check_sets(SCORES[name], probs, u, scores)
