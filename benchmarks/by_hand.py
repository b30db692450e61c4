"""What a good user writes in NumPy: idiomatic, vectorised, as fast as it reads.

Two ways to the prediction sets: by argsort, as the papers' own notebooks do it, and by
a plain sort and a cutoff per row, the fastest that we could think of (NumPy's sort of
values is vectorised, and several times faster than its argsort).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


# ----------------------------------------------------------------------- scores


def aps_scores(probs: Array, labels: Array, uniforms: Array) -> Array:
    own = probs[np.arange(labels.size), labels]
    above = probs > own[:, None]
    return np.sum(probs * above, axis=1, dtype=np.float64) + uniforms * own


def lac_scores(probs: Array, labels: Array, uniforms: Array) -> Array:
    return 1.0 - probs[np.arange(labels.size), labels].astype(np.float64)


def raps_scores(probs: Array, labels: Array, uniforms: Array) -> Array:
    own = probs[np.arange(labels.size), labels]
    above = probs > own[:, None]
    rank = 1 + np.count_nonzero(above, axis=1)
    mass = np.sum(probs * above, axis=1, dtype=np.float64)
    return mass + uniforms * own + 0.01 * np.maximum(rank - 5, 0)


def saps_scores(probs: Array, labels: Array, uniforms: Array) -> Array:
    own = probs[np.arange(labels.size), labels]
    rank = 1 + np.count_nonzero(probs > own[:, None], axis=1)
    top = probs.max(axis=1).astype(np.float64)
    return np.where(rank == 1, uniforms * top, top + (rank - 2 + uniforms) * 0.2)


def rank_scores(probs: Array, labels: Array, uniforms: Array) -> Array:
    own = probs[np.arange(labels.size), labels]
    return np.count_nonzero(probs > own[:, None], axis=1) + uniforms


def margin_scores(probs: Array, labels: Array, uniforms: Array) -> Array:
    own = probs[np.arange(labels.size), labels]
    top_two = np.partition(probs, -2, axis=1)[:, -2:].astype(np.float64)
    rival = np.where(own == top_two[:, 1], top_two[:, 0], top_two[:, 1])
    return rival - own


SCORES = {
    "aps": aps_scores,
    "lac": lac_scores,
    "raps": raps_scores,
    "saps": saps_scores,
    "rank": rank_scores,
    "margin": margin_scores,
}


def all_aps_scores(probs: Array, uniforms: Array) -> Array:
    order = np.argsort(-probs, axis=1)
    descending = np.take_along_axis(probs, order, axis=1)
    cumulative = np.cumsum(descending, axis=1, dtype=np.float64)
    scores = np.empty(probs.shape)
    sorted_scores = cumulative - (1.0 - uniforms)[:, None] * descending
    np.put_along_axis(scores, order, sorted_scores, axis=1)
    return scores


# ------------------------------------------------------------------------- sets


def conformal_threshold(scores: Array, alpha: float) -> float:
    rank = int(np.ceil((1.0 - alpha) * (scores.size + 1)))
    return float(np.partition(scores, rank - 1)[rank - 1])


def aps_sets_by_argsort(probs: Array, thresholds: Array, uniforms: Array) -> Array:
    order = np.argsort(-probs, axis=1)
    descending = np.take_along_axis(probs, order, axis=1)
    cumulative = np.cumsum(descending, axis=1, dtype=np.float64)
    scores = cumulative - (1.0 - uniforms)[:, None] * descending
    limits = thresholds[order] if np.ndim(thresholds) else thresholds
    mask = np.empty(probs.shape, dtype=bool)
    np.put_along_axis(mask, order, scores <= limits, axis=1)
    return mask


def aps_sets_by_sort(probs: Array, threshold: float, uniforms: Array) -> Array:
    descending = np.sort(probs, axis=1)[:, ::-1]
    cumulative = np.cumsum(descending, axis=1, dtype=np.float64)
    scores = cumulative - (1.0 - uniforms)[:, None] * descending
    sizes = np.count_nonzero(scores <= threshold, axis=1)
    last = descending[np.arange(sizes.size), sizes - 1]
    return probs >= np.where(sizes > 0, last, np.inf)[:, None]


# -------------------------------------------------------------------- quantiles


def weighted_quantile(values: Array, weights: Array, level: float) -> float:
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    index = np.searchsorted(cumulative, level * cumulative[-1])
    return float(values[order[index]])


def label_shift_thresholds(
    scores: Array, labels: Array, label_weight: Array, alpha: float
) -> Array:
    order = np.argsort(scores)
    cumulative = np.cumsum(label_weight[labels[order]])
    needed = (1.0 - alpha) * (cumulative[-1] + label_weight)
    return np.append(scores[order], np.inf)[np.searchsorted(cumulative, needed)]


def label_conditional_thresholds(
    scores: Array, labels: Array, n_classes: int, alpha: float
) -> Array:
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_classes))[:-1]
    thresholds = np.full(n_classes, np.inf)
    for k, own in enumerate(np.split(scores[order], ends)):
        if np.ceil((1.0 - alpha) * (own.size + 1)) <= own.size:
            thresholds[k] = conformal_threshold(own, alpha)
    return thresholds


# ------------------------------------------------------------------------- bins


def uniform_mass(scores: Array, labels: Array, new: Array, n_bins: int) -> Array:
    edges = np.quantile(scores, np.arange(1, n_bins) / n_bins)
    counts = count_in_bins(scores, labels, edges, 2)
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    return frequencies[np.searchsorted(edges, new, side="left")]


def count_in_bins(values: Array, labels: Array, edges: Array, n_classes: int) -> Array:
    bins = np.searchsorted(edges, values, side="left")
    shape = (edges.size + 1, n_classes)
    cells = np.bincount(bins * n_classes + labels, minlength=shape[0] * shape[1])
    return cells.reshape(shape)
