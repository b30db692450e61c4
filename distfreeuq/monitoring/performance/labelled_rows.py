"""Labels of some target rows, combined with what the source carries to the target.

theta_1 is the mean loss that label shift, or weights, carry to the target; its error is
that of the source rows, and of the mean of h over all target rows. theta_2 is the mean
loss of the labelled rows, which needs no shift to be of any kind, less lambda times the
gap between the means of h over labelled and over all target rows: prediction-powered,
with the lambda of least variance. The labelled rows are among the target's, so that the
two errors have the covariance Cov(l, h) / m. The weights of least variance make the
combination no worse than either alone, in the limit (theory page, 10.6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distfreeuq._base.array_types import FloatArray


@dataclass(frozen=True, slots=True)
class Combination:
    """How two estimates make one.

    Attributes
    ----------
    share : float
        The weight of the labelled rows' own estimate.
    own : float
        That estimate.
    variance : float
        Of the combination.
    """

    share: float
    own: float
    variance: float

    def of(self, carried: float) -> float:
        """Return the combination with what the source carries."""
        if self.share == 1.0:
            return self.own
        return (1.0 - self.share) * carried + self.share * self.own


def combine(
    variance: float,
    losses: FloatArray,
    h: FloatArray,
    labelled_h: FloatArray,
    width: float,
) -> Combination:
    """Return the combination of least variance.

    Parameters
    ----------
    variance : float
        Of what the source carries; not finite if it carries nothing.
    losses : ndarray (r,)
        In the labelled rows, at least one.
    h, labelled_h : ndarray (m,) and (r,)
        The carried function in all target rows, and in the labelled ones.
    width : float
        How far apart losses can be: one more row is taken to be half as far off.
    """
    r, m = losses.size, h.size
    free = max(r - 1.0, 1.0)
    mean = float(losses.mean())
    spread = (float(np.square(losses - mean).sum()) + width**2 / 4.0) / free
    center = float(h.mean())
    of_h = float(np.square(h - center).mean())
    both = float((losses - mean) @ (labelled_h - labelled_h.mean())) / free
    # by the inequality of Cauchy and Schwarz, which few rows may break
    both = min(max(both, -math.sqrt(spread * of_h)), math.sqrt(spread * of_h))
    slope = both / of_h if of_h > 0.0 else 0.0
    more = 1.0 / r - 1.0 / m
    own = mean - slope * (float(labelled_h.mean()) - center)
    of_own = spread / r - slope * both * more
    if not math.isfinite(variance):
        return Combination(1.0, own, of_own)
    shared = both / m
    gap = variance + of_own - 2.0 * shared
    share = min(max((variance - shared) / gap, 0.0), 1.0) if gap > 0.0 else 1.0
    rest = 1.0 - share
    total = rest**2 * variance + share**2 * of_own + 2.0 * rest * share * shared
    return Combination(share, own, max(total, 0.0))
