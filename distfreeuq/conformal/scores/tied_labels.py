"""Labels of equal probability put in a random order, as if they were not equal.

By default labels that tie share a score, and are in a set together or not at all: ten
equal labels at alpha = 0.1 give sets of ten or of none. Podkopaev and Ramdas (2021)
assume ties that are broken at random. Here label k's place among its equals is decided
by a hash of the row's uniform and k, so that the score stays one function of the row,
its uniform and the label: nothing that coverage needs is lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from distfreeuq._base.array_types import FloatArray, FloatMatrix, IntArray

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_STEP = np.uint64(0x9E3779B97F4A7C15)


def order_keys(uniforms: FloatArray, n_classes: int) -> npt.NDArray[np.uint64]:
    """Return a number for each row and label that orders labels that tie, (n, K).

    SplitMix64's finaliser of the uniform's 64 bits and the label.
    """
    bits = np.ascontiguousarray(uniforms, dtype=np.float64).view(np.uint64)
    labels = np.arange(1, n_classes + 1, dtype=np.uint64) * _STEP
    x = _mixed(bits)[:, None] + labels
    return _mixed(x)


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return np.asarray(x ^ (x >> np.uint64(31)))


def places_of_labels(
    probs: FloatMatrix, labels: IntArray, uniforms: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return how many labels are more likely than a row's own, and tie before it."""
    own = probs[np.arange(len(labels)), labels][:, None]
    above = (probs > own).sum(axis=1)
    before = np.zeros(len(labels), dtype=np.int64)
    tied = np.flatnonzero((probs == own).sum(axis=1) > 1)
    if tied.size:
        keys = order_keys(uniforms[tied], probs.shape[1])
        mine = keys[np.arange(tied.size), labels[tied]][:, None]
        equal = probs[tied] == own[tied]
        before[tied] = (equal & (keys < mine)).sum(axis=1)
    return above, before


def places_of_all(
    probs: FloatMatrix, uniforms: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the same for every label, each of shape (n, K)."""
    n, n_classes = probs.shape
    keys = order_keys(uniforms, n_classes)
    order = np.lexsort((keys, -probs), axis=1)
    ranked = np.take_along_axis(probs, order, axis=1)
    starts = np.ones((n, n_classes), dtype=np.bool_)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    places = np.arange(n_classes)
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    above = np.empty((n, n_classes), dtype=np.int64)
    before = np.empty_like(above)
    np.put_along_axis(above, order, first, axis=1)
    np.put_along_axis(before, order, places - first, axis=1)
    return above, before
