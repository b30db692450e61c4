"""Maps without parameters to tie: a group's probabilities, moved to the shared map's.

A row's vector by its group's own map is moved towards that by the shared map until the
two are no farther apart than gamma. In Euclidean distance that is the projection onto a
ball, from which all that is claimed of it follows (theory page, 8.7).
"""

from __future__ import annotations

import numpy as np

from distfreeuq._base.array_types import FloatMatrix

# Euclidean distance over this is the difference of p_1 where there are two classes.
_UNIT = np.sqrt(2.0)


def shrink(own: FloatMatrix, shared: FloatMatrix, gamma: float) -> FloatMatrix:
    """Return rows of `own` (n, K), no farther than gamma from those of `shared`."""
    away = own.astype(np.float64) - shared
    distance = np.sqrt((away**2).sum(axis=1)) / _UNIT
    far = distance > gamma
    out = own.copy()
    share = gamma / distance[far]
    out[far] = shared[far] + share[:, None] * away[far]
    return out
