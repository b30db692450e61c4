"""The smooth calibration error: residuals smoothed by a kernel, in place of bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from distfreeuq._base.arguments import Arguments
from distfreeuq._base.array_types import ArrayLike, FloatArray
from distfreeuq.metrics.calibration_error import read_event
from distfreeuq.metrics.data import Rows

# Cells of the grid that residuals are put on, each row on the two nearest. Bandwidths
# of a few cells or more are seen; smaller ones are not needed below 10^7 rows.
_CELLS = 1 << 13
_SMALLEST = 4.0 / _CELLS
_HALVINGS = 40


def smooth_ece(
    probs: ArrayLike,
    labels: ArrayLike,
    *,
    bandwidth: float | None = None,
    event: str = "predicted",
    predicted: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Any = None,
) -> float:
    """Calibration error with a kernel in place of bins: smooth ECE.

    Parameters
    ----------
    probs, labels, event, predicted, sample_weight, classes
        As in `ece`.
    bandwidth : float, optional
        Standard deviation of the kernel. By default the one that equals the error that
        it gives, as in [1]_.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    The mean of (hit - confidence) times a Gaussian density about each confidence,
    reflected at 0 and 1, is a function of t in [0, 1]; its absolute value is integrated
    over t. The error falls as the bandwidth grows, so that there is one bandwidth that
    it equals; then it is within constant factors of the distance to the nearest
    calibrated confidences ([1]_, Theorem 1). Unlike the ECE it is continuous in the
    confidences. Like it, it is biased upwards in small samples.

    Residuals are put on a grid of 8192 cells and smoothed there by cosine transforms,
    in a time that does not grow with the bandwidth: to about six digits for bandwidths
    above 0.005.

    References
    ----------
    .. [1] Blasiok and Nakkiran (2024), "Smooth ECE: principled reliability diagrams via
       kernel smoothing", ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from distfreeuq import metrics
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> labels = (rng.random(5000) < p**2).astype(int)
    >>> round(metrics.smooth_ece(p, labels, event="class-1"), 3)
    0.162
    """
    args = Arguments("smooth_ece")
    if bandwidth is not None:
        must = "a number from 0.001 to 10, or None"
        bandwidth = args.number(bandwidth, "bandwidth", must, low=0.001, high=10.0)
    rows = read_event(args, probs, labels, predicted, sample_weight, classes, event)
    if bandwidth is not None:
        return smoothed_error(residual_waves(rows), bandwidth)
    return smooth_error_of(rows)


def smooth_error_of(rows: Rows) -> float:
    """Return the error of checked rows, with the bandwidth that equals it."""
    waves = residual_waves(rows)
    return smoothed_error(waves, own_bandwidth(waves))


def residual_waves(rows: Rows) -> FloatArray:
    """Return the cosine transform of the mean residuals on the grid."""
    confidence = rows.confidence.astype(np.float64)
    residual = rows.weights * (rows.hits - confidence)
    from scipy import fft  # slow to import, and nothing else needs it

    residual /= rows.weights.sum()
    place = confidence * _CELLS - 0.5  # in units of cells, from the first's middle
    below = np.floor(place)
    share = place - below
    cell = below.astype(np.int64)
    # what would lie beyond an end is reflected there
    left, right = np.maximum(cell, 0), np.minimum(cell + 1, _CELLS - 1)
    mass = np.bincount(left, residual * (1.0 - share), _CELLS)
    mass += np.bincount(right, residual * share, _CELLS)
    return np.asarray(fft.dct(mass, type=2, norm="ortho"))


def smoothed_error(waves: FloatArray, bandwidth: float) -> float:
    """Return the integral of the absolute residuals, smoothed with this bandwidth.

    The reflected kernel multiplies the k-th cosine by exp(-(pi k sigma)^2 / 2).
    """
    from scipy import fft

    k = np.arange(waves.size)
    with np.errstate(under="ignore"):
        damped = waves * np.exp(-0.5 * (np.pi * k * bandwidth) ** 2)
    return float(np.abs(fft.idct(damped, type=2, norm="ortho")).sum())


def own_bandwidth(waves: FloatArray) -> float:
    """Return the bandwidth that equals its error, by bisection."""
    low, high = _SMALLEST, 1.0
    if smoothed_error(waves, low) <= low:
        return low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if smoothed_error(waves, middle) > middle:
            low = middle
        else:
            high = middle
    return high
