"""Training-conditional thresholds under shift: rejection sampling, then the PAC rank.

Keep calibration row i with probability w_i / bound. If the weights are the true ratio
up to scale and nowhere above the bound, the kept rows are i.i.d. from the target, and
the PAC rank among them is valid for the target without further ado.
"""

import numpy as np

from distfreeuq import bounds
from distfreeuq._base.array_types import FloatArray
from distfreeuq._numerics.quantiles import smallest_order_statistic


def thinned_pac_threshold(
    scores: FloatArray,
    weights: FloatArray,
    bound: float,
    alpha: float,
    delta: float,
    generator: np.random.Generator,
) -> tuple[float, int, int]:
    """Return the threshold, its rank, and the number of rows kept."""
    kept = scores[generator.random(scores.size) * bound < weights]
    rank = bounds.pac_rank(kept.size, alpha, delta)
    return smallest_order_statistic(kept, rank), rank, int(kept.size)
