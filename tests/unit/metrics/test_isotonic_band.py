"""The isotonic band: exact coverage by enumeration, and what it says by hand."""

from itertools import product

import numpy as np
import pytest

import distfreeuq as dfu
from distfreeuq import bounds, metrics
from distfreeuq.metrics.monotone_bands import block_starts


@pytest.mark.parametrize(
    "truth", [[0.2, 0.2, 0.5, 0.5, 0.5, 0.9], [0.3] * 6, [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]]
)
@pytest.mark.parametrize("p", [[1, 2, 3, 4, 5, 6], [1, 1, 3, 3, 3, 6]])
@pytest.mark.parametrize("n_blocks", [2, 6])
def test_coverage_is_exact_in_a_finite_space(truth, p, n_blocks):
    p, truth = np.array(p) / 10, np.array(truth)
    missed = 0.0
    for hits in product([0, 1], repeat=6):
        band = metrics.isotonic_band(p, hits, n_blocks=n_blocks, level=0.5)
        low, high = band.at(p)
        if not ((low <= truth) & (truth <= high)).all():
            missed += np.prod(np.where(hits, truth, 1.0 - truth))
    assert missed <= 0.5 + 1e-12


def test_two_blocks_by_hand():
    hits = [0] * 40 + [1] * 10 + [0] * 10 + [1] * 40
    band = metrics.isotonic_band([0.2] * 50 + [0.8] * 50, hits, level=0.9)
    share = 0.1 / 6  # three intervals, two sides
    ten, forty, all_fifty = (
        float(bounds.clopper_pearson_lower(k, n, share))
        for k, n in ((10, 50), (40, 50), (50, 100))
    )
    np.testing.assert_allclose(band.low, [ten, max(forty, all_fifty)])
    up = 1 - forty  # of 10 in 50, by symmetry
    np.testing.assert_allclose(band.high, [min(up, 1 - all_fifty), 1 - ten])
    assert not band.refutes_calibration and not band.refutes_order
    low, high = band.at([0.0, 0.2, 0.5, 0.8, 1.0])
    np.testing.assert_allclose(low, [0, ten, ten, forty, forty])
    np.testing.assert_allclose(high, [up, up, 1 - ten, 1 - ten, 1])


def test_what_is_refuted():
    p = np.repeat([0.3, 0.7], 300)
    falls = metrics.isotonic_band(p, np.repeat([1, 0], 300))
    assert falls.refutes_order and "does not fall" in repr(falls)
    assert "empty somewhere" in " ".join(str(falls).split())
    sure = metrics.isotonic_band(np.full(300, 0.9), np.arange(300) % 2)
    assert sure.refutes_calibration and not sure.refutes_order


def test_blocks_hold_equal_confidences_together():
    x = np.array([0.1, 0.1, 0.1, 0.2, 0.3, 0.3])
    assert block_starts(x, 100).tolist() == [0, 3, 4]
    assert block_starts(x, 2).tolist() == [0, 3]
    assert block_starts(np.arange(10.0), 5).tolist() == [0, 2, 4, 6, 8]
    band = metrics.isotonic_band(x[::-1], [1, 0, 1, 0, 1, 0])
    assert band.counts.tolist() == [3, 1, 2] and band.hits.tolist() == [1, 1, 1]


def test_the_order_of_rows_and_of_float_types_changes_nothing():
    rng = np.random.default_rng(0)
    p = rng.random(200).astype(np.float32)
    hits, order = rng.random(200) < p, rng.permutation(200)
    one = metrics.isotonic_band(p, hits)
    other = metrics.isotonic_band(p.astype(float)[order], hits[order])
    np.testing.assert_array_equal(one.low, other.low)
    np.testing.assert_array_equal(one.high, other.high)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 1.0}, "'level'"),
        ({"n_blocks": 0}, "'n_blocks'"),
        ({"n_blocks": 10**6}, "'n_blocks'"),
        ({"correct": [2, 0]}, "'correct'"),
        ({"confidence": [0.5, np.nan]}, "'confidence'"),
        ({"confidence": [], "correct": []}, "'confidence'"),
    ],
)
def test_what_is_refused(change, message):
    given = {"confidence": [0.5, 0.6], "correct": [0, 1], **change}
    with pytest.raises(dfu.InputError, match=message):
        metrics.isotonic_band(**given)


def test_the_claim():
    band = metrics.isotonic_band([0.5, 0.6], [0, 1], level=0.9)
    claim = band.guarantee
    assert claim.statement == (
        "with probability >= 0.9, the band holds the event's frequency at all "
        "confidences at once."
    )
    assert claim.confidence == 0.9 and claim.kind == "confidence interval"
    assert "does not fall as its confidence grows" in claim.assumptions[1]
