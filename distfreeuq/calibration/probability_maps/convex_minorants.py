"""Isotonic regressions with one more row, for every place where it may stand.

Rows are pooled by score: group i of m has weight mass[i], of which hits[i] is of class
1. The running sums P_0 = (0, 0), ..., P_m of (mass, hits) have a greatest convex
minorant, whose slopes are the isotonic regression. One more row of class 1 and weight w
before group i moves the points from P_i on by (w, w), or, which is the same, those up
to P_i by (-w, -w). Its fitted value is the slope of the common tangent, from below, of
{P_0, ..., P_i} - (w, w) and {P_i, ..., P_m}. As i grows the left set gains a point and
the right one loses its first: a stack that holds the right hull, with the left end of
the tangent on top, gives all tangents in one pass (Vovk, Petej and Fedorova, 2015).
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatArray
from distfreeuq._kernels import _minorants


def fits_with_one_more(
    mass: FloatArray, hits: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray]:
    """Return the fitted values of one more row of class 0, and of class 1, by group.

    Parameters
    ----------
    mass, hits : ndarray (m,)
        Positive weights of groups in ascending order of score, and how much of each is
        of class 1.
    weight : float
        Of the row that is added.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.calibration.probability_maps import convex_minorants
    >>> low, high = convex_minorants.fits_with_one_more(
    ...     np.ones(3), np.array([0.0, 1.0, 1.0]), 1.0
    ... )
    >>> low.tolist(), high.tolist()  # at each of the scores
    ([0.0, 0.5, 0.6666666666666667], [0.5, 1.0, 1.0])
    """
    high = _with_one_more_hit(mass, hits, weight)
    # the classes change places, and so do the ends
    low = 1.0 - _with_one_more_hit(mass[::-1], (mass - hits)[::-1], weight)[::-1]
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _with_one_more_hit(mass: FloatArray, hits: FloatArray, weight: float) -> FloatArray:
    """Return the fitted value of a row of class 1 at or just below each group."""
    room = np.empty((2, mass.size + 2, 2))
    out = np.empty(mass.size)
    mass, hits = np.ascontiguousarray(mass), np.ascontiguousarray(hits)
    _minorants._fit_one_more_hit(mass, hits, weight, room[0], room[1], out)
    return out
