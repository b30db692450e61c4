"""Metrics as a good user writes them in NumPy, after the formulas of the papers."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

N_BINS = 15
EDGES = np.arange(1, N_BINS) / N_BINS


def top_label(probs: Array, labels: Array) -> tuple[Array, Array, Array]:
    """Return predicted class, its probability, and whether it is right."""
    predicted = probs.argmax(axis=1)
    confidence = probs[np.arange(labels.size), predicted].astype(np.float64)
    return predicted, confidence, predicted == labels


def bin_of(confidence: Array) -> Array:
    return np.searchsorted(EDGES, confidence, side="left")


def bin_gaps(probs: Array, labels: Array) -> Array:
    _, confidence, right = top_label(probs, labels)
    return np.bincount(bin_of(confidence), weights=confidence - right, minlength=N_BINS)


def ece(probs: Array, labels: Array) -> float:
    return float(np.abs(bin_gaps(probs, labels)).sum() / labels.size)


def overconfident_ece(probs: Array, labels: Array) -> float:
    return float(np.maximum(bin_gaps(probs, labels), 0.0).sum() / labels.size)


def _by_prediction(probs: Array, labels: Array) -> Array:
    predicted, confidence, right = top_label(probs, labels)
    n_classes = probs.shape[1]
    cells = predicted * N_BINS + bin_of(confidence)
    gaps = np.bincount(cells, weights=confidence - right, minlength=n_classes * N_BINS)
    counts = np.bincount(predicted, minlength=n_classes)
    errors = np.abs(gaps).reshape(n_classes, N_BINS).sum(axis=1)
    return errors[counts > 0] / counts[counts > 0]


def max_ece(probs: Array, labels: Array) -> float:
    return float(_by_prediction(probs, labels).max())


def average_ece(probs: Array, labels: Array) -> float:
    return float(_by_prediction(probs, labels).mean())


def classwise_ece(probs: Array, labels: Array) -> float:
    n, n_classes = probs.shape
    bins = bin_of(probs)
    cells = (bins * n_classes + np.arange(n_classes)).ravel()
    size = N_BINS * n_classes
    gaps = np.bincount(cells, weights=probs.ravel(), minlength=size)
    own = bins[np.arange(n), labels] * n_classes + labels
    gaps -= np.bincount(own, minlength=size)
    return float(np.abs(gaps).sum() / n / n_classes)


def debiased_ece(probs: Array, labels: Array) -> float:
    _, confidence, right = top_label(probs, labels)
    bins, gap = bin_of(confidence), confidence - right
    n = np.bincount(bins, minlength=N_BINS)
    mean = np.bincount(bins, weights=gap, minlength=N_BINS) / np.maximum(n, 1)
    square = np.bincount(bins, weights=gap**2, minlength=N_BINS) / np.maximum(n, 1)
    unbiased = mean**2 - (square - mean**2) / np.maximum(n - 1, 1)
    return float(np.sqrt(max(0.0, n[n > 1] @ unbiased[n > 1] / n.sum())))


def brier_score(probs: Array, labels: Array) -> float:
    errors = probs.copy()
    errors[np.arange(labels.size), labels] -= 1.0
    return float((errors**2).sum(axis=1).mean())


def brier_calibration(probs: Array, labels: Array) -> float:
    predicted, confidence, _ = top_label(probs, labels)
    n_classes = probs.shape[1]
    _, cells = np.unique(predicted * N_BINS + bin_of(confidence), return_inverse=True)
    counts = np.bincount(cells)
    totals = np.zeros((counts.size, n_classes))
    np.add.at(totals, cells, probs)
    np.add.at(totals, (cells, labels), -1.0)
    return float(((totals / counts[:, None]) ** 2).sum(axis=1) @ counts / labels.size)


def nll(probs: Array, labels: Array) -> float:
    return float(-np.log(probs[np.arange(labels.size), labels]).mean())


def accuracy(probs: Array, labels: Array) -> float:
    return float((probs.argmax(axis=1) == labels).mean())


def mean_confidence(probs: Array, labels: Array) -> float:
    return float(probs.max(axis=1).mean())


def bootstrap_width(probs: Array, labels: Array, n_boot: int) -> float:
    """Return the width of a percentile interval of the ECE."""
    _, confidence, right = top_label(probs, labels)
    bins, gap, n = bin_of(confidence), confidence - right, labels.size
    generator = np.random.default_rng(0)
    errors = np.empty(n_boot)
    for b in range(n_boot):
        rows = generator.integers(0, n, n)
        errors[b] = np.abs(np.bincount(bins[rows], weights=gap[rows])).sum() / n
    return float(np.ptp(np.quantile(errors, [0.025, 0.975])))
