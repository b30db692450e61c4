"""Digits, and small networks trained on spoilt versions of them: Zhao et al. in kind.

The networks of Zhao, Chen and Oymak (2020) take a GPU. Here, MNIST at 14 x 14 pixels
and one hidden layer show the same: noise in the labels makes a network under-confident,
few rows over-confident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from vignettes.replication.report import data_folder

N_CLASSES, N_SPOILT = 10, 5
"""Digits 0 to 4 are spoilt, 5 to 9 left as they are, as in the paper's halves."""
N_TRAIN = 15_000


@dataclass(frozen=True)
class Digits:
    """Images (n, 196) in [0, 1] and labels (n,), to be split, and those of the test."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


class Trained(NamedTuple):
    """Logits of a network on rows to calibrate with, and on the test rows."""

    logits: np.ndarray
    labels: np.ndarray
    test_logits: np.ndarray
    test_labels: np.ndarray


def load_digits() -> Digits:
    """Return 20000 rows to train and calibrate with, and 10000 to test."""
    data = np.load(data_folder("digits-mnist") / "mnist_20k_10k.npz")

    def pooled(images: np.ndarray) -> np.ndarray:
        blocks = images.reshape(len(images), 14, 2, 14, 2).mean(axis=(2, 4))
        return (blocks.reshape(len(images), -1) / 255).astype(np.float32)

    return Digits(
        pooled(data["train_images"]),
        data["train_labels"],
        pooled(data["test_images"]),
        data["test_labels"],
    )


def train(
    digits: Digits,
    seed: int,
    *,
    noise: float = 0.0,
    keep: float = 1.0,
    n_spoilt: int = N_SPOILT,
) -> Trained:
    """Train on rows whose first classes are spoilt; calibration rows stay clean.

    Parameters
    ----------
    digits : Digits
    seed : int
        Of the split, of what is spoilt, and of the training.
    noise : float
        Probability that a training label is replaced by any of the ten.
    keep : float
        Share of the training rows that is kept.
    n_spoilt : int
        Classes that both apply to.
    """
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(len(digits.images))
    rows, held_out = order[:N_TRAIN], order[N_TRAIN:]
    labels = digits.labels[rows]
    spoilt = labels < n_spoilt
    rows, labels = rows[kept := ~spoilt | (rng.random(rows.size) < keep)], labels[kept]
    hit = spoilt[kept] & (rng.random(rows.size) < noise)
    labels[hit] = rng.integers(0, N_CLASSES, hit.sum())
    network = train_network(digits.images[rows], labels, seed)
    return Trained(
        network(digits.images[held_out]),
        digits.labels[held_out],
        network(digits.test_images),
        digits.test_labels,
    )


def train_numbers(
    digits: Digits,
    seed: int,
    *,
    noise: float = 0.3,
    n_train: int = 45_000,
    steps: int = 10_000,
) -> Trained:
    """Train on numbers from 0 to 99, two digits side by side: a hundred classes.

    As many rows as the paper's CIFAR-100 has: 45000 to train, 5000 to calibrate, 10000
    to test; training labels of 0 to 49 are replaced by any of the hundred with the
    probability `noise`. The three parts share no digit; within each, digits are paired
    at random, and occur more than once.
    """
    rng = np.random.default_rng(2000 + seed)
    order = rng.permutation(len(digits.images))

    def paired(images: np.ndarray, labels: np.ndarray, n: int):
        left, right = rng.integers(0, len(labels), (2, n))
        both = np.hstack([images[left], images[right]])
        return both, 10 * labels[left] + labels[right]

    train, held_out = order[:N_TRAIN], order[N_TRAIN:]
    images, labels = paired(digits.images[train], digits.labels[train], n_train)
    hit = (labels < 50) & (rng.random(n_train) < noise)
    labels[hit] = rng.integers(0, 100, hit.sum())
    network = train_network(
        images, labels, seed, hidden=200, steps=steps, n_classes=100
    )
    own, truth = paired(digits.images[held_out], digits.labels[held_out], 5000)
    new, test_truth = paired(digits.test_images, digits.test_labels, 10_000)
    return Trained(network(own), truth, network(new), test_truth)


def train_network(
    images: np.ndarray,
    labels: np.ndarray,
    seed: int,
    *,
    hidden: int = 100,
    steps: int = 2400,
    rate: float = 0.1,
    batch: int = 64,
    n_classes: int = N_CLASSES,
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a network with one hidden layer, as a function from images to logits.

    Gradient descent with momentum, for as many steps whatever the number of rows.
    """
    rng = np.random.default_rng(seed)
    n_inputs = images.shape[1]
    parameters = [
        rng.normal(0, np.sqrt(2 / n_inputs), (n_inputs, hidden)).astype(np.float32),
        np.zeros(hidden, np.float32),
        rng.normal(0, np.sqrt(1 / hidden), (hidden, n_classes)).astype(np.float32),
        np.zeros(n_classes, np.float32),
    ]
    speeds = [np.zeros_like(p) for p in parameters]
    order = np.empty(0, dtype=np.int64)
    for _ in range(steps):
        if order.size < batch:
            order = np.concatenate([order, rng.permutation(len(images))])
        rows, order = order[:batch], order[batch:]
        x, w2 = images[rows], parameters[2]
        inner = np.maximum(x @ parameters[0] + parameters[1], 0)
        error = special.softmax(inner @ w2 + parameters[3], axis=1)
        error[np.arange(batch), labels[rows]] -= 1.0
        error /= batch
        back = (error @ w2.T) * (inner > 0)
        gradients = (x.T @ back, back.sum(0), inner.T @ error, error.sum(0))
        for p, speed, gradient in zip(parameters, speeds, gradients, strict=True):
            speed *= 0.9
            speed -= rate * gradient
            p += speed
    w1, b1, w2, b2 = parameters
    return lambda x: np.maximum(x @ w1 + b1, 0) @ w2 + b2
