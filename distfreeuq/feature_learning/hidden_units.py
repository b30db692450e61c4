"""How many features to learn: fewer, until the training loss converges.

The heuristic of Park et al. (2020, section 6), which looks at no target label: begin
with as many units as there are inputs, and have fewer of them until training converges.
"""

from __future__ import annotations

from collections.abc import Iterator

from distfreeuq._base.array_types import FloatArray

MOST_UNITS = 1024
FEWEST_UNITS = 2
_CHANGE = 0.02
"""Of the first epoch's loss: a larger change between two tenths of the training tells
that the loss has not converged."""


def sizes_to_try(n_inputs: int) -> Iterator[int]:
    """Yield numbers of units: as many as inputs, then half as many, and so on.

    Examples
    --------
    >>> from distfreeuq.feature_learning.hidden_units import sizes_to_try
    >>> list(sizes_to_try(20))
    [20, 10, 5, 2]
    """
    size = max(FEWEST_UNITS, min(n_inputs, MOST_UNITS))
    while True:
        yield size
        if size == FEWEST_UNITS:
            return
        size = max(FEWEST_UNITS, size // 2)


def late_change(losses: FloatArray) -> float:
    """Return how far the loss still moved, in units of the first epoch's.

    The absolute difference of its means over the last tenth of the epochs and over the
    tenth before.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.feature_learning.hidden_units import late_change
    >>> late_change(np.array([2.0, 1.0, 0.5, 0.25]))
    0.125
    """
    tenth = max(1, losses.size // 10)
    last, before = losses[-tenth:], losses[-2 * tenth : -tenth]
    if before.size == 0:
        return 1.0
    return abs(float(last.mean() - before.mean())) / max(float(losses[0]), 1e-300)


def has_converged(losses: FloatArray) -> bool:
    """Return whether the loss has come to rest."""
    return late_change(losses) <= _CHANGE
