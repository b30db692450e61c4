"""Rows of a thousand and ten thousand labels: the selection paths of the set kernel.

Above 24 labels a set's cutoff is found by weighted selection, not by sorting. The
shapes of rows, the thresholds, and an adversary of its pivots walk every branch.
"""

import numpy as np
import pytest

from distfreeuq._kernels import _reference as twin
from tests.property import kernel_calls as kernel
from tests.property.strategies import SCORES

SMALL, MAX_ROUNDS = 24, 40  # set_cutoff in src_c/nested_scores_template.h


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


def selection_size(row, keeps_above):
    """Return how many labels `set_cutoff` has left to sort after its last round."""
    left = row
    for _ in range(MAX_ROUNDS):
        if left.size <= SMALL:
            break
        step = left.size // 9
        medians = np.median(left[: 9 * step : step].reshape(3, 3), axis=1)
        pivot = np.median(medians)
        left = left[left > pivot] if keeps_above else left[left < pivot]
    return left.size


def adversary(n_classes, keeps_above):
    """Return a row whose pivots rule out five labels a round, so that rounds run out.

    While every pivot is left out of the set, what stays is above it: the places that
    will be looked at get the smallest values. If every pivot is in, the largest.
    """
    place = np.arange(n_classes)
    row = np.zeros(n_classes)
    value = 1.0
    for _ in range(MAX_ROUNDS):
        step = place.size // 9
        for position in place[: 9 * step : step]:
            if row[position] == 0.0:
                row[position] = value
                value += 1.0
        seen = np.sort(row[place[: 9 * step : step]])
        place = place[(row[place] == 0.0) | (row[place] > seen[4])]
    unseen = row == 0.0
    row[unseen] = value + np.arange(unseen.sum()) % 5
    if not keeps_above:
        row = row.max() + 1.0 - row
    return row / row.sum()


@pytest.mark.parametrize("keeps_above", [False, True])
@pytest.mark.parametrize("name", ["aps", "raps", "saps", "rank"])
def test_unlucky_pivots_end_in_a_sort(name, keeps_above):
    row = adversary(2000, keeps_above)
    assert selection_size(row, keeps_above) > 1000
    probs, u = row[None, :], np.array([0.25])
    scores = kernel.all_label_scores(SCORES[name], probs, u)
    # only the top labels are in the set, and every pivot out of it; or all but the last
    edge = np.unique(scores)[0 if keeps_above else -2]
    mask, sizes = kernel.prediction_sets(SCORES[name], probs, u, np.full(2000, edge))
    np.testing.assert_array_equal(mask, scores <= edge)
    assert 0 < sizes[0] < 2000
    check_sets(SCORES[name], probs, u, scores)
