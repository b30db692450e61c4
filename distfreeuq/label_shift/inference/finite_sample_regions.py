"""Regions of the weights that hold at every sample size, from the confusion matrix."""

from __future__ import annotations

import math

import numpy as np

from distfreeuq.bounds import unchecked
from distfreeuq.label_shift.confusion import Confusion
from distfreeuq.label_shift.inference.regions import Box, Polytope
from distfreeuq.label_shift.linear_solution import invertibility, solve


def exact_region(confusion: Confusion, delta: float) -> Polytope:
    """Return the Clopper-Pearson polytope: P(w inside) >= 1 - delta at every n and m.

    Each of the K^2 + K cells has its interval at level delta / (K^2 + K).
    """
    n_classes = confusion.target.size
    each = delta / (n_classes * (n_classes + 1))
    lower, upper = unchecked.clopper_pearson(confusion.joint, confusion.n, each)
    mu_low, mu_high = unchecked.clopper_pearson(confusion.target, confusion.m, each)
    return Polytope._unchecked(lower, upper, mu_low, mu_high, True, delta)


def norm_region(confusion: Confusion, delta: float) -> Box:
    """Return a box around the l2 ball of the theory page, 4.4.

    P(w inside) >= 1 - delta at every n and m, for hard or soft predictions. Where the
    confusion matrix may be singular for all that the bound knows, it is unbounded.
    """
    n_classes = confusion.target.size
    raw = solve(confusion)
    source, target = (
        (1.0 + math.sqrt(2.0 * math.log(2.0 / delta))) / math.sqrt(rows)
        for rows in (confusion.n, confusion.m)
    )
    room = invertibility(confusion).smallest - source
    if raw is None or room <= 0.0:
        everything = np.full(n_classes, np.inf)
        return Box._unchecked(np.zeros(n_classes), everything, True, delta)
    radius = (target + float(np.abs(raw).max()) * source) / room
    return Box._unchecked(np.maximum(raw - radius, 0.0), raw + radius, True, delta)
