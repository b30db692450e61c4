"""One probability per bin under label shift: that of an event, such as "Y = k".

Under label shift the rest of the labels does not keep its composition, so that the
counts of all labels in a bin are needed. The target's probability of the event is the
weighted share sum w_Y 1{event} / sum w_Y of the bin's rows.
"""

from __future__ import annotations

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.sample_weights import divide
from distfreeuq.binning.radii import TRIVIAL_PROBABILITY, Radii, around
from distfreeuq.binning.target_weights import TargetWeights
from distfreeuq.binning.weighted_radii import WeightedCounts, weighted_binomial_radii


def reweighted_event(
    hits: IntArray, rows: IntArray, label_weight: FloatArray
) -> FloatArray:
    """Return the target's share of the event in each bin, NaN where that is 0/0.

    Parameters
    ----------
    hits, rows : ndarray (..., K)
        Rows with the event, and all rows, by bin and label.
    label_weight : ndarray (K,)
    """
    return divide(hits @ label_weight, rows @ label_weight)


def event_radii(
    hits: IntArray, rows: IntArray, weights: TargetWeights, n_bins: int, alpha: float
) -> tuple[Radii, FloatArray]:
    """Return radii and intervals on the target, and the source's part of the radii.

    Known weights are bounded weights of the rows: Chernoff's and Bernstein's bounds at
    half of alpha each. Of unknown ones, Hoeffding's bound for the worst in the region.
    """
    n = rows.sum(axis=-1)
    if weights.known:
        w = weights.used
        one_and_other = np.stack([rows - hits, hits], axis=-2)
        counts = WeightedCounts(one_and_other @ w, one_and_other @ w**2, n)
        radii = weighted_binomial_radii(
            counts, float(w.max()), n_bins, alpha, bound="auto"
        )
        return radii, radii.radius
    table = divide(rows, n[..., None])
    plain = bounds.binning_weissman(n, n_bins, 2, alpha) / 2.0
    source = bounds.label_shift_source_radius(
        plain, weights.largest, weights.smallest_mass(table)
    )
    source = np.minimum(source, TRIVIAL_PROBABILITY)
    # the probability of one event moves by at most half of the L1 distance
    total = source + weights.weight_radius(table) / 2.0
    total = np.minimum(total, TRIVIAL_PROBABILITY)
    frequencies = reweighted_event(hits, rows, weights.used)
    total = np.where(np.isnan(frequencies), TRIVIAL_PROBABILITY, total)
    low, high = around(frequencies, total)
    return Radii(total, low, high, "hoeffding, weighted"), source
