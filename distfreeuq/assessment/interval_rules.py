"""Which metrics get bootstrap intervals: where simulations found that they cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distfreeuq._base.array_types import BoolArray, FloatArray
from distfreeuq._numerics.sample_weights import effective_sample_size
from distfreeuq.assessment.measures import Measures
from distfreeuq.bounds import unchecked

# A maximum over bins or classes, and means over classes of few rows each, keep a bias
# that no bootstrap takes out: their 95% intervals covered 58% to 95%.
WITHOUT_INTERVAL = frozenset({"max_gap", "max_ece", "average_ece", "classwise_ece"})

# Errors whose intervals need an ECE far above what noise alone gives.
ERRORS = frozenset({"ece", "overconfident_ece", "debiased_ece"})

# Simulated 95% intervals of the ECE cover about 95% from this many times what noise
# alone gives; at three times 87%, at zero 80%.
NEAR_ZERO = 4.0

# Wrong rows, or rows on which two classifiers differ, from which on means of scores
# were seen to be covered about as often as they should be. So many for the weighted
# test of calibration too: with fewer than five its level was 24% to 36% at nominal 5%,
# with five to twenty 2% to 9%, with more 3% to 8%.
MIN_EVENTS = 20


def enough_events(measures: Measures) -> bool:
    """Return whether right and wrong rows both are MIN_EVENTS, in effect."""
    rows = measures.rows
    assert rows.labels is not None and rows.predicted is not None
    right = rows.predicted == rows.labels
    came_true = rows.hits.astype(np.bool_)
    return all(
        _effective(rows.weights, some) >= MIN_EVENTS
        for some in (right, ~right, came_true, ~came_true)
    )


def enough_hits(measures: Measures) -> bool:
    """Return whether hits and misses both are MIN_EVENTS, in effect."""
    hits = measures.rows.hits.astype(np.bool_)
    weights = measures.rows.weights
    return all(_effective(weights, some) >= MIN_EVENTS for some in (hits, ~hits))


def often_differ(one: Measures, other: Measures) -> bool:
    """Return whether the outcomes of two classifiers differ in MIN_EVENTS rows."""
    differ = one.rows.hits != other.rows.hits
    return _effective(one.rows.weights, differ) >= MIN_EVENTS


def _effective(weights: FloatArray, some: BoolArray) -> float:
    # sums of ones are exact, so that counts are what they are
    return effective_sample_size(weights[some])


def exact_share(measures: Measures, level: float) -> tuple[float, float] | None:
    """Return Clopper and Pearson's interval of the hits; None with unequal weights."""
    rows = measures.rows
    if rows.weights.min() < 1.0:
        return None
    low, high = unchecked.clopper_pearson(int(rows.hits.sum()), rows.n, 1.0 - level)
    return float(low), float(high)


def near_noise(
    names: Sequence[str], estimates: FloatArray, noise_alone: float
) -> frozenset[str]:
    """Return the calibration errors that are too near to noise for an interval."""
    small = NEAR_ZERO * noise_alone
    if estimates[names.index("ece")] < small:
        return ERRORS
    # all of the error may be under-confidence, and this part of it noise
    one_sided = "overconfident_ece"
    return frozenset({one_sided} if estimates[names.index(one_sided)] < small else ())


def usable(
    measures: Measures, estimates: FloatArray, near: frozenset[str], enough: bool
) -> BoolArray:
    """Return for which metrics bootstrap intervals are given, shape (J,)."""
    # mean confidences need rows, not events
    rows = effective_sample_size(measures.rows.weights) >= MIN_EVENTS
    keep = [
        name not in WITHOUT_INTERVAL | near
        and (enough or (rows and name in ("mean_confidence", "mean_probability")))
        for name in measures.names
    ]
    return np.array(keep) & np.isfinite(estimates)
