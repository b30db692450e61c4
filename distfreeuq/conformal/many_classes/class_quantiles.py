"""Order statistics of every class's own scores, in one pass over all of them."""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray, IntArray
from distfreeuq._numerics.quantiles import conformal_rank


def ranks_by_count(counts: IntArray, alpha: float) -> IntArray:
    """Return the conformal rank of each number of rows; classes share numbers."""
    distinct, which = np.unique(counts, return_inverse=True)
    ranks = [min(conformal_rank(int(n), alpha), int(n) + 1) for n in distinct]
    return np.array(ranks, dtype=np.int64)[which]


def order_statistics(
    scores: FloatArray, labels: IntArray, counts: IntArray, ranks: IntArray
) -> FloatArray:
    """Return each class's rank-th smallest score, +inf beyond the last, (K,).

    Parameters
    ----------
    scores : ndarray (n,)
        In any order.
    labels : ndarray (n,)
    counts, ranks : ndarray (K,)
        Rows of each class, and which of its scores is wanted, from 1 on.
    """
    ordered = scores[np.lexsort((scores, labels))]
    first = np.cumsum(counts) - counts
    found = np.full(counts.size, np.inf)
    enough = (ranks >= 1) & (ranks <= counts)
    found[enough] = ordered[(first + ranks - 1)[enough]]
    return found
