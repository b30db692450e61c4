"""Importance weights made tamer before they weigh a calibration."""

from __future__ import annotations

import numpy as np

from distfreeuq._typing import FloatArray


def transform_weights(
    weights: FloatArray,
    *,
    flatten: float = 1.0,
    clip: tuple[float, float] | None = None,
) -> FloatArray:
    """Return weights raised to a power, then clipped, then divided by their mean.

    Less variance for more bias: `flatten` of 0 makes all weights equal, 1 leaves them.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq.calibration.importance import transform_weights
    >>> weights = np.array([0.5, 2.0, 8.0])
    >>> transform_weights(weights, flatten=0.5, clip=(0.0, 2.0)).round(3)
    array([0.515, 1.029, 1.456])
    """
    flat = np.power(weights, flatten)
    tamed = flat if clip is None else np.clip(flat, *clip)
    return np.asarray(tamed / tamed.mean())
